// SPDX-License-Identifier: Apache-2.0
// Prices and runs a planned step: how long it takes, how many tokens each sequence emits, what the figures record of
// it. While nobody comes, goes or joins, the steps of a batch that does not draft are one sum.
#pragma once
#include "sim/scheduler.h"

namespace draftline {

class StepExecutor {
 public:
  // All references must outlive the executor. `server`: its number, for the records.
  StepExecutor(int server, const Drafting&, RunningBatch&, KvBlockManager&, DraftChooser&, StepCost&, ServingFigures&);

  // Runs a plan that is not idle. Returns how long it took; each of its steps starts before `until`. InputErrors if the
  // price of a step is beyond simulated time.
  Ticks execute(const StepPlan&, Ticks now, Ticks until);

 private:
  StepRun prefill(const StepPlan&);
  StepRun single_step(const StepPlan&, Ticks now);
  StepRun steady_decode(const StepPlan&, Ticks now, Ticks until);
  std::int64_t draw_acceptance(int draft_length);
  Ticks wait_before_decoding(int draft_length);
  void record_gaps(Ticks now, const StepRun&);

  const int server_;
  const Drafting& drafting_;
  RunningBatch& running_;
  KvBlockManager& blocks_;
  DraftChooser& chooser_;
  StepCost& cost_;
  ServingFigures& figures_;
  Ticks prompt_time_ = 0;  // of steps that computed prompts alone, since the last decode step
  std::vector<int> accepted_;
};

}  // namespace draftline
