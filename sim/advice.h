// SPDX-License-Identifier: Apache-2.0
// Advice on one method on one setup: up to which batch and load speculation pays, which draft length is the best at
// each batch size, and which costs reduce the gain. It pays where requests gain, their prompts included.
#pragma once
#include <optional>
#include <tuple>
#include <vector>

#include "sim/draft_schedule.h"
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
  double speedup = 0, length = 0;  // of decoding; mean acceptance length, the bonus token included
  double request_speedup = 0;      // what a request sees of it (Prediction::speedup_with_prefill)
  double needed_length = 0;        // break-even acceptance length
  Seconds plain_step, step;
  StepLosses losses;
  std::optional<double> sharded_speedup;  // with the draft network divided among the ranks; none if it can't be
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
  int pays_to_batch = 0;  // the largest batch up to which requests gain; 0: none
  double gain = 1;  // of requests: mean over `batches`, geometric; 1 in those where it is switched off as they lose
  // Share of the plain server's KV pool that the drafter uses, 0 to 1; none if the weights leave no memory for a pool.
  std::optional<double> pool_lost;
  std::vector<BatchAdvice> batches;
  // By prompt, then batch size; empty if the method drafts no chain of a given length.
  std::vector<BestLength> best;
  std::vector<ScheduledLength> schedule;
  std::optional<RateAdvice> rate;  // none if load was not asked about, or if no KV pool fits

  static auto members(auto& s) {
    return std::tie(s.point, s.obstacle, s.largest_batch, s.pays_to_batch, s.gain, s.pool_lost, s.batches, s.best,
                    s.schedule, s.rate);
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
