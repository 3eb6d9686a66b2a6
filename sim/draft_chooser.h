// SPDX-License-Identifier: Apache-2.0
// Chooses how many drafts the next step verifies in each sequence, by a policy (inputs/draft_policy): by the priced
// step and the acceptance seen so far, where the policy learns.
#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "inputs/draft_policy.h"
#include "sim/step_cost.h"

namespace draftline {

// The chooser of one server. It learns from the steps that are recorded.
class DraftChooser {
 public:
  // `lengths`: those it may choose, rising; the last is the most.
  DraftChooser(const DraftPolicy&, std::vector<int> lengths, StepCost&);

  // `would`: of each sequence, drafts that would be accepted (the oracle alone may look), or empty. A step's tokens are
  // worth the time in which the best fixed length would emit as many; what a step does beside decoding (`chunks`) is no
  // cost of its drafts.
  int choose(int sequences, std::int64_t context, std::span<const int> would, std::span<const Chunk> chunks);
  bool looks_ahead() const { return policy_.kind == DraftPolicy::Kind::oracle; }
  // Steps without drafts after which to choose again, though the batch has not changed.
  std::int64_t steps_to_next_choice() const {
    return looks_ahead() ? 1 : policy_.kind == DraftPolicy::Kind::goodput ? kTry - plain_steps_ : kForever;
  }
  bool learns() const { return policy_.kind == DraftPolicy::Kind::goodput || looks_ahead(); }
  void record_acceptance(int drafts, std::span<const int> accepted);  // of each sequence of a step
  void record_plain_steps(std::int64_t steps) { plain_steps_ += steps; }

 private:
  double expected(int drafts) const;         // tokens of a sequence, by what was seen
  static constexpr std::int64_t kTry = 256;  // steps without drafts before one tries a draft again
  const DraftPolicy& policy_;
  std::vector<int> lengths_;
  StepCost& cost_;
  std::vector<double> tried_, accepted_;  // by position; old ones fade
  std::int64_t plain_steps_ = 0;          // since the last step with drafts
};

}  // namespace draftline
