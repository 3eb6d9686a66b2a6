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

  Line decode(int sequences, int drafts, std::int64_t context) override {
    const std::int64_t from = context / cell * cell;
    const Ticks start =
        (sequences == 0 ? 0 : fixed) + sequences * per_sequence + drafts * per_draft + per_context * from;
    return {from, from + cell, start, per_context, 0, 0};
  }
  Prompts prefill(int, int, std::int64_t, std::span<const Chunk> chunks) override {
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
  Ticks after_prompts(int sequences, int drafts, std::int64_t, Ticks prompts, int fresh) override {
    waited.push_back({sequences, drafts, prompts, fresh});
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

}  // namespace draftline
