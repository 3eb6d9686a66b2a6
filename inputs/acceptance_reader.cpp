// SPDX-License-Identifier: Apache-2.0
// The key "acceptance" of a method.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/quantity_text.h"
#include "inputs/acceptance.h"
#include "inputs/drafter_identity.h"
#include "inputs/served_acceptance.h"

namespace draftline {

namespace {

Acceptance::Traced read_traced(const Reader& in, const MethodSpec& method, Catalogue& catalogue) {
  const auto [trace, ships] = catalogue.trace(in.at("trace"));
  const auto borrowed = in.find("borrowed");
  const bool borrowable = borrowed ? borrowed->boolean() : ships;
  if (!trace) return {};
  const DrafterIdentity drafter = identity_of_drafter(method, catalogue);
  if (const auto why = trace->wrong_drafter(drafter); why && !borrowable) in.at("trace").fail(*why);
  return {trace, trace->rank_acceptance(), trace->has_drafter(drafter), borrowable};
}

// A mean that was measured with another draft length than the method's is taken as one rate.
Acceptance::Form read_served_mean(const Reader& in, const MethodSpec& method, const ServedAcceptance& served,
                                  Acceptance::Options& options) {
  const auto length = method.draft_length();
  const int measured = served.draft_length().value_or(0);
  if (!length || measured == 0 || *length == measured || served.mean_length > measured + 1)
    return Acceptance::MeanLength{served.mean_length};
  options.measured_drafts.reset();
  const double rate = iid_rate(served.mean_length, measured);
  in.note("was measured with " + std::to_string(measured) + " drafts per step; a rate of " + significant(rate, 3) +
          " is assumed for each of " + std::to_string(*length) + " drafts");
  return Acceptance::Rate{rate};
}

Acceptance::Form read_served(const Reader& in, const MethodSpec& method, Catalogue& catalogue,
                             Acceptance::Options& options) {
  const auto served = catalogue.served_acceptance(in);
  if (!served) return Acceptance::Rate{};
  options.measured_drafts = served->mean_drafts;
  if (served->per_position.empty()) return read_served_mean(in, method, *served, options);
  Acceptance::Rates rates;
  double before = 1;
  for (const double share : served->per_position) {  // files round: a share may be a little above the one before
    rates.conditional.push_back(before > 0 ? std::min(share / before, 1.0) : 0);
    before = share;
  }
  return rates;
}

// How alike the steps of a request are; where nothing is said, as it was measured with this method.
double read_intraclass_correlation(const Reader& in, const Acceptance::Form& form, const MethodSpec& method,
                                   const UsualAcceptance& usual) {
  const bool traced = std::holds_alternative<Acceptance::Traced>(form);
  const bool drawn_alike = !traced && !std::holds_alternative<AcceptanceTable>(form);
  const auto given = in.find("intraclass_correlation");
  if (!given) return drawn_alike ? usual.correlation_of(method.name()) : 0;
  if (!drawn_alike)
    given->fail(traced ? "does not apply to a trace, whose prompts differ as they did"
                       : "does not apply to a \"table\", whose steps are drawn independently");
  return given->number(0, kMostCorrelation);
}

}  // namespace

Acceptance read_acceptance(const Reader& in, const MethodSpec& method, Catalogue& catalogue) {
  Acceptance::Form form;
  int given = 0;
  const auto take = [&](std::string_view key, const auto& read) {
    const auto value = in.find(key);
    if (!value) return;
    ++given;
    form = read(*value);
  };
  take("rates", [](const Reader& rates) {
    Acceptance::Rates read{rates.numbers(0, 1)};
    if (read.conditional.empty()) rates.fail("at least one rate is required");
    return read;
  });
  take("per_position", [](const Reader& r) { return Acceptance::Rates{read_per_position(r)}; });  // as vLLM logs them
  take("rate", [](const Reader& r) { return Acceptance::Rate{r.ratio()}; });
  take("mean_length", [](const Reader& r) { return Acceptance::MeanLength{r.number(1, 1024)}; });
  take("accepted_share", [](const Reader& r) { return Acceptance::AcceptedShare{r.ratio()}; });
  take("ranks", [](const Reader& r) { return Acceptance::Ranks{read_rank_acceptance(r)}; });
  take("table", [](const Reader& r) { return read_acceptance_table(r); });
  take("trace", [&](const Reader&) { return read_traced(in, method, catalogue); });
  Acceptance::Options options;
  take("measured", [&](const Reader& r) { return read_served(r, method, catalogue, options); });
  if (given != 1)
    in.fail(
        "give one of \"rates\", \"per_position\", \"rate\", \"accepted_share\", \"ranks\", \"table\", \"trace\", "
        "\"measured\" and \"mean_length\"");
  const UsualAcceptance usual = catalogue.usual_acceptance(in);
  if (const auto hits = in.find("hit_share")) options.hit_share = hits->ratio();
  else options.misses = usual.misses_of(method.name());
  if (const auto drafts = in.find("mean_drafts")) options.mean_drafts = drafts->number(0, 1024);
  options.intraclass_correlation = read_intraclass_correlation(in, form, method, usual);
  in.done();
  return Acceptance(std::move(form), in.chosen().dump(), options);
}

}  // namespace draftline
