// SPDX-License-Identifier: Apache-2.0
// One serving engine: the scheduler plans a step, the executor runs it, and time moves to its end.
#pragma once
#include <functional>

#include "sim/step_executor.h"

namespace draftline {

class Server {
 public:
  // Told of a request whose prompt is computed, where another server decodes it (disaggregation).
  using Handover = std::function<void(const ServedRequest&)>;

  // Both references must outlive the server. `index`: its number, for the records.
  Server(int index, const SchedulerLimits&, const Drafting&, StepCost&, ServingFigures&);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  void submit(const Request&);  // after advance(its arrival)
  // A request that another server handed over; its keys and values arrive with it.
  void submit_prefilled(const ServedRequest&, Ticks arrival);
  void hand_over(Handover);
  // Runs all steps that start before `until`. InputErrors if time passes what can be simulated.
  void advance(Ticks until);
  void close() { scheduler_.close(); }  // no request comes any more: static batches need not wait until they are full

  int in_flight() const { return scheduler_.in_flight(); }
  int waiting() const { return scheduler_.waiting(); }
  std::int64_t outstanding_tokens() const { return scheduler_.outstanding_tokens(); }
  std::int64_t blocks_in_use() const { return blocks_.blocks_in_use(); }
  Ticks now() const { return now_; }
  std::function<void(const ServedRequest&)> on_served;  // a closed loop sends the next request

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
