// SPDX-License-Identifier: Apache-2.0
#include "papers/fitted_cost.h"

namespace draftline {

namespace {

constexpr NamedValues<CostOf, 2> kCosts{{{"drafted_row", CostOf::drafted_row}, {"added_launch", CostOf::added_launch}}};

}  // namespace

std::string FittedCost::name() const { return std::string(name_of(kCosts, paid.of)); }

FittedCost read_fitted_cost(const Reader& in) {
  FittedCost f;
  f.paid.of = in.at("cost").value_in(kCosts);
  for (const Reader& t : in.at("tables").items()) f.tables.push_back(t.text());
  for (const auto& [key, value] : in.at("from").entries()) f.from.emplace_back(key, value.text());
  f.column = in.at("column").text();
  f.chosen = in.at("chosen").text();
  f.because = in.at("because").text();
  for (const std::string_view origin : {"kind", "source", "locator"}) in.at(origin).text();
  in.done();
  return f;
}

}  // namespace draftline
