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
  const double a = 0.5 * static_cast<double>(rise), b = static_cast<double>(first) - a, c = static_cast<double>(room);
  const double root = a > 0 ? (std::sqrt(b * b + 4 * a * c) - b) / (2 * a) : c / b;
  auto steps = std::clamp<std::int64_t>(static_cast<std::int64_t>(root), 1, most);
  while (steps > 1 && total_time(first, rise, steps - 1) >= room) --steps;  // the root is rounded
  while (steps < most && total_time(first, rise, steps) < room) ++steps;
  return steps;
}

// The number of `most` consecutive steps whose total time fits Ticks; at least one.
std::int64_t steps_whose_sum_fits(Ticks first, Ticks rise, std::int64_t most) {
  constexpr double kMostTicks = 1e17;
  const double last = static_cast<double>(first) + static_cast<double>(rise) * static_cast<double>(most);
  if (last * static_cast<double>(most) <= kMostTicks) return most;
  return std::max<std::int64_t>(1, static_cast<std::int64_t>(kMostTicks / last));
}

}  // namespace

StepExecutor::StepExecutor(int server, const Drafting& drafting, RunningBatch& running, KvBlockManager& blocks,
                           DraftChooser& chooser, StepCost& cost, ServingFigures& figures)
    : server_(server),
      drafting_(drafting),
      running_(running),
      blocks_(blocks),
      chooser_(chooser),
      cost_(cost),
      figures_(figures) {}

Ticks StepExecutor::execute(const StepPlan& plan, Ticks now, Ticks until) {
  StepRun run = plan.kind == StepPlan::Kind::prefill       ? prefill(plan)
                : plan.kind == StepPlan::Kind::single_step ? single_step(plan, now)
                                                           : steady_decode(plan, now, until);
  run.start = now;
  run.sequences = static_cast<int>(running_.size());
  run.drafts = plan.draft_length;
  for (const Chunk& c : plan.chunks) run.prompt_tokens += c.tokens;
  run.waiting = plan.waiting;
  run.server = server_;
  run.kv_blocks_before = plan.kv_blocks_in_use;
  run.kv_blocks = blocks_.blocks_in_use();
  figures_.record_step(run);
  return run.time();
}

StepRun StepExecutor::prefill(const StepPlan& plan) {
  const StepCost::Line line = cost_.decode(0, 0, 0);
  const Ticks device = cost_.prefill(0, 0, 0, plan.chunks);
  const Ticks time = line.at(0) + std::max<Ticks>(0, device - line.slack) + blocks_.take_swap_time();
  prompt_time_ += time;
  return {
      .first = time, .steps = 1, .context = running_.context(), .host_wait = line.host - std::min(device, line.slack)};
}

StepCost::Line StepExecutor::price(const StepPlan& plan, std::int64_t context) {
  if (plan.admitted.empty()) return cost_.decode(running_.slots(), plan.draft_length, context);
  const int verified = std::accumulate(plan.admitted.begin(), plan.admitted.end(), 0);
  const double each = static_cast<double>(verified) / running_.slots();
  return verifying(cost_, drafting_.lengths, running_.slots(), each, context);
}

StepRun StepExecutor::single_step(const StepPlan& plan, Ticks now) {
  const auto n = static_cast<int>(running_.size());
  const std::int64_t context = running_.slot_context();
  const StepCost::Line line = price(plan, context);
  const Ticks device = plan.chunks.empty() ? 0 : cost_.prefill(n, plan.draft_length, context, plan.chunks);
  const Ticks wait = wait_before_decoding(plan.draft_length);
  Ticks time = line.at(context) + std::max<Ticks>(0, device - line.slack) + wait;
  if (n == 0) prompt_time_ += time;
  const std::int64_t emitted = plan.draft_length > 0 ? draw_acceptance(plan) : n;
  time += emitted * cost_.token();

  const StepRun run{.first = time,
                    .steps = 1,
                    .emitted = emitted,
                    .context = running_.context(),
                    .host_wait = line.host - std::min(device, line.slack)};
  if (n == 0) return run;
  if (drafting_.outcomes != nullptr) figures_.record_acceptance(n, emitted);
  record_gaps(now, run);
  if (plan.draft_length > 0) {
    running_.emit_accepted(accepted_, now + time);
  } else {
    running_.emit(1, now + time);
    chooser_.record_plain_steps(1);
  }
  return run;
}

// Runs until `until`, the batch's first completion, the end of the price's linear piece, or the last free KV block.
StepRun StepExecutor::steady_decode(const StepPlan& plan, Ticks now, Ticks until) {
  const auto n = static_cast<std::int64_t>(running_.size());
  const std::int64_t context = running_.slot_context();
  const StepCost::Line line = cost_.decode(running_.slots(), plan.draft_length, context);
  const Ticks wait = wait_before_decoding(plan.draft_length);
  const Ticks first = line.at(context) + n * cost_.token() + wait, rise = line.per_token * n;

  std::int64_t steps = running_.steps_to_first_completion();
  steps = std::min(steps, (line.to - context + n - 1) / n);
  steps = std::min(steps, chooser_.steps_to_next_choice());
  if (wait > 0) steps = 1;
  steps = steps_whose_sum_fits(first, rise, steps);
  steps = steps_that_start_within(until - now, first, rise, steps);
  if (!blocks_.extend(running_, static_cast<int>(steps))) {
    steps = blocks_.steps_that_fit(running_, steps);
    check(blocks_.extend(running_, static_cast<int>(steps)), "a decode step was planned without KV blocks");
  }

  StepRun run{.first = first, .rise = rise, .steps = steps, .emitted = n * steps, .host_wait = line.host * steps};
  record_gaps(now, run);
  running_.emit(static_cast<int>(steps), now + run.time());
  run.context = running_.context();
  chooser_.record_plain_steps(steps);
  if (drafting_.outcomes != nullptr) figures_.record_acceptance(run.emitted, run.emitted);
  return run;
}

// Fills accepted_ and returns the number of tokens that the batch emits.
std::int64_t StepExecutor::draw_acceptance(const StepPlan& plan) {
  accepted_.resize(running_.size());
  std::int64_t emitted = 0;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const int would_accept =
        drafting_.outcomes->accepted(running_.sequences()[i].text, running_.generated(i) - 1, plan.draft_length);
    accepted_[i] = std::min(would_accept, plan.admitted.empty() ? plan.draft_length : plan.admitted[i]);
    emitted += std::min(accepted_[i] + 1, running_.remaining()[i]);
  }
  chooser_.record_acceptance(plan.draft_length, accepted_);
  return emitted;
}

// The time before a step decodes: copies of swapped blocks, and CPU caches that prompts left cold.
Ticks StepExecutor::wait_before_decoding(int draft_length) {
  const Ticks swap = blocks_.take_swap_time();
  if (running_.empty() || prompt_time_ == 0) return swap;
  const int joined = std::min(running_.slots(), running_.joined_since_emission());
  return swap + cost_.after_prompts(running_.slots(), draft_length, running_.slot_context(),
                                    std::exchange(prompt_time_, 0), joined);
}

void StepExecutor::record_gaps(Ticks now, const StepRun& run) {
  const auto n = static_cast<std::int64_t>(running_.size());
  if (running_.last_emission() == now) {
    figures_.record_gaps(run.first, run.rise, run.steps, n);
    return;
  }
  for (const Sequence& s : running_.sequences())
    figures_.record_gaps(now + run.first - std::max(running_.last_emission(), s.last_emission), 0, 1, 1);
  if (run.steps > 1) figures_.record_gaps(run.first + run.rise, run.rise, run.steps - 1, n);
}

}  // namespace draftline
