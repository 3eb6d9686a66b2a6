// SPDX-License-Identifier: Apache-2.0
#include "sim/server.h"

#include <algorithm>
#include <utility>

#include "sim/load_balancing.h"

namespace draftline {

struct Server::DataParallelRank {
  DataParallelRank(int number, const SchedulerLimits& limits, const Drafting& drafting, StepCost& cost,
                   ServingFigures& figures)
      : index(number),
        state(limits, drafting, cost),
        scheduler(limits, drafting, state, figures),
        executor(index, drafting, state, cost, figures) {}
  int in_flight() const { return scheduler.in_flight(); }
  std::int64_t outstanding_tokens() const { return scheduler.outstanding_tokens(); }

  const int index;
  RankState state;
  Scheduler scheduler;
  StepExecutor executor;
  const StepPlan* plan = nullptr;  // of the next step, or of the one that is being run
  std::span<const ServedRequest> served;
};

Server::Server(int first, int ranks, const FleetShape& shape, const SchedulerLimits& limits, const Drafting& drafting,
               StepCost& cost, ServingFigures& figures)
    : limits_(limits), drafting_(drafting), between_parts_(shape.between_parts), figures_(figures) {
  for (int i = 0; i < ranks; ++i)
    ranks_.push_back(std::make_unique<DataParallelRank>(first + i, limits_, drafting_, cost, figures));
}
Server::~Server() = default;

// ---- requests

Sequence Server::sequence_of(const Request& r, int server) const {
  Sequence s;
  s.record.request = r;
  s.record.server = server;
  s.prefill_tokens = r.prompt;
  if (drafting_.outcomes != nullptr) s.text = drafting_.outcomes->text(drafting_.seed, r.id, r.prompt, r.output);
  return s;
}

Server::DataParallelRank& Server::next_rank() { return chosen_by(between_parts_, ranks_, turn_++); }

void Server::enqueue(DataParallelRank& rank, const Sequence& s, Ticks arrival) {
  const bool idle = std::ranges::none_of(ranks_, [](const auto& p) { return p->scheduler.anything_runs(); });
  if (idle) now_ = std::max(now_, arrival);  // the clock of an idle server does not advance
  rank.scheduler.submit(s);
}

void Server::submit(const Request& r) {
  DataParallelRank& rank = next_rank();
  enqueue(rank, sequence_of(r, rank.index), r.arrival);
}

void Server::submit_prefilled(const ServedRequest& record) {
  DataParallelRank& rank = next_rank();
  Sequence s = sequence_of(record.request, rank.index);
  s.record = record;
  s.record.server = rank.index;
  s.generated = 1;
  s.swapped = true;
  s.last_emission = record.first_token;
  enqueue(rank, s, record.first_token);
}

void Server::hand_over(Handover handover) {
  handover_ = std::move(handover);
  for (const auto& p : ranks_) p->scheduler.set_prefill_only();
}

void Server::close() {
  for (const auto& p : ranks_) p->scheduler.close();
}

void Server::leave(const ServedRequest& r) {
  if (handover_ && r.request.output > 1) {  // more tokens remain to be decoded
    handover_(r);
    return;
  }
  figures_.record_request(r);
  if (on_served) on_served(r);
}

// ---- steps

// As TensorRT-LLM with attention_dp_config: enable_balance and timeout_iters. While all ranks decode, prompts wait
// until each rank has one, so that no rank waits for the prompts of another.
bool Server::hold_prompts() {
  if (held_ >= limits_.attention_dp_timeout) return held_ = 0, false;
  const auto with = [&](auto holds) {
    return std::ranges::count_if(ranks_, [&](const auto& p) { return holds(p->scheduler); });
  };
  const auto all = std::ssize(ranks_);
  const auto prompts = with([](auto& s) { return s.could_admit(); });
  const bool hold = prompts > 0 && prompts < all && with([](auto& s) { return s.decodes(); }) == all;
  held_ = hold ? held_ + 1 : 0;
  return hold;
}

// Whether any rank has something to run.
bool Server::plan() {
  running_.clear();
  const bool hold = hold_prompts();
  for (const auto& p : ranks_) {
    p->plan = &p->scheduler.schedule(now_, hold);
    if (p->plan->kind != StepPlan::Kind::idle) running_.push_back(p.get());
  }
  return !running_.empty();
}

// The mean load of a rank, which is what experts see, rounded up: a rank without requests runs a row for the others.
StepLoad Server::mean_load() const {
  StepLoad sum;
  for (const DataParallelRank* p : running_) {
    const StepLoad one = p->executor.load(*p->plan);
    sum.sequences += one.sequences;
    sum.prompt_tokens += one.prompt_tokens;
    sum.drafts = std::max(sum.drafts, one.drafts);
  }
  const auto ranks = count(ranks_);
  return {(sum.sequences + ranks - 1) / ranks, sum.drafts, (sum.prompt_tokens + ranks - 1) / ranks};
}

std::int64_t Server::step(Ticks until) {
  const bool alone = ranks_.size() == 1;
  const StepLoad mean = alone ? StepLoad{} : mean_load();
  runs_.clear();
  for (DataParallelRank* p : running_)
    runs_.push_back(&p->executor.begin(*p->plan, alone ? 0 : p->executor.extra_expert_time(*p->plan, mean)));
  step_together(runs_, until - now_);
  std::int64_t steps = runs_.front()->steps;
  if (running_.size() > 1)
    for (const DataParallelRank* p : running_) steps = p->executor.fitting(*p->plan, steps);
  for (DataParallelRank* p : running_) steps = p->executor.reserve(*p->plan, steps);
  for (DataParallelRank* p : running_) p->executor.end(*p->plan, steps, now_);
  const Ticks time = runs_.front()->time();
  figures_.record_dummy_batches(to_int64(ranks_.size() - running_.size()) * time);
  now_ += time;
  return steps;
}

void Server::advance(Ticks until) {
  until_ = until;
  while (now_ < until_) {
    if (!plan()) return;
    const std::int64_t steps = step(until_);
    if (now_ > to_ticks(kLongestTime))
      throw InputErrors("this server needs more than " + to_text(kLongestTime) +
                        " for the workload, which is beyond simulated time");
    for (DataParallelRank* p : running_) p->served = p->scheduler.finish_step(now_, steps);
    for (const DataParallelRank* p : running_)
      for (const ServedRequest& r : p->served) leave(r);
  }
}

// ---- load

int Server::in_flight() const {
  int sum = 0;
  for (const auto& p : ranks_) sum += p->in_flight();
  return sum;
}

int Server::waiting() const {
  int sum = 0;
  for (const auto& p : ranks_) sum += p->scheduler.waiting();
  return sum;
}

std::int64_t Server::outstanding_tokens() const {
  std::int64_t sum = 0;
  for (const auto& p : ranks_) sum += p->outstanding_tokens();
  return sum;
}

Demand Server::demand() const {
  Demand all;
  for (const auto& p : ranks_) {
    all.add(p->scheduler.demand());
    all.add(p->state.blocks.demand());
  }
  return all;
}

std::int64_t Server::blocks_in_use() const {
  std::int64_t sum = 0;
  for (const auto& p : ranks_) sum += p->state.blocks.blocks_in_use();
  return sum;
}

}  // namespace draftline
