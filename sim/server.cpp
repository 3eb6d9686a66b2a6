// SPDX-License-Identifier: Apache-2.0
#include "sim/server.h"

#include <algorithm>
#include <utility>

namespace draftline {

Server::Server(int index, const SchedulerLimits& limits, const Drafting& drafting, StepCost& cost,
               ServingFigures& figures)
    : index_(index),
      limits_(limits),
      drafting_(drafting),
      figures_(figures),
      blocks_(limits_),
      chooser_(drafting_.policy, drafting_.lengths, cost),
      scheduler_(limits_, drafting_, running_, blocks_, chooser_, figures),
      executor_(index, drafting_, running_, blocks_, chooser_, cost, figures) {}

Sequence Server::sequence_of(const Request& r) const {
  Sequence s;
  s.record.request = r;
  s.record.server = index_;
  s.record.started = s.record.first_token = -1;
  s.prefill_tokens = r.prompt;
  if (drafting_.outcomes != nullptr) s.text = drafting_.outcomes->text(drafting_.seed, r.id, r.prompt);
  return s;
}

void Server::enqueue(const Sequence& s, Ticks arrival) {
  if (!scheduler_.anything_runs()) now_ = std::max(now_, arrival);  // the clock of an idle server does not advance
  scheduler_.submit(s);
}

void Server::submit(const Request& r) { enqueue(sequence_of(r), r.arrival); }

void Server::submit_prefilled(const ServedRequest& record, Ticks arrival) {
  Sequence s = sequence_of(record.request);
  s.record = record;
  s.record.server = index_;
  s.generated = 1;
  s.swapped = true;
  s.last_emission = record.first_token;
  enqueue(s, arrival);
}

void Server::hand_over(Handover handover) {
  handover_ = std::move(handover);
  scheduler_.set_prefill_only();
}

void Server::advance(Ticks until) {
  while (now_ < until) {
    const StepPlan plan = scheduler_.schedule(now_);
    if (plan.kind == StepPlan::Kind::idle) return;
    now_ += executor_.execute(plan, now_, until);
    if (now_ > to_ticks(kLongestTime))
      throw InputErrors("the workload takes this server more than " + to_text(kLongestTime) +
                        ": beyond simulated time");
    for (const ServedRequest& r : scheduler_.finish_step(now_)) leave(r);
  }
}

void Server::leave(const ServedRequest& r) {
  if (handover_ && r.request.output > 1) {  // more tokens remain to be decoded
    handover_(r);
    return;
  }
  figures_.record_request(r);
  if (on_served) on_served(r);
}

}  // namespace draftline
