// SPDX-License-Identifier: Apache-2.0
#include "sim/serving_warnings.h"

#include <cmath>

#include "predict/setup_warnings.h"

namespace draftline {

namespace {

// A run is warned about if the servers empty for a larger share of its time than this.
constexpr double kLongEmptying = 0.1;

std::string beyond_positions(const ServingPoint& point, const ServingRun& run) {
  const TransformerShape& network = *point.setup.transformer;
  const auto longest = run.figures.longest_text;
  if (!network.max_positions || longest <= *network.max_positions) return "";
  return "texts of up to " + std::to_string(longest) + " tokens are simulated, but " + network.name + " has " +
         std::to_string(*network.max_positions) + " positions";
}

std::string refused(const ServingPoint& point, const std::vector<ServingRun>& runs) {
  for (const ServingRun& run : runs)
    if (const auto some = refusals(run.figures, point.limits)) return *some + ": refused";
  return "";
}

// A given prefix that no prompt finds in the cache.
std::string no_shared_prefix(const ServingPoint& point) {
  const auto& shared = point.workload.shared_prefix;
  if (!shared || !point.limits.prefix_caching) return "";
  if (!point.limits.shares_prefixes())
    return "\"shared_prefix\" saves nothing: prompts share no prefixes if all layers have windows, or if there are "
           "recurrent states that the engine does not cache";
  if (const double prompt = mean_prompt(point.workload); prompt > 0 && prompt <= shared->tokens)
    return "prompts of " + std::to_string(std::lround(prompt)) +
           " tokens are not longer than their \"shared_prefix\" of " + std::to_string(shared->tokens) +
           " tokens: hardly any of their tokens are computed";
  const PrefixReuse& reuse = *point.limits.prefix_reuse;
  if (reuse.of(shared->whole_blocks()) == 0 && reuse.unit > 1)
    return "\"shared_prefix\" saves nothing: its " + std::to_string(shared->tokens) + " tokens do not fill " +
           (reuse.dropped > 0 ? "two units of " : "a unit of ") + std::to_string(reuse.unit) +
           ", in which prefixes of networks with recurrent states are cached" +
           (reuse.dropped > 0 ? "; the drafter needs the last one again" : "");
  if (shared->tokens >= shared->block) return "";
  return "\"shared_prefix\" saves nothing: its " + std::to_string(shared->tokens) +
         " tokens do not fill a KV block of " + std::to_string(shared->block);
}

// Too few requests for figures of the steady state.
std::string short_run(const ServingPoint& point, const ServingRun& run) {
  if (run.diverges) return "";
  if (!fills_servers(point.workload, run))
    return "there are fewer requests than 4 x rate x e2e: arrivals end before the servers reach the steady state";
  const double emptying = run.figures.share_after_arrivals();
  if (emptying <= kLongEmptying) return "";
  return std::to_string(std::lround(100 * emptying)) +
         " % of the time is after the last arrival, while the servers empty: throughput and costs include it; more "
         "requests reduce this share";
}

std::string unsettled(const ServingRun& run) {
  if (run.diverges) return "";
  if (!run.unsettled)
    return run.fills ? "more requests were in flight at the last arrival than halfway: in the steady state latencies "
                       "are longer; simulate more requests"
                     : "";
  return "the queue was longer at the last arrival than halfway: simulate more requests to find out whether it grows";
}

// The engine's own limit of sequences, which the scenario does not state, or its pool of states bounds the batch.
std::string bound_by_sequences(const ServingChoice& choice, const ServingPoint& point, const ServingResult& r) {
  const Setup& setup = point.setup;
  if (point.state_seats == r.batch_limit && r.runs.front().figures.mean_in_system() > 1.0 * r.batch_limit * r.servers)
    return setup.engine->name + "'s pool of recurrent states seats " + std::to_string(r.batch_limit) +
           " sequences: requests waited for it";
  if (choice.says_seqs) return "";
  const auto sequences = [&](Speculation speculation) {
    return limits_on(choice, *setup.engine, *setup.device, speculation).max_num_seqs;
  };
  const ServingRun& run = r.runs.front();
  const bool fewer = point.drafting.draft_length > 0 && sequences(Speculation::on) < sequences(Speculation::off);
  if ((!fewer && run.diverges) || run.figures.mean_in_system() <= 1.0 * r.batch_limit * r.servers) return "";
  return setup.engine->name + " runs " + std::to_string(r.batch_limit) + " concurrent sequences by default" +
         (fewer ? " while it speculates" : "") +
         ": requests waited for this limit (\"scheduler\": {\"max_num_seqs\": ..})";
}

}  // namespace

std::vector<std::string> serving_warnings(const ServingChoice& choice, const ServingPoint& point,
                                          const MethodChoice& method, const ServingResult& result) {
  const ServingRun& first = result.runs.front();
  std::vector<std::string> all{beyond_positions(point, first),
                               refused(point, result.runs),
                               no_shared_prefix(point),
                               short_run(point, first),
                               unsettled(first),
                               bound_by_sequences(choice, point, result)};
  const auto of_setup = setup_warnings(point.setup, method, attention_of(point.setup),
                                       chosen_fits(*point.setup.device, point.setup.precision));
  all.insert(all.end(), of_setup.begin(), of_setup.end());
  std::erase(all, "");
  return all;
}

}  // namespace draftline
