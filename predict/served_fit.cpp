// SPDX-License-Identifier: Apache-2.0
#include "predict/served_fit.h"

#include <algorithm>
#include <cmath>

#include "predict/link_errors.h"
#include "predict/prediction_interval.h"
#include "predict/served_warnings.h"

namespace draftline {

namespace {

// A run's method as an engine's profile prices it: the share of the bandwidth is in the device already.
PricedMethod priced_by(const ServedPoint& p, const MethodChoice& m, const Engine& profile) {
  auto slower = std::make_shared<Device>(*p.setup.device);
  slower->bandwidth = profile.bandwidth_share * slower->bandwidth;
  auto engine = std::make_shared<Engine>(profile);
  engine->bandwidth_share = 1;
  return {p.pricer->recordings().of(p.setup, m), Stack{std::move(slower), std::move(engine)}, std::nullopt};
}

// A step of a run, averaged over the drafts that it verifies.
ExpectedStep step_of(const ServedPoint& p, PricedMethod& method) {
  const DraftCounts drafts = p.method.acceptance.draft_counts({p.method.spec, method.method()});
  return method.step(p.setup.replica_sequences(), drafts)->price;
}

// The prompts of a batch that was timed as a whole: read in one pass where weights bound it, one after the other where
// arithmetic does; the engine's scheduler finds the better way.
Seconds prompts_time(const ServedPoint& p, const Engine& profile) {
  if (p.run.prompt_tokens == 0) return {};
  constexpr int kMostTogether = 1 << 15;
  const PricedMethod plain = priced_by(p, autoregressive(), profile);
  const auto read = [&](int tokens) { return plain.prompt_price(tokens, tokens)(0); };
  const int sequences = p.setup.batch_size;
  const Seconds apart = sequences * read(p.run.prompt_tokens);
  if (sequences > kMostTogether / p.run.prompt_tokens) return apart;
  return std::min(apart, read(sequences * p.run.prompt_tokens));
}

std::vector<double> log_times(const std::vector<ServedPoint>& points, const Engine& e) {
  constexpr double kLeast = 1e-9;  // seconds: of a step that a fit on its way makes take less than none
  std::vector<double> times;
  for (const ServedPoint& p : points) times.push_back(std::log(std::max(predicted_time(p, e).value, kLeast)));
  return times;
}

// Does any run have rows that the engine's graphs would pad?
bool padding_shows(const std::vector<ServedPoint>& points, const std::vector<int>& sizes) {
  return std::any_of(points.begin(), points.end(), [&](const ServedPoint& p) {
    const int rows = p.setup.batch_size * p.pricer->recordings().verified_rows(p.setup, p.method);
    return !sizes.empty() && rows < sizes.back() && !std::binary_search(sizes.begin(), sizes.end(), rows);
  });
}

}  // namespace

Seconds predicted_time(const ServedPoint& p, const Engine& profile) {
  PricedMethod method = priced_by(p, p.method, profile);
  const Seconds step = step_of(p, method)(p.run.context) + p.setup.batch_size * p.run.tokens_per_step * profile.token;
  return p.run.steps * step + prompts_time(p, profile);
}

// The 90 % interval of a step of a run over its prediction; none: an error is unknown.
static std::optional<RatioInterval> step_interval(const ServedPoint& p, const Engine& profile) {
  PricedMethod method = priced_by(p, p.method, profile);
  const int sequences = p.setup.replica_sequences();
  const StepBreakdown step = step_of(p, method).breakdown(p.run.context);
  const auto effects = method.term_effects(sequences, p.run.context, p.run.tokens_per_step);
  const UncertainStep uncertain(step, effects);
  KnownErrors errors = known_errors(*p.setup.device, p.setup.precision, attention_of(p.setup));
  set_link_errors(errors, p.setup);
  const auto interval = prediction_interval(errors, uncertain, p.run.speculates() ? &uncertain : nullptr);
  return interval ? std::optional(interval->step_time) : std::nullopt;
}

// No engine is so far off, by its priors least of all: the runs are of another unit.
static void check_units(std::vector<double> log_ratios) {
  constexpr double kUnits = 100;
  std::nth_element(log_ratios.begin(), log_ratios.begin() + log_ratios.size() / 2, log_ratios.end());
  const double ratio = std::exp(log_ratios[log_ratios.size() / 2]);
  if (ratio < kUnits && ratio > 1 / kUnits) return;
  throw InputErrors("--served: the runs' steps take " + significant(ratio > 1 ? ratio : 1 / ratio, 2) + " times as " +
                    (ratio > 1 ? "long" : "short") + " as the shipped profile predicts: check the unit of the times");
}

ServedFit fit_served(const std::vector<ServedPoint>& points) {
  constexpr double kDecisive = 3;  // log evidence: twenty to one
  if (std::all_of(points.begin(), points.end(), [](const ServedPoint& p) { return p.run.speculates(); }))
    throw InputErrors(
        "--served: there is no run of plain decoding, which is required to fit the cost of a step without drafts");
  const bool any_speculates =
      std::any_of(points.begin(), points.end(), [](const ServedPoint& p) { return p.run.speculates(); });
  Engine shipped = *points.front().setup.engine;
  const auto terms =
      terms_of(shipped, *points.front().setup.device, any_speculates ? Speculation::on : Speculation::off);
  std::vector<double> measured, before = log_times(points, shipped);
  for (const ServedPoint& p : points) measured.push_back(std::log(p.run.time.value));
  std::vector<double> ratios;
  for (std::size_t i = 0; i < points.size(); ++i) ratios.push_back(measured[i] - before[i]);
  check_units(std::move(ratios));
  const auto predicted_by = [&](const Engine& base) -> LogTimes {
    return [&points, &terms, base](std::span<const double> x) { return log_times(points, with_terms(base, terms, x)); };
  };
  PriorFit fit = fit_with_priors(predicted_by(shipped), measured, terms.size());
  ServedFit out;
  out.padded = !shipped.graph_sizes.empty();
  if (padding_shows(points, shipped.graph_sizes)) {
    Engine unpadded = shipped;
    unpadded.graph_sizes.clear();
    const PriorFit other = fit_with_priors(predicted_by(unpadded), measured, terms.size());
    const double gain = other.log_evidence - fit.log_evidence;
    if (gain > kDecisive) {
      fit = other;
      shipped = unpadded;
      out.padded = false;
      out.warnings.emplace_back(
          "rows are not padded to the sizes of the engine's graphs: the runs support this by at least twenty to one");
    } else if (gain > -kDecisive) {
      out.warnings.emplace_back(
          "the runs do not determine whether rows are padded to the sizes of the engine's graphs: the shipped setting "
          "is kept");
    }
  }
  out.engine = with_terms(shipped, terms, fit.at);
  out.noise = fit.noise;
  for (std::size_t i = 0; i < terms.size(); ++i) {
    const EngineTerm& t = terms[i];
    const double wide = fit.spread() * fit.deviation(i);
    out.terms.push_back({t, t.at(fit.at[i]), t.at(fit.at[i] - wide), t.at(fit.at[i] + wide), fit.learned(i)});
  }
  const auto left = errors_left_out(predicted_by(shipped), measured, terms.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    const auto interval = step_interval(points[i], shipped);
    const double ratio = std::exp(measured[i] - before[i]);
    out.runs.push_back({std::expm1(before[i] - measured[i]), std::expm1(fit.errors[i]), std::expm1(left[i]),
                        interval ? std::optional(interval->low <= ratio && ratio <= interval->high) : std::nullopt});
  }
  for (std::string& w : warnings_of(points, terms, fit)) out.warnings.push_back(std::move(w));
  return out;
}

// A profile has the whole of a value whose prior is of what it adds to another one. Where no run told how much, it is
// as much as in the shipped profile.
std::vector<ProfileValue> profile_values(const ServedFit& fit) {
  constexpr double kLittle = 0.1;
  std::vector<ProfileValue> all;
  for (const FittedTerm& t : fit.terms) all.push_back({t.term.field, t.value, t.low, t.high, t.learned > kLittle});
  for (std::size_t i = 0; i < fit.terms.size(); ++i)
    for (const EngineField& field : engine_fields()) {
      const ProfileValue base = all[i];
      if (!field.adds_to(*base.field)) continue;
      const auto own = std::find_if(all.begin(), all.end(), [&](const ProfileValue& v) { return v.field == &field; });
      if (own != all.end()) {
        own->value += base.value, own->low += base.value, own->high += base.value;
      } else {
        const double added = field.fitted_value(fit.engine);
        all.push_back({&field, base.value + added, base.low + added, base.high + added, base.learned});
      }
    }
  return all;
}

}  // namespace draftline
