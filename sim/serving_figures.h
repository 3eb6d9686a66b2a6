// SPDX-License-Identifier: Apache-2.0
// The figures of a serving run: latencies, throughput, utilisation. They are accumulated during the run; nothing is
// stored per token.
#pragma once
#include <optional>
#include <tuple>
#include <vector>

#include "core/fingerprint.h"
#include "inputs/serving_limits.h"
#include "inputs/workload.h"
#include "sim/histogram.h"

namespace draftline {

// The record of a finished request.
struct ServedRequest {
  Request request;
  Ticks started = 0, first_token = 0, last_token = 0;  // started: time of first admission
  int preemptions = 0, server = 0;                     // server: number of the last server
  std::int64_t steps = 0;                              // decode steps of its sequence
};

// The total time of consecutive steps, of which the i-th (from 0) takes first + i * rise.
inline Ticks total_time(Ticks first, Ticks rise, std::int64_t steps) {
  return steps * first + rise * (steps * (steps - 1) / 2);
}

// Consecutive steps of one kind on a server.
struct StepRun {
  Ticks start = 0, first = 0, rise = 0;  // begin of the first step; times of the steps as in total_time()
  std::int64_t steps = 0;
  int sequences = 0, drafts = 0, prompt_tokens = 0, waiting = 0, server = 0;  // drafts: draft length
  std::int64_t emitted = 0, context = 0, kv_blocks = 0;  // tokens; tokens in the KV cache; blocks in use at the end
  std::int64_t kv_blocks_before = 0;                     // blocks in use at the start
  Ticks host_wait = 0;                                   // exposed host time of all steps
  Ticks time() const { return total_time(first, rise, steps); }
};

// Receives every record during a run, for files, a timeline or a test.
class ServingObserver {
 public:
  virtual ~ServingObserver() = default;
  virtual void on_start(const FleetShape&, const SchedulerLimits&) {}  // before all records; limits of each scheduler
  virtual void on_request(const ServedRequest&) {}
  virtual void on_step(const StepRun&) {}
};

class ServingFigures {
 public:
  ServingFigures() = default;  // for results of other processes (core/packed); can't record
  // `warm_up`: the number of first requests that the figures of requests exclude. `front_end`: added to each request's
  // time to its first and to its last token. Targets and observer must outlive the run.
  ServingFigures(std::int64_t warm_up, const LatencyTargets& targets, Ticks front_end = 0,
                 ServingObserver* observer = nullptr)
      : warm_up_(warm_up),
        front_end_(front_end),
        targets_(&targets),
        late_(targets.targets.size()),
        observer_(observer) {}

  void record_arrival(const Request&);
  void record_request(const ServedRequest&);  // at its end; calls the observer
  void record_step(const StepRun&);           // at the end of the steps; calls the observer
  // Records that a rank without requests ran dummy batches, because all ranks of a server step together.
  void record_dummy_batches(Ticks time) { busy_ += to_double(time); }
  // Records inter-token latencies: in the i-th of `steps` steps, gap + i * rise for each of `sequences` sequences.
  void record_gaps(Ticks gap, Ticks rise, std::int64_t steps, std::int64_t sequences) {
    inter_token.add_rising(gap, rise, steps, sequences);
  }
  void record_preemption() { ++preemptions; }
  // Records a request that does not fit the KV pool. It is refused at its arrival and excluded from latencies.
  void record_refusal(const Request& r) {
    ++refused;
    longest_refused = std::max(longest_refused, std::int64_t{r.prompt} + r.output);
  }
  // Records prompt tokens of a request that came from the prefix cache.
  void record_reused_tokens(const Request& r, int tokens) {
    if (r.id >= warm_up_) reused_tokens += tokens;
  }
  // Records decode steps: the sum of their sequences and of the emitted tokens.
  void record_acceptance(std::int64_t sequence_steps, std::int64_t emitted) {
    sequence_steps_ += sequence_steps;
    decoded_ += emitted;
  }

