// SPDX-License-Identifier: Apache-2.0
// One serving engine: the scheduler plans a step, the executor runs it, and time moves to its end.
#pragma once
#include <functional>

#include "sim/step_executor.h"

namespace draftline {

class Server {
 public:
  // Receives each request whose prompt this server has computed and another server decodes (disaggregation).
  using Handover = std::function<void(const ServedRequest&)>;

  // The costs and figures must outlive the server; the other arguments are copied. `index`: its number in records.
  Server(int index, const SchedulerLimits&, const Drafting&, StepCost&, ServingFigures&);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void submit(const Request&);  // call advance(arrival of the request) first
  // Submits a request whose prompt another server has computed; its keys and values arrive at `arrival`.
  void submit_prefilled(const ServedRequest&, Ticks arrival);
  void hand_over(Handover);  // makes this a prefill server
  // Runs all steps that start before `until`. Throws InputErrors beyond simulated time (core/clock), and as
  // Scheduler::schedule() and StepExecutor::execute() do.
  void advance(Ticks until);
  void close() { scheduler_.close(); }  // no more requests will arrive, so that static batches need not be full

  int in_flight() const { return scheduler_.in_flight(); }
  int waiting() const { return scheduler_.waiting(); }
  std::int64_t outstanding_tokens() const { return scheduler_.outstanding_tokens(); }
  std::int64_t blocks_in_use() const { return blocks_.blocks_in_use(); }
  Ticks now() const { return now_; }
  std::function<void(const ServedRequest&)>
      on_served;  // called for each finished request; a closed loop sends the next

 private:
  Sequence sequence_of(const Request&) const;
  void enqueue(const Sequence&, Ticks arrival);
  void leave(const ServedRequest&);

  const int index_;
  const SchedulerLimits limits_;
  const Drafting drafting_;
  ServingFigures& figures_;
  RunningBatch running_;
  KvBlockManager blocks_;
  DraftChooser chooser_;
  Scheduler scheduler_;
  StepExecutor executor_;
  Handover handover_;
  Ticks now_ = 0;
};

}  // namespace draftline
