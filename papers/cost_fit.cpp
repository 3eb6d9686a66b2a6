// SPDX-License-Identifier: Apache-2.0
#include "papers/cost_fit.h"

#include <algorithm>
#include <cmath>

namespace draftline {

namespace {

struct PlacedCell {
  const PaperTable* table;
  PaperCell* cell;
};

// The cells of the cost's tables; mistakes are noted.
std::vector<PlacedCell> cells_of(Paper& paper, const FittedCost& cost, const Reader& in) {
  std::vector<PlacedCell> cells;
  for (std::size_t i = 0; i < cost.tables.size(); ++i) {
    const auto t =
        std::ranges::find_if(paper.tables, [&](const PaperTable& table) { return table.table == cost.tables[i]; });
    if (t == paper.tables.end()) in.at("tables").item(i).fail("the paper has no such table");
    else
      for (PaperCell& c : t->cells) cells.push_back({&*t, &c});
  }
  return cells;
}

// The cost at which `mean_log_error`, which falls when the cost rises, is 0; no less than 0, none above a second.
std::optional<Seconds> root(const std::function<double(Seconds)>& mean_log_error) {
  Seconds low, high{1e-7};
  if (mean_log_error(low) <= 0) return low;
  while (mean_log_error(high) > 0)
    if ((high = 2 * high) > Seconds{1}) return std::nullopt;
  for (int i = 0; i < 50; ++i) {
    const Seconds middle = (low + high) / 2;
    (mean_log_error(middle) > 0 ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

void predict_with_fitted_cost(Paper& paper, const Reader& in, const PayCost& pay, const CellPredictor& predictor) {
  FittedCost cost = read_fitted_cost(in);
  const std::vector<PlacedCell> cells = cells_of(paper, cost, in);
  std::vector<PlacedCell> fitted_to;
  for (const auto& [t, c] : cells) {
    const PaperCell& cell = *c;
    c->calibrates = std::ranges::all_of(cost.from, [&](const auto& key) { return cell.text(key.first) == key.second; });
    const bool comparable = cell.is_credible() && cell.error() && *cell.paper > 0 && *cell.ours > 0;
    if (cell.calibrates && comparable && cell.kind == FigureKind::predicted && cell.column == cost.column)
      fitted_to.push_back({t, c});
  }
  if (cost.from.empty()) in.at("from").fail("must name the rows that calibrate: with none, nothing is left to predict");
  else if (fitted_to.empty()) in.at("from").fail("no credible cell of the column has these values");
  if (in.failed()) return;
  const auto value = root([&](Seconds each) {
    pay(PaidCost{cost.paid.of, each});
    double sum = 0;
    for (const auto& [t, c] : fitted_to)
      if (const auto p = predictor(*t, *c)) sum += std::log(p->ours / *c->paper);
    return sum;
  });
  if (!value) {
    in.fail("its cells can't be met: the cost would be above 1 s");
    return;
  }
  cost.paid.each = *value;
  cost.cells = fitted_to.size();
  pay(cost.paid);
  for (const auto& [t, c] : cells) {
    if (c->kind != FigureKind::predicted && c->kind != FigureKind::calibrated) continue;
    const auto p = predictor(*t, *c);
    if (!p) continue;
    c->fitted = p->ours;
    if (!p->note.empty()) c->note = (c->note ? *c->note + "; " : "") + "with the fitted cost " + p->note;
  }
  pay(std::nullopt);
  paper.fitted_cost = cost;
}

}  // namespace draftline