  Histogram ttft, tpot, inter_token, e2e, queueing;
  std::int64_t requests = 0, output_tokens = 0, prompt_tokens = 0, reused_tokens = 0;  // without the warm-up
  std::int64_t good_requests = 0;  // requests within the limit of every latency target
  // all_tokens: output tokens with the warm-up; most_blocks: peak of KV blocks in use; longest_text: tokens of the
  // longest prompt and output.
  std::int64_t all_tokens = 0, steps = 0, preemptions = 0, most_blocks = 0, longest_text = 0;
  std::int64_t refused = 0, longest_refused = 0;  // number; tokens of the longest
  std::optional<Ticks> begin;                     // arrival of the first request after the warm-up
  Ticks first_arrival = kForever, last_arrival = 0, end = 0;

  Seconds makespan() const {
    return to_seconds(begin && end > *begin ? end - *begin : 0);
  }  // from `begin` to the last token
  // throughput(): output tokens/s over the makespan, including tokens that warm-up requests emit in it. goodput():
  // requests/s over the makespan, without the warm-up, that met the limit of every latency target.
  PerSecond throughput() const { return (to_double(output_tokens) + warm_up_tokens_) / makespan(); }
  PerSecond goodput() const { return to_double(good_requests) / makespan(); }
  double acceptance_length() const;           // mean tokens per sequence and decode step; 1 if there was none
  double busy_share(int servers = 1) const;   // utilisation: share of time in which steps ran, mean over servers
  double host_share(int servers = 1) const;   // share of the time in which steps waited for the host
  double mean_blocks(int servers = 1) const;  // KV blocks in use, mean over time and servers
  double mean_in_system() const;              // requests in flight, mean over time
  double share_after_arrivals() const;        // share of the makespan after the last arrival
  const Histogram& latency(LatencyTargets::Target::Of) const;
  Seconds value_of(const LatencyTargets::Target&) const;  // the mean or percentile that the target limits
  bool meets(const LatencyTargets::Target& t) const { return value_of(t) <= t.limit; }
  // Whether a target is certain to be missed, whatever the latencies of further requests, if at most `requests`
  // requests are recorded in total, without the warm-up.
  bool sure_to_miss(std::int64_t requests) const;
  std::uint64_t fingerprint() const { return events_.value(); }  // hash of (request, first and last token) in order

  // All records, without warm-up, targets and observer (core/packed.h). The compiler checks the number of names.
  static auto members(auto& s) {
    auto& [ttft, tpot, inter_token, e2e, queueing, requests, output_tokens, prompt_tokens, reused_tokens, good_requests,
           all_tokens, steps, preemptions, most_blocks, longest_text, refused, longest_refused, first_arrival, begin,
           last_arrival, end, warm_up, front_end, targets, late, observer, sequence_steps, decoded, warm_up_tokens,
           busy, host, block_time, in_system, events] = s;
    return std::tie(ttft, tpot, inter_token, e2e, queueing, requests, output_tokens, prompt_tokens, reused_tokens,
                    good_requests, all_tokens, steps, preemptions, most_blocks, longest_text, refused, longest_refused,
                    first_arrival, begin, last_arrival, end, sequence_steps, decoded, warm_up_tokens, busy, host,
                    block_time, in_system, events);
  }

 private:
  std::int64_t warm_up_ = 0;
  Ticks front_end_ = 0;
  const LatencyTargets* targets_ = nullptr;
  std::vector<std::int64_t> late_;  // per target: requests beyond its limit, to a histogram bin
  ServingObserver* observer_ = nullptr;
  std::int64_t sequence_steps_ = 0, decoded_ = 0;
  double warm_up_tokens_ = 0;                                    // tokens that warm-up requests emit after `begin`
  double busy_ = 0, host_ = 0, block_time_ = 0, in_system_ = 0;  // ps; blocks x ps; requests x ps
  Fingerprint events_;
};

}  // namespace draftline
