// SPDX-License-Identifier: Apache-2.0
// What a serving run was like: latencies, throughput, occupancy. Collected as the run goes; nothing is kept per token.
#pragma once
#include <optional>
#include <tuple>
#include <vector>

#include "core/fingerprint.h"
#include "inputs/serving_limits.h"
#include "inputs/workload.h"
#include "sim/histogram.h"

namespace draftline {

// A request that is done.
struct ServedRequest {
  Request request;
  Ticks started = 0, first_token = 0, last_token = 0;  // started: first scheduled
  int preemptions = 0, server = 0;
  std::int64_t steps = 0;  // decode steps that it took part in
};

// Of steps that follow each other, the i-th of which takes first + i * rise.
inline Ticks total_time(Ticks first, Ticks rise, std::int64_t steps) {
  return steps * first + rise * (steps * (steps - 1) / 2);
}

// Steps of one kind that followed each other on a server.
struct StepRun {
  Ticks start = 0, first = 0, rise = 0;
  std::int64_t steps = 0;
  int sequences = 0, drafts = 0, prompt_tokens = 0, waiting = 0, server = 0;
  std::int64_t emitted = 0, context = 0, kv_blocks = 0;
  std::int64_t kv_blocks_before = 0;
  Ticks host_wait = 0;  // of their time, what the device waited for the host
  Ticks time() const { return total_time(first, rise, steps); }
};

// Whoever wants every record: files, a timeline, a test.
class ServingObserver {
 public:
  virtual ~ServingObserver() = default;
  virtual void on_request(const ServedRequest&) {}
  virtual void on_step(const StepRun&) {}
};

class ServingFigures {
 public:
  ServingFigures() = default;  // of a run elsewhere, to be unpacked: it records nothing
  ServingFigures(std::int64_t warm_up, const LatencyTargets& targets, ServingObserver* observer = nullptr)
      : warm_up_(warm_up), targets_(&targets), observer_(observer) {}

  void record_arrival(const Request&);
  void record_request(const ServedRequest&);
  void record_step(const StepRun&);
  // The time between two emissions of so many sequences, in each of so many steps.
  void record_gaps(Ticks gap, Ticks rise, std::int64_t steps, std::int64_t sequences) {
    inter_token.add_rising(gap, rise, steps, sequences);
  }
  void record_preemption() { ++preemptions; }
  // A request that no KV pool can hold: it is turned away when it arrives, and no latency includes it.
  void record_refusal(const Request& r) {
    ++refused;
    longest_refused = std::max(longest_refused, std::int64_t{r.prompt} + r.output);
  }
  void record_reused_tokens(int tokens) { reused_tokens += tokens; }  // of prompts, from a prefix cache
  void record_acceptance(std::int64_t sequence_steps, std::int64_t emitted) {
    sequence_steps_ += sequence_steps;
    decoded_ += emitted;
  }

  Histogram ttft, tpot, inter_token, e2e, queueing;
  std::int64_t requests = 0, output_tokens = 0, prompt_tokens = 0;  // served, warm-up apart
  std::int64_t good_requests = 0;                                   // that met every latency target's limit
  std::int64_t all_tokens = 0, steps = 0, preemptions = 0, most_blocks = 0, longest_text = 0, reused_tokens = 0;
  std::int64_t refused = 0, longest_refused = 0;              // requests; tokens of the longest of them
  Ticks first_arrival = kForever, begin = kForever, end = 0;  // begin: arrival of the first request after the warm-up

  Seconds makespan() const { return to_seconds(end > begin ? end - begin : 0); }  // from `begin` to the last token
  PerSecond throughput() const { return static_cast<double>(output_tokens) / makespan(); }
  PerSecond goodput() const { return static_cast<double>(good_requests) / makespan(); }
  double acceptance_length() const;  // tokens that a sequence emits in a decode step
  double busy_share(int servers = 1) const;
  double host_share(int servers = 1) const;
  double mean_blocks() const;
  double mean_in_system() const;  // by Little's law's left side: time-weighted mean of requests in flight
  Seconds value_of(const LatencyTargets::Target&) const;
  bool meets(const LatencyTargets::Target& t) const { return value_of(t) <= t.limit; }
  std::uint64_t fingerprint() const { return events_.value(); }

  // What was recorded; not who listened, nor by which targets (core/packed.h).
  static auto members(auto& s) {
    return std::tie(s.ttft, s.tpot, s.inter_token, s.e2e, s.queueing, s.requests, s.output_tokens, s.prompt_tokens,
                    s.good_requests, s.all_tokens, s.steps, s.preemptions, s.most_blocks, s.longest_text,
                    s.reused_tokens, s.refused, s.longest_refused, s.first_arrival, s.begin, s.end, s.sequence_steps_,
                    s.decoded_, s.busy_, s.host_, s.block_time_, s.in_system_, s.events_);
  }

 private:
  std::int64_t warm_up_ = 0;
  const LatencyTargets* targets_ = nullptr;
  ServingObserver* observer_ = nullptr;
  std::int64_t sequence_steps_ = 0, decoded_ = 0;
  double busy_ = 0, host_ = 0, block_time_ = 0, in_system_ = 0;  // ps; blocks x ps; requests x ps
  Fingerprint events_;
};

}  // namespace draftline
