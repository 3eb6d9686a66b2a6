// SPDX-License-Identifier: Apache-2.0
// Steps whose cost is known in closed form, for tests of the event loop.
#pragma once
#include "sim/fleet.h"

namespace draftline {

class PlainCost : public StepCost {
 public:
  Ticks fixed = 1'000'000, per_sequence = 10'000, per_draft = 50'000, per_context = 7, per_prompt_token = 20'000;
  Ticks per_token = 0;
  std::int64_t cell = kForever / 2;  // of context: how many steps one line covers

  Line decode(const DecodeBatch& decoding) override {
    const std::int64_t from = decoding.context / cell * cell;
    const Ticks start = (decoding.sequences == 0 ? 0 : fixed) + decoding.sequences * per_sequence +
                        decoding.drafts * per_draft + per_context * from;
    return {from, from + cell, start, per_context, 0, 0};
  }
  Prompts prefill(const DecodeBatch&, std::span<const Chunk> chunks) override {
    Ticks t = 0;
    for (const Chunk& c : chunks) t += per_prompt_token * c.tokens;
    return {t, 0};
  }
  Ticks token() const override { return per_token; }

  struct Waited {
    int sequences, drafts;
    Ticks prompts;
    int fresh;
  };
  Ticks per_wait = 0;  // more for a step after prompts
  std::vector<Waited> waited;
  Ticks after_prompts(const DecodeBatch& decoding, Ticks prompts, int fresh) override {
    waited.push_back({decoding.sequences, decoding.drafts, prompts, fresh});
    return per_wait;
  }
};

// Everything that happened.
struct Log : ServingObserver {
  std::vector<ServedRequest> requests;
  std::vector<StepRun> runs;
  void on_request(const ServedRequest& r) override { requests.push_back(r); }
  void on_step(const StepRun& r) override { runs.push_back(r); }
};

inline Workload poisson(double rate, std::int64_t requests, Lengths prompt, Lengths output) {
  Workload w;
  w.arrivals.rate = rate;
  w.prompt = prompt;
  w.output = output;
  w.requests = requests;
  return w;
}

// Requests of these lengths, one after the other.
inline Workload closed_loop(std::vector<RecordedRequest> requests, int concurrency) {
  Workload w;
  w.requests = std::ssize(requests);
  auto trace = std::make_shared<WorkloadTrace>();
  trace->requests = std::move(requests);
  w.length_trace = trace;
  w.prompt = w.output = RecordedLength{};
  w.arrivals.kind = ArrivalProcess::Kind::closed;
  w.arrivals.concurrency = concurrency;
  return w;
}

}  // namespace draftline
