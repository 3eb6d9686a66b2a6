// SPDX-License-Identifier: Apache-2.0
// Chooses the draft length of a server's next step according to its policy (inputs/draft_policy). A goodput policy uses
// the predicted step time and the acceptance observed so far.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inputs/draft_policy.h"
#include "sim/step_cost.h"

namespace draftline {

// The largest of `lengths` that the policy allows for a batch of `sequences` sequences.
int most_drafts(const DraftPolicy&, std::span<const int> lengths, int sequences);

// The chooser of one server. It learns from the steps that are recorded.
class DraftChooser {
 public:
  // `lengths`: the draft lengths to choose from, ascending, at most 65 (else Bug). The policy and the costs must
  // outlive the chooser.
  DraftChooser(const DraftPolicy&, std::vector<int> lengths, StepCost&);

  // The draft length of the next step; 0 for a plain step. `context`: tokens in the KV cache of all sequences. `would`:
  // for the oracle, the number of drafts of each sequence that would be accepted; otherwise empty. `chunks`: the prompt
  // chunks in the same step, whose cost is not attributed to drafts. The choice maximises emitted tokens minus the step
  // time multiplied by the token rate of the best fixed draft length.
  int choose(int sequences, std::int64_t context, std::span<const int> would, std::span<const Chunk> chunks);
  // The number of drafts of each sequence to verify in the next step, from the survival probabilities of its drafts,
  // [sequences * drafts]. The result is valid until the next call. `slots`: the batch's slots.
  std::span<const int> admit(int slots, std::int64_t context, std::span<const double> survival, int drafts);
  int most_drafts(int sequences) const { return draftline::most_drafts(policy_, lengths_, sequences); }
  bool admits() const { return policy_.kind == DraftPolicy::Kind::confidence; }
  bool looks_ahead() const { return policy_.kind == DraftPolicy::Kind::oracle; }
  // The number of plain steps after which to choose again even if the batch has not changed.
  std::int64_t steps_to_next_choice() const {
    return looks_ahead() ? 1 : policy_.kind == DraftPolicy::Kind::goodput ? kTry - plain_steps_ : kForever;
  }
  bool learns() const { return policy_.kind == DraftPolicy::Kind::goodput || looks_ahead(); }
  // Records a step with drafts: the draft length, and the accepted drafts of each sequence.
  void record_acceptance(int drafts, std::span<const int> accepted);
  void record_plain_steps(std::int64_t steps) { plain_steps_ += steps; }

 private:
  double expected(int drafts) const;         // tokens that a sequence emits per step, by the recorded acceptance
  static constexpr std::int64_t kTry = 256;  // plain steps until a draft is tried again
  const DraftPolicy& policy_;
  std::vector<int> lengths_;
  StepCost& cost_;
  std::vector<double> tried_, accepted_;  // counts by draft position; old ones decay
  std::int64_t plain_steps_ = 0;          // since the last step with drafts
  std::vector<int> admitted_;
};

}  // namespace draftline
