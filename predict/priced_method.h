// SPDX-License-Identifier: Apache-2.0
// The steps and prompts of one recorded method, priced for one device and engine. Prices are cached by everything that
// they depend on.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "inputs/serving_limits.h"
#include "model/acceptance/draft_counts.h"
#include "predict/chunk_prices.h"
#include "predict/expected_step.h"
#include "predict/mean_contexts.h"
#include "predict/recorded_method.h"
#include "predict/request_cycle.h"
#include "predict/term_effects.h"

namespace draftline {

// A decode step whose attention launches also compute a prompt's chunk, for a library that uses another layout for such
// launches. `launches`: the fixed time of the chunk's own launches, which is saved.
struct MixedAttention {
  StepPrice mixed, separate;  // the decode step with a chunk, and without it
  Seconds launches;
};

// A decode step of a number of sequences, averaged over the drafts that they verify.
struct PricedStep {
  PricedStep(ExpectedStep of, int each_verifies, int each_needs)
      : price(std::move(of)), rows(each_verifies), slots(each_needs) {}
  ExpectedStep price;
  int rows, slots;  // per sequence: verified rows; rows of the widest pass, drafting included
};

// A decode step averaged over an output. `idle`: how long the target's device waits for its host, and `host_idle` how
// long the host waits for the device.
struct MeanStep {
  StepBreakdown step;
  Seconds idle, host_idle;
};
MeanStep mean_step(const ExpectedStep&, const MeanContexts&);

// A device and an engine on it. The memory bandwidth is the bandwidth that the engine's kernels reach.
struct Stack {
  std::shared_ptr<const Device> device;
  std::shared_ptr<const Engine> engine;
};

// `sequences` are always those of one replica of the attention, whatever a setup's batch size.
class PricedMethod {
 public:
  // `drafters`: the stack of a drafter that has its own device.
  // `facts`: what the engine's mode depends on, without what its steps say.
  PricedMethod(std::shared_ptr<RecordedMethod>, Stack targets, std::optional<Stack> drafters, ModeFacts facts = {});
  PricedMethod(const PricedMethod&) = delete;  // its tables of prompts refer to it

  const Method& method() const { return recorded_->method(); }
  RecordedMethod& recorded() const { return *recorded_; }
  const Engine& engine() const { return *targets_.engine; }
  const Device& device() const { return *targets_.device; }  // as its engine serves it
  const SchedulerLimits& limits() const { return limits_; }  // the engine's own, for this method

  // `drafts`: the numbers that a sequence verifies (Acceptance::draft_counts).
  std::shared_ptr<const PricedStep> step(int sequences, const DraftCounts& drafts);
  // What the mode of a step depends on, `hits` of whose sequences have drafts; and its time in a mode if all have.
  ModeFacts mode_facts(int sequences, int hits) const;
  bool uniform(const DraftCounts& drafts) const {  // whether each step verifies the usual number
    return drafts.usual() || (drafts.shares().size() == 1 && recorded_->usual({drafts.shares().front().first}));
  }
  Seconds time_in(const StepMode&, int sequences, double length) const;
  MeanStep mean_step(int sequences, const DraftCounts&, int prompt_tokens, int output_tokens);
  StepPrice step_price(int sequences) const;  // if every sequence has drafts
  // What the engine's terms can change in such a step, in which each sequence emits `tokens` tokens. Valid
  // until the next call.
  std::span<const TermEffect> term_effects(int sequences, double context, double tokens);
  // The mixed attention of a step of `sequences` sequences. None: a mixed step costs the sum of its parts.
  std::optional<MixedAttention> mixed_attention(int sequences, const AttentionChoice&) const;

  // One prompt in a step of `rows` rows, on the target's device; none: in the mode of a step without prompts.
  StepPrice prompt_price(int tokens, std::optional<int> rows) const;
  Seconds prefill_time(int tokens, int cached_tokens);  // including the drafter's part
  // The part of one prompt's time on the target's device for which the launches of passes that quantise rows are the
  // cause.
  Seconds launches_of_quantising(int tokens, int cached_tokens);
  // The times of requests in a full batch. `contexts`: those over which a step is averaged; null: evenly over the
  // output.
  RequestCycle cycle(const LoopedRequests&, const DraftCounts&, int output_tokens,
                     const MeanContexts* contexts = nullptr);

 private:
  struct BatchRows {
    int sequences, verified;  // verified rows of all sequences
    bool uniform;             // whether each sequence has the usual number
  };
  BatchRows usual_rows(int sequences, const StepOutline&) const;
  // The engine in the mode of a step.
  const Engine& running(const StepOutline&, const BatchRows&) const;
  ModeFacts facts(const StepOutline&, const BatchRows&) const;
  PlacedStep placed(const StepOutline&, const BatchRows&) const;
  ExpectedStep expected_step(int sequences, const DraftCounts&) const;
  StepPrice drafters_prompt(int tokens) const;
  RequestCycle new_cycle(const LoopedRequests&, const DraftCounts&, int output_tokens, const MeanContexts* contexts);

  std::shared_ptr<RecordedMethod> recorded_;
  Stack targets_;
  std::optional<Stack> drafters_;
  ModeFacts facts_;
  mutable std::map<StepMode, Engine> running_;
  SchedulerLimits limits_;
  ChunkPrices chunks_;
  std::optional<TermEffects> effects_;  // none before they are needed
  std::map<std::pair<int, DraftCounts>, std::shared_ptr<const PricedStep>> steps_;
  std::map<std::tuple<int, DraftCounts, int, int>, MeanStep> means_;
  std::map<std::pair<int, int>, Seconds> prefills_, quantising_;
  std::map<std::tuple<LoopedRequests, DraftCounts, int>, RequestCycle> cycles_;
};

}  // namespace draftline
