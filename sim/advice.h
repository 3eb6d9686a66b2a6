// SPDX-License-Identifier: Apache-2.0
// When speculation pays, and what eats the gain: the questions practitioners ask of one method on one setup.
#pragma once
#include <optional>
#include <tuple>
#include <vector>

#include "sim/serving.h"

namespace draftline {

// What a speculative step costs beyond a plain one, in plain steps. A step that gives L tokens and costs 1 + sum of
// these is L / (1 + sum) times as fast.
struct StepLosses {
  double draft = 0;          // the drafter's device time
  double products = 0;       // matrix products and elementwise work of more verified rows
  double cache_reads = 0;    // attention of more query rows
  double experts = 0;        // more rows meet more experts
  double communication = 0;  // longer messages between ranks
  double commit = 0;         // verification and moving of cache entries
  double host = 0;           // draft passes, lost overlap, cost per emitted token
  double total() const { return draft + products + cache_reads + experts + communication + commit + host; }
};

struct BatchAdvice {
  int batch_size = 1;
  double speedup = 0, length = 0;  // tokens that a step gives
  double needed_length = 0;        // to break even
  Seconds plain_step, step;
  StepLosses losses;
  std::optional<double> sharded_speedup;  // with the draft network divided among the ranks, if it can be
};

struct BestLength {
  int prompt_tokens = 0, batch_size = 0, draft_length = 0;  // 0: better not to draft
  double speedup = 1;
};

struct RateAdvice {
  PerSecond pays_to;        // mean end-to-end latency is lower up to this rate of requests
  bool overloaded = false;  // plain decoding was overloaded there, not speculation overtaken
  bool never = false;       // it is slower even without load
  bool too_few = false;     // requests to tell: neither happened before all of them came at once
};

struct Advice {
  Point point;            // its batch is the first of the list
  std::string obstacle;   // why nothing can be said; else ""
  int largest_batch = 0;  // that fits the device
  int pays_to_batch = 0;  // 0: never; largest_batch: always
  // Share of the plain server's KV pool that the drafter takes; none: weights leave no room for a pool.
  std::optional<double> pool_lost;
  std::vector<BatchAdvice> batches;
  std::vector<BestLength> best;
  std::optional<RateAdvice> rate;

  static auto members(auto& s) {
    return std::tie(s.point, s.obstacle, s.largest_batch, s.pays_to_batch, s.pool_lost, s.batches, s.best, s.rate);
  }
};

// `batches`: to report at. `serving`: the same scenario with a workload, or null.
Advice advise(Sweep&, std::size_t index, const std::vector<int>& batches, ServingSweep* serving, std::uint64_t seed);

// The scenario with plain decoding beside its methods, and with Poisson arrivals instead of a batch if it has no
// workload.
Scenario with_arrivals(Scenario);

}  // namespace draftline
