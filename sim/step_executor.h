// SPDX-License-Identifier: Apache-2.0
// Executes a planned step: computes its time, draws the tokens that each sequence emits, and records both. Plain decode
// steps of an unchanged batch are executed together in closed form. Steps of ranks that wait for each other are begun,
// set to a common time, and ended.
#pragma once
#include "sim/scheduler.h"

namespace draftline {

// Sets runs of steps that begin and end together to the time of the slowest run. Their number of steps is limited so
// that the same run is the slowest in all steps, no run is exceeded, and all steps start within `room`. There must be
// at least one run.
void step_together(std::span<StepRun* const>, Ticks room);

class StepExecutor {
 public:
  // All references must outlive the executor. `server`: its number in records.
  StepExecutor(int server, const Drafting&, RankState&, StepCost&, ServingFigures&);

  StepLoad load(const StepPlan&) const;
  // The additional time of the experts for the rows of all ranks, compared with equal rows on every rank; may be
  // negative. `mean`: the mean load per rank of the server.
  Ticks extra_expert_time(const StepPlan&, const StepLoad& mean) const;
  // The times of a plan that is not idle: of its step and of further steps while the batch does not change. `others`:
  // device time for the rows of other ranks. Throws InputErrors if a step takes hours (core/clock). The result is valid
  // until the next call, and its times may be changed before end().
  StepRun& begin(const StepPlan&, Ticks others);
  // The number of these steps, at least one, for which KV blocks are free.
  std::int64_t fitting(const StepPlan&, std::int64_t steps) const;
  // Allocates KV blocks for as many of these steps as possible and returns their number.
  std::int64_t reserve(const StepPlan&, std::int64_t steps);
  // Ends `steps` steps that began at `now`: their sequences emit tokens.
  void end(const StepPlan&, std::int64_t steps, Ticks now);

 private:
  void prefill(const StepPlan&, Ticks others);
  void single_step(const StepPlan&, Ticks others);
  void steady_decode(const StepPlan&, Ticks others);
  DecodeBatch decoding(int drafts) const;
  StepCost::Line price(const StepPlan&, const DecodeBatch&);  // for a single step
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
  Ticks prompt_time_ = 0;  // time of steps that only computed prompts since the last decode step
  StepRun run_;
  std::vector<int> accepted_, positions_;
};

}  // namespace draftline
