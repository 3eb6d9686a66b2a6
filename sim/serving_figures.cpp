// SPDX-License-Identifier: Apache-2.0
#include "sim/serving_figures.h"

namespace draftline {

namespace {
double share(double part, double whole) { return whole > 0 ? part / whole : 0; }

// The tokens that a request emits after a time, if it emits them evenly from the first to the last.
double tokens_after(Ticks time, const ServedRequest& r) {
  const Ticks span = r.last_token - r.first_token, after = r.last_token - std::max(time, r.first_token);
  if (after <= 0) return 0;
  return r.request.output * share(to_double(after), to_double(span));
}
}  // namespace

void ServingFigures::record_arrival(const Request& r) {
  first_arrival = std::min(first_arrival, r.arrival);
  last_arrival = std::max(last_arrival, r.arrival);
  longest_text = std::max(longest_text, std::int64_t{r.prompt} + r.output);
  if (r.id >= warm_up_) begin = std::min(begin.value_or(r.arrival), r.arrival);
}

void ServingFigures::record_request(const ServedRequest& r) {
  events_.add(r.request.id);
  events_.add(r.first_token);
  events_.add(r.last_token);
  all_tokens += r.request.output;
  end = std::max(end, r.last_token);
  in_system_ += to_double(r.last_token - r.request.arrival);
  if (r.request.id < warm_up_) {
    if (begin) warm_up_tokens_ += tokens_after(*begin, r);
  } else {
    ++requests;
    output_tokens += r.request.output;
    prompt_tokens += r.request.prompt;
    const Ticks first = front_end_ + r.first_token - r.request.arrival,
                whole = front_end_ + r.last_token - r.request.arrival;
    const Ticks each = r.request.output > 1 ? (r.last_token - r.first_token) / (r.request.output - 1) : 0;
    ttft.add(first);
    e2e.add(whole);
    queueing.add(r.started - r.request.arrival);
    if (r.request.output > 1) tpot.add(each);
    bool good = true;
    for (std::size_t i = 0; i < late_.size(); ++i) {
      const LatencyTargets::Target& t = targets_->targets[i];
      const Ticks mine = t.of == LatencyTargets::Target::Of::ttft   ? first
                         : t.of == LatencyTargets::Target::Of::tpot ? each
                                                                    : whole;
      good = good && mine <= to_ticks(t.limit);
      late_[i] += Histogram::middle(mine) > t.limit ? 1 : 0;
    }
    good_requests += good ? 1 : 0;
  }
  if (observer_ == nullptr) return;
  ServedRequest seen = r;  // by its client
  seen.first_token += front_end_;
  seen.last_token += front_end_;
  observer_->on_request(seen);
}

void ServingFigures::record_step(const StepRun& r) {
  const auto time = to_double(r.time());
  steps += r.steps;
  busy_ += time;
  host_ += to_double(r.host_wait);
  block_time_ += 0.5 * to_double(r.kv_blocks_before + r.kv_blocks) * time;
  most_blocks = std::max(most_blocks, r.kv_blocks);
  if (observer_ != nullptr) observer_->on_step(r);
}

double ServingFigures::acceptance_length() const {
  return sequence_steps_ == 0 ? 1 : to_double(decoded_) / to_double(sequence_steps_);
}
double ServingFigures::busy_share(int servers) const { return share(busy_, servers * to_double(end - first_arrival)); }
double ServingFigures::host_share(int servers) const { return share(host_, servers * to_double(end - first_arrival)); }
double ServingFigures::mean_blocks(int servers) const {
  return share(block_time_, servers * to_double(end - first_arrival));
}
double ServingFigures::mean_in_system() const { return share(in_system_, to_double(end - first_arrival)); }

double ServingFigures::share_after_arrivals() const {
  return begin ? share(to_double(end - last_arrival), to_double(end - *begin)) : 0;
}

const Histogram& ServingFigures::latency(LatencyTargets::Target::Of of) const {
  return of == LatencyTargets::Target::Of::ttft ? ttft : of == LatencyTargets::Target::Of::tpot ? tpot : e2e;
}

Seconds ServingFigures::value_of(const LatencyTargets::Target& t) const {
  const Histogram& h = latency(t.of);
  return t.share == 0 ? h.mean() : h.quantile(t.share);
}

bool ServingFigures::sure_to_miss(std::int64_t requests) const {
  for (std::size_t i = 0; i < late_.size(); ++i) {
    const LatencyTargets::Target& t = targets_->targets[i];
    if (t.share == 0 ? latency(t.of).mean_of(requests) > t.limit
                     : late_[i] > requests - Histogram::rank(t.share, requests))
      return true;
  }
  return false;
}

}  // namespace draftline
