// SPDX-License-Identifier: Apache-2.0
// Advice on one method on one setup: the batch sizes and loads at which speculation pays, the best draft length for
// each batch size, and the costs that reduce the gain. It pays where requests, their prompts included, are faster.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "sim/draft_schedule.h"
#include "sim/load_advice.h"
#include "sim/stretches.h"

namespace draftline {

// The costs of a speculative step beyond those of a plain step, in units of a plain step's time. A step that emits L
// tokens per sequence has a speedup of L / (1 + total()).
struct StepLosses {
  double draft = 0;          // device time of the drafter
  double products = 0;       // GEMMs and elementwise ops of more verified rows
  double cache_reads = 0;    // attention of more query rows
  double experts = 0;        // reading more activated experts
  double communication = 0;  // larger all-reduces
  double commit = 0;         // verification and moving of KV cache entries
  double host = 0;           // exposed host time: draft passes, lost overlap, cost per emitted token
  double total() const { return draft + products + cache_reads + experts + communication + commit + host; }
};

struct BatchAdvice {
  int batch_size = 1;
  double speedup = 0;            // of decoding
  double request_speedup = 0;    // of a request with its prompt (Prediction::speedup_with_prefill)
  double acceptance_length = 0;  // mean tokens of a step, the bonus token included
  double break_even_length = 0;  // the acceptance length at which a step pays for itself
  Seconds plain_step, step;
  StepLosses losses;
  std::optional<RatioInterval> interval;  // 90 %, of the decode speedup, and of the requests' speedup at its widest
  std::optional<double> sharded_speedup;  // if the draft network is divided among the ranks; none if it can't be
};

// Whether requests are faster: undecided where the 90 % interval of their speedup contains 1 or, without an interval,
// where the speedup is nearer to 1 than kUnknownError.
enum class Payoff : std::uint8_t { pays, does_not_pay, too_close };
inline constexpr double kUnknownError = 1.34;  // 90 % of published speedups are within this factor, blind
Payoff verdict_on(const BatchAdvice&);

struct Advice {
  Point point;                          // with the first batch size of the scenario
  std::optional<std::string> obstacle;  // why the method can't run; then nothing else is set
  int largest_batch = 0;                // the largest that fits in device memory, up to kMostBatchSize
  int batch_limit = 0;                  // the engine's default limit on concurrent sequences while it speculates
  // The batch sizes at which requests are faster. With a mixture of experts there may be several stretches: with few
  // sequences, more rows read more experts; with many, all of these are read anyway.
  std::vector<Stretch<int>> pays_at;
  // Of requests: geometric mean over `batches`, or that at `batch_at_load`; 1 where speculation is off, because it
  // loses.
  double gain = 1;
  // The share, 0 to 1, by which speculation reduces the plain server's KV pool; 0 where the pool grows, because the
  // engine lets fewer sequences run while it speculates. None if the weights leave no memory for a pool.
  std::optional<double> pool_lost;
  std::vector<BatchAdvice> batches;
  Caveats caveats;  // of the predictions of `batches`
  // The sequences of a server under the scenario's workload, if it has one: of a closed loop its requests in flight,
  // else those of plain decoding at this rate. It is one of `batches`, and the gain is that at this size.
  std::optional<int> batch_at_load;
  std::optional<int> draft_length;  // length of the method's chain, given or default; none: it drafts no chain
  // The best draft lengths by prompt, then batch size; empty if the method drafts no chain of fixed length.
  std::vector<BestLength> best;
  std::vector<ScheduledLength> schedule;
  std::optional<LoadAdvice> rate;  // none if advice on load was not requested, or if no KV pool fits

  int pays_to_batch() const { return pays_at.empty() ? 0 : pays_at.back().to; }  // 0: it never pays
  Payoff verdict() const;  // `pays` if it surely pays at a batch, `too_close` if it does at none but may at one
  bool pays_at_every_batch() const { return pays_at == std::vector<Stretch<int>>{{1, largest_batch}}; }
  bool pays_at_batch(int batch) const {
    return std::ranges::any_of(pays_at, [&](const auto& s) { return s.from <= batch && batch <= s.to; });
  }
};

// Advice on the method of the scenario's point `index`. `batches`: the batch sizes to report; those that do not fit are
// left out. `load`: the advisor for with_arrivals(scenario); null: no advice on load. A point that does not fit the
// device is an `obstacle`, not an error.
Advice advise(Sweep&, std::size_t index, const std::vector<int>& batches, LoadAdvisor* load, std::uint64_t seed);

// The scenario with plain decoding as its last method and, if it has no workload, with 600 Poisson arrivals. It has the
// single batch size 1.
Scenario with_arrivals(Scenario);

// The scenario with the mean lengths of its first workload as prompt_tokens and output_tokens, unless it gives them,
// and with its shared prefix as cached_prompt_tokens.
Scenario with_mean_lengths(Scenario);

}  // namespace draftline
