// SPDX-License-Identifier: Apache-2.0
// One serving engine: the scheduler plans a step, the executor runs it, and time moves to its end. With data-parallel
// attention it has several ranks, each with a scheduler, a queue and a KV pool, and a router assigns each request to a
// rank. All ranks step together, because the experts compute the rows of all ranks: a step lasts as long as that of the
// slowest rank.
#pragma once
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include "sim/step_executor.h"

namespace draftline {

class Server {
 public:
  // Receives each request whose prompt this server has computed and another server decodes (disaggregation).
  using Handover = std::function<void(const ServedRequest&)>;

  // The costs and figures must outlive the server; the other arguments are copied. `first`: the number of its first
  // rank in records; the others follow. The limits apply to each rank.
  Server(int first, int ranks, const FleetShape&, const SchedulerLimits&, const Drafting&, StepCost&, ServingFigures&);
  ~Server();

  void submit(const Request&);  // call advance(arrival of the request) first
  // Submits a request whose prompt another server has computed. Keys and values arrive at the time of the first token.
  void submit_prefilled(const ServedRequest&);
  void hand_over(Handover);  // makes this a prefill server
  // Runs all steps that start before `until` or the time of stop_at(). Throws InputErrors beyond the range of simulated
  // time (core/clock), and like Scheduler::schedule() and StepExecutor::begin().
  void advance(Ticks until);
  void stop_at(Ticks t) { until_ = std::min(until_, t); }  // from a callback: advance() runs no step from `t` on
  void close();  // no more requests will arrive: static batches may be partly full

  int in_flight() const;
  int waiting() const;
  std::int64_t outstanding_tokens() const;
  std::int64_t blocks_in_use() const;
  Demand demand() const;
  Ticks now() const { return now_; }
  // Called for each finished request; a closed loop then sends the next request.
  std::function<void(const ServedRequest&)> on_served;

 private:
  struct DataParallelRank;
  Sequence sequence_of(const Request&, int server) const;
  DataParallelRank& next_rank();
  void enqueue(DataParallelRank&, const Sequence&, Ticks arrival);
  bool plan();
  bool hold_prompts();
  StepLoad mean_load() const;
  std::int64_t step(Ticks until);  // returns the number of steps
  void leave(const ServedRequest&);

  const SchedulerLimits limits_;
  const Drafting drafting_;
  const FleetShape::Routing between_parts_;
  ServingFigures& figures_;
  std::vector<std::unique_ptr<DataParallelRank>> ranks_;
  std::vector<DataParallelRank*> running_;  // the ranks that run in the planned step
  std::vector<StepRun*> runs_;              // of running_, in that order
  Handover handover_;
  std::int64_t turn_ = 0;
  int held_ = 0;  // steps
  Ticks now_ = 0, until_ = 0;
};

}  // namespace draftline
