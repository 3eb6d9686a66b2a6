// SPDX-License-Identifier: Apache-2.0
#include "sim/step_executor.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/prefix_admission.h"

namespace draftline {

namespace {

// The number of `most` consecutive steps that start within `room`; at least one. Times as in total_time().
std::int64_t steps_that_start_within(Ticks room, Ticks first, Ticks rise, std::int64_t most) {
  if (most == 1 || total_time(first, rise, most - 1) < room) return most;
  const double a = 0.5 * to_double(rise), b = to_double(first) - a, c = to_double(room);
  const double root = a > 0 ? (std::sqrt(b * b + 4 * a * c) - b) / (2 * a) : c / b;
  auto steps = std::clamp<std::int64_t>(to_int64(root), 1, most);
  while (steps > 1 && total_time(first, rise, steps - 1) >= room) --steps;  // the root is rounded
  while (steps < most && total_time(first, rise, steps) < room) ++steps;
  return steps;
}

// The number of `most` consecutive steps whose total time fits Ticks; at least one.
std::int64_t steps_whose_sum_fits(Ticks first, Ticks rise, std::int64_t most) {
  constexpr double kMostTicks = 1e17;
  const double last = to_double(first) + to_double(rise) * to_double(most);
  if (last * to_double(most) <= kMostTicks) return most;
  return std::max<std::int64_t>(1, to_int64(kMostTicks / last));
}

// The exposed host time of a step to which prompt chunks or other ranks' experts add `device` of device time and
// `more_host` of host time.
Ticks host_wait(const StepCost::Line& line, Ticks device, Ticks more_host = 0) {
  return line.host - std::clamp<Ticks>(device, 0, line.slack) + line.longer(device, more_host) - line.longer(device);
}

}  // namespace

void step_together(std::span<StepRun* const> runs, Ticks room) {
  const auto slower = [](const StepRun* a, const StepRun* b) {
    return a->first != b->first ? a->first < b->first : a->rise < b->rise;
  };
  const StepRun& slowest = **std::ranges::max_element(runs, slower);
  const Ticks first = slowest.first, rise = slowest.rise;
  std::int64_t steps = slowest.steps;
  for (const StepRun* r : runs) {
    steps = std::min(steps, r->steps);
    if (r->rise > rise) steps = std::min(steps, (first - r->first) / (r->rise - rise) + 1);
  }
  if (steps > 1) {
    steps = steps_whose_sum_fits(first, rise, steps);
    steps = steps_that_start_within(room, first, rise, steps);
  }
  for (StepRun* r : runs) r->first = first, r->rise = rise, r->steps = steps;
}

StepExecutor::StepExecutor(int server, const Drafting& drafting, RankState& rank, StepCost& cost,
                           ServingFigures& figures)
    : server_(server),
      drafting_(drafting),
      running_(rank.running),
      blocks_(rank.blocks),
      chooser_(rank.chooser),
      cost_(cost),
      figures_(figures) {}

StepLoad StepExecutor::load(const StepPlan& plan) const {
  StepLoad load;
  if (plan.kind == StepPlan::Kind::idle) return load;
  if (plan.kind != StepPlan::Kind::prefill) load = {running_.slots(), plan.draft_length};
  for (const Chunk& c : plan.chunks) load.prompt_tokens += c.tokens;
  return load;
}

Ticks StepExecutor::extra_expert_time(const StepPlan& plan, const StepLoad& mean) const {
  const StepLoad own = load(plan);
  return mean == own ? 0 : cost_.shared_time(mean) - cost_.shared_time(own);
}

StepRun& StepExecutor::begin(const StepPlan& plan, Ticks others) {
  run_ = {.steps = 1, .drafts = plan.draft_length, .waiting = plan.waiting, .server = server_};
  run_.kv_blocks_before = plan.kv_blocks_in_use;
  for (const Chunk& c : plan.chunks) run_.prompt_tokens += c.tokens;
  if (plan.kind == StepPlan::Kind::prefill) prefill(plan, others);
  else if (plan.kind == StepPlan::Kind::single_step) single_step(plan, others);
  else steady_decode(plan, others);
  return run_;
}

std::int64_t StepExecutor::fitting(const StepPlan& plan, std::int64_t steps) const {
  return plan.kind == StepPlan::Kind::steady_decode ? blocks_.steps_that_fit(running_, steps) : steps;
}

std::int64_t StepExecutor::reserve(const StepPlan& plan, std::int64_t steps) {
  if (plan.kind != StepPlan::Kind::steady_decode || blocks_.extend(running_, to_int(steps))) return steps;
  const std::int64_t fit = blocks_.steps_that_fit(running_, steps);
  check(blocks_.extend(running_, to_int(fit)), "a decode step was planned without KV blocks");
  return fit;
}

void StepExecutor::end(const StepPlan& plan, std::int64_t steps, Ticks now) {
  const bool steady = plan.kind == StepPlan::Kind::steady_decode;
  run_.steps = steps;
  run_.start = now;
  run_.emitted *= steps;
  run_.host_wait *= steps;
  run_.context = running_.context();
  if (plan.kind == StepPlan::Kind::prefill || running_.empty()) {
    prompt_time_ += run_.first;
  } else {
    if (drafting_.outcomes != nullptr) figures_.record_acceptance(std::ssize(running_) * steps, run_.emitted);
    record_gaps(now);
    if (plan.draft_length > 0) running_.emit_accepted(accepted_, now + run_.time());
    else running_.emit(to_int(steps), now + run_.time());
    if (plan.draft_length == 0) chooser_.record_plain_steps(steps);
  }
  if (steady) run_.context = running_.context();
  run_.sequences = count(running_);
  run_.kv_blocks = blocks_.blocks_in_use();
  if (!steady) run_.kv_blocks_before = run_.kv_blocks;  // allocated before the step
  figures_.record_step(run_);
}

void StepExecutor::prefill(const StepPlan& plan, Ticks others) {
  const StepCost::Line line = cost_.decode({});
  const StepCost::Prompts prompts = cost_.prefill({}, plan.chunks);
  const Ticks device = prompts.device + others;
  run_.first = line.at(0) + line.longer(device, prompts.host) + blocks_.take_swap_time();
  run_.host_wait = host_wait(line, device, prompts.host);
}

DecodeBatch StepExecutor::decoding(int drafts) const { return {running_.slots(), drafts, running_.slot_context()}; }

StepCost::Line StepExecutor::price(const StepPlan& plan, const DecodeBatch& batch) {
  if (plan.admitted.empty()) return cost_.decode(batch);
  const int verified = std::accumulate(plan.admitted.begin(), plan.admitted.end(), 0);
  const double each = to_double(verified) / batch.sequences;
  return verifying(cost_, drafting_.lengths, batch, each);
}

void StepExecutor::single_step(const StepPlan& plan, Ticks others) {
  const DecodeBatch batch = decoding(plan.draft_length);
  const StepCost::Line line = price(plan, batch);
  const StepCost::Prompts prompts = plan.chunks.empty() ? StepCost::Prompts{} : cost_.prefill(batch, plan.chunks);
  const Ticks device = prompts.device + others, wait = wait_before_decoding(batch);
  run_.emitted = plan.draft_length > 0 ? draw_acceptance(plan) : std::ssize(running_);
  run_.first = line.at(batch.context) + line.longer(device, prompts.host) + wait + run_.emitted * cost_.token();
  run_.host_wait = host_wait(line, device, prompts.host);
}

// Up to the batch's first completion or the end of the price's linear piece.
void StepExecutor::steady_decode(const StepPlan& plan, Ticks others) {
  const auto n = std::ssize(running_);
  const DecodeBatch batch = decoding(plan.draft_length);
  const StepCost::Line line = cost_.decode(batch);
  const Ticks wait = wait_before_decoding(batch);
  std::int64_t steps = running_.steps_to_first_completion();
  steps = std::min(steps, (line.to - batch.context + n - 1) / n);
  steps = std::min(steps, chooser_.steps_to_next_choice());
  run_.steps = wait > 0 ? 1 : steps;
  run_.first = line.at(batch.context) + line.longer(others) + n * cost_.token() + wait;
  run_.rise = line.per_token * n;
  run_.emitted = n;
  run_.host_wait = host_wait(line, others);
}

// Fills accepted_ and returns the number of tokens that the batch emits.
std::int64_t StepExecutor::draw_acceptance(const StepPlan& plan) {
  accepted_.resize(running_.size());
  positions_.resize(running_.size());
  // The usual length is a mean where drafts vary, so that recorded steps are not cut there.
  const int drafts = plan.draft_length < drafting_.draft_length ? plan.draft_length : drafting_.outcomes->depth();
  const std::span<const int> remaining = running_.remaining(), outputs = running_.outputs(), admitted = plan.admitted;
  const std::span<int> accepted = accepted_, positions = positions_;
  for (std::size_t i = 0; i < positions.size(); ++i) positions[i] = outputs[i] - remaining[i] - 1;
  drafting_.outcomes->accepted(running_.texts(), positions, plan.draft_length, accepted);
  if (!admitted.empty())
    for (std::size_t i = 0; i < accepted.size(); ++i) accepted[i] = std::min(accepted[i], admitted[i]);
  int emitted = 0;
  for (std::size_t i = 0; i < accepted.size(); ++i) {
    if (admitted.empty()) accepted[i] = std::min(accepted[i], drafts);
    emitted += std::min(accepted[i] + 1, remaining[i]);
  }
  chooser_.record_acceptance(plan.draft_length, accepted_);
  return emitted;
}

// The time before a step decodes: copies of swapped blocks, and CPU caches that prompts left cold.
Ticks StepExecutor::wait_before_decoding(const DecodeBatch& batch) {
  const Ticks swap = blocks_.take_swap_time();
  if (running_.empty() || prompt_time_ == 0) return swap;
  const auto joined = count(running_.joined_since_emission());
  return swap + cost_.after_prompts(batch, std::exchange(prompt_time_, 0), joined);
}

// The first gap of a sequence that has joined began elsewhere: at its first token, or before it was swapped out.
void StepExecutor::record_gaps(Ticks now) {
  const auto joined = running_.joined_since_emission();
  const auto all = std::ssize(running_), others = all - std::ssize(joined);
  if (joined.empty() && running_.last_emission() == now) {
    figures_.record_gaps(run_.first, run_.rise, run_.steps, all);
    return;
  }
  if (others > 0) figures_.record_gaps(now - running_.last_emission() + run_.first, 0, 1, others);
  for (const Ticks last : joined) figures_.record_gaps(now - last + run_.first, 0, 1, 1);
  if (run_.steps > 1) figures_.record_gaps(run_.first + run_.rise, run_.rise, run_.steps - 1, all);
}

}  // namespace draftline
