// SPDX-License-Identifier: Apache-2.0
// Advice on one method on one setup: up to which batch and load speculation pays, and which costs reduce its gain.
#pragma once
#include <optional>
#include <tuple>
#include <vector>

#include "sim/serving.h"

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
  double speedup = 0, length = 0;  // length: mean acceptance length, the bonus token included
  double needed_length = 0;        // break-even acceptance length
  Seconds plain_step, step;
  StepLosses losses;
  std::optional<double> sharded_speedup;  // with the draft network divided among the ranks; none if it can't be
};

// The draft length with the highest speedup at a prompt length and batch size.
struct BestLength {
  int prompt_tokens = 0, batch_size = 0, draft_length = 0;  // draft_length 0: plain decoding is faster
  double speedup = 1;
};

// Up to which load speculation lowers the mean end-to-end latency, by simulations at rising request rates.
struct RateAdvice {
  PerSecond pays_to;        // requests/s up to which the latency is lower; 0 if `never` or `too_few`
  bool overloaded = false;  // the search ended because plain decoding was overloaded; speculation was still faster
  bool never = false;       // speculation is slower even without load
  bool too_few = false;     // the workload has too few requests to find the limit: they all arrive at once before
};

struct Advice {
  Point point;            // its batch is the first of the scenario
  std::string obstacle;   // why the method can't run, then nothing else is set; "" if it can
  int largest_batch = 0;  // that fits in device memory
  int pays_to_batch = 0;  // the largest batch with a speedup of at least 1; 0: none
  // Share of the plain server's KV pool that the drafter uses, 0 to 1; none if the weights leave no memory for a pool.
  std::optional<double> pool_lost;
  std::vector<BatchAdvice> batches;
  std::vector<BestLength> best;    // empty if the method drafts no chain of a given length
  std::optional<RateAdvice> rate;  // none if load was not asked about, or if no KV pool fits

  static auto members(auto& s) {
    return std::tie(s.point, s.obstacle, s.largest_batch, s.pays_to_batch, s.pool_lost, s.batches, s.best, s.rate);
  }
};

// Advice on the method of the scenario's point `index`. `batches`: the batch sizes to report; those that do not fit are
// left out. `serving`: a sweep of with_arrivals(scenario), or null to leave out the load. A point that does not fit the
// device is an `obstacle`, not an error.
Advice advise(Sweep&, std::size_t index, const std::vector<int>& batches, ServingSweep* serving, std::uint64_t seed);

// The scenario with plain decoding as its last method and, if it has no workload, with 600 Poisson arrivals. Its only
// batch size is 1.
Scenario with_arrivals(Scenario);

}  // namespace draftline
