// SPDX-License-Identifier: Apache-2.0
// Executes a planned step: computes its time, draws the tokens that each sequence emits, and records both. Plain decode
// steps of an unchanged batch are executed together in closed form.
#pragma once
#include "sim/scheduler.h"

namespace draftline {

class StepExecutor {
 public:
  // All references must outlive the executor. `server`: its number in records.
  StepExecutor(int server, const Drafting&, RunningBatch&, KvBlockManager&, DraftChooser&, StepCost&, ServingFigures&);

  // Executes a plan that is not idle and returns the time that it took. Each of its steps starts before `until`. Throws
  // InputErrors if a step takes hours (core/clock).
  Ticks execute(const StepPlan&, Ticks now, Ticks until);

 private:
  StepRun prefill(const StepPlan&);
  StepRun single_step(const StepPlan&, Ticks now);
  StepRun steady_decode(const StepPlan&, Ticks now, Ticks until);
  StepCost::Line price(const StepPlan&, std::int64_t context);  // of a single step
  std::int64_t draw_acceptance(const StepPlan&);
  Ticks wait_before_decoding(int draft_length);
  void record_gaps(Ticks now, const StepRun&);

  const int server_;
  const Drafting& drafting_;
  RunningBatch& running_;
  KvBlockManager& blocks_;
  DraftChooser& chooser_;
  StepCost& cost_;
  ServingFigures& figures_;
  Ticks prompt_time_ = 0;  // of steps that only computed prompts, since the last decode step
  std::vector<int> accepted_;
};

}  // namespace draftline
