// SPDX-License-Identifier: Apache-2.0
// Executes a planned step: computes its time, draws the tokens that each sequence emits, and records both. Plain decode
// steps of an unchanged batch are executed together in closed form. Steps of parts that wait for each other are begun,
// given one time, and ended.
#pragma once
#include "sim/scheduler.h"

namespace draftline {

// Gives steps that begin and end together the time of the slowest. So many of them are taken that the same one is the
// slowest in all, each run allows it, and they start within `room`. At least one run.
void step_together(std::span<StepRun* const>, Ticks room);

class StepExecutor {
 public:
  // All references must outlive the executor. `server`: its number in records.
  StepExecutor(int server, const Drafting&, RankState&, StepCost&, ServingFigures&);

  StepLoad load(const StepPlan&) const;
  // How much longer the experts take for the rows of all parts than if each had this one's rows; less is negative.
  // `mean`: the load of all parts of the server, of each on average.
  Ticks extra_expert_time(const StepPlan&, const StepLoad& mean) const;
  // The time of a plan that is not idle, of one step and of as many more as its batch stays as it is. `others`: device
  // time for the rows of other parts. Throws InputErrors if a step takes hours (core/clock). The result is valid until
  // the next call, and its times may be changed before end().
  StepRun& begin(const StepPlan&, Ticks others);
  // The number of these steps for which there are KV blocks; at least one.
  std::int64_t fitting(const StepPlan&, std::int64_t steps) const;
  // Allocates KV blocks for as many of these steps as there are any for, and returns their number.
  std::int64_t reserve(const StepPlan&, std::int64_t steps);
  // Ends `steps` steps that began at `now`: their sequences emit tokens.
  void end(const StepPlan&, std::int64_t steps, Ticks now);

 private:
  void prefill(const StepPlan&, Ticks others);
  void single_step(const StepPlan&, Ticks others);
  void steady_decode(const StepPlan&, Ticks others);
  DecodeBatch decoding(int drafts) const;
  StepCost::Line price(const StepPlan&, const DecodeBatch&);  // of a single step
  std::int64_t draw_acceptance(const StepPlan&);
  Ticks wait_before_decoding(const DecodeBatch&);
  void record_gaps(Ticks now);

  const int server_;
  const Drafting& drafting_;
  RunningBatch& running_;
  KvBlockManager& blocks_;
  DraftChooser& chooser_;
  StepCost& cost_;
  ServingFigures& figures_;
  Ticks prompt_time_ = 0;  // of steps that only computed prompts, since the last decode step
  StepRun run_;
  std::vector<int> accepted_, positions_;
};

}  // namespace draftline
