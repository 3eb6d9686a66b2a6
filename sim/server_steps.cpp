// SPDX-License-Identifier: Apache-2.0
// A server's steps: how long they take, who emits what, who leaves. sim/server.cpp decides what is in them.
#include <algorithm>
#include <cmath>
#include <utility>

#include "sim/server.h"

namespace draftline {

// As many steps of the batch as it is, at once: up to `until`, its first completion, the end of the price's cell or of
// the blocks.
void Server::decode_many(Ticks until) {
  if (!reserve_decoding(1)) return;  // who is left is looked at anew
  const auto n = static_cast<std::int64_t>(running_.size());
  const std::int64_t seats = std::max<std::int64_t>(n, seats_), context = context_ + seat_context_;
  const StepCost::Line line = cost_.decode(static_cast<int>(seats), 0, context);
  delay_ += after_prompts(static_cast<int>(seats), 0, context);
  const Ticks first = line.at(context) + n * cost_.token() + delay_, rise = line.per_token * n;
  std::int64_t steps = soonest();
  steps = std::min(steps, (line.to - context + n - 1) / n);
  steps = std::min(steps, chooser_.patience());
  if (delay_ > 0) steps = 1;
  // So that their sum fits: what comes then has its turn.
  const double last = static_cast<double>(first) + static_cast<double>(rise) * static_cast<double>(steps);
  constexpr double kMostAtOnce = 1e17;
  if (last * static_cast<double>(steps) > kMostAtOnce)
    steps = std::max<std::int64_t>(1, static_cast<std::int64_t>(kMostAtOnce / last));
  const auto lasts = [&](std::int64_t k) { return k * first + rise * (k * (k - 1) / 2); };
  const Ticks room = until - now_;  // steps start before it
  if (steps > 1 && lasts(steps - 1) >= room) {
    const double a = 0.5 * static_cast<double>(rise), b = static_cast<double>(first) - a, c = static_cast<double>(room);
    const double root = a > 0 ? (std::sqrt(b * b + 4 * a * c) - b) / (2 * a) : c / b;
    auto k = std::clamp<std::int64_t>(static_cast<std::int64_t>(root), 1, steps);
    while (k > 1 && lasts(k - 1) >= room) --k;
    while (k < steps && lasts(k) < room) ++k;
    steps = k;
  }
  const auto blocks_after =
      [&](std::int64_t k) {  // that are held after k steps: nothing is given back while one decodes
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < running_.size(); ++i)
          sum += std::max(running_.blocks[i], blocks_of(running_.length[i] + k));
        return sum;
      };
  const std::int64_t before = blocks_in_use();
  std::int64_t held = 0;  // by the running ones, shared ones each time
  for (const int blocks : running_.blocks) held += blocks;
  if (n * ((steps >> shift_) + 1) > free_) {
    std::int64_t high = steps, low = 1;  // low fits
    while (low < high) {
      const std::int64_t middle = (low + high + 1) / 2;
      if (blocks_after(middle) <= held + free_) low = middle;
      else high = middle - 1;
    }
    steps = low;
  }

  const auto k = static_cast<int>(steps);
  soonest_ -= k;
  std::int64_t blocks = 0;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    running_.length[i] += k;
    running_.left[i] -= k;
    const int needed = blocks_of(running_.length[i]);
    running_.blocks[i] = std::max(running_.blocks[i], needed);
    blocks += running_.blocks[i];
  }
  if (blocks > held) taken(blocks - held);
  const Ticks time = lasts(steps);
  if (paused_ == now_) {
    figures_.gaps(first, rise, steps, n);
  } else {
    for (const Sequence& s : running_.who) figures_.gaps(now_ + first - std::max(paused_, s.last_emission), 0, 1, 1);
    if (steps > 1) figures_.gaps(first + rise, rise, steps - 1, n);
  }
  context_ += n * steps;
  decode_steps_ += steps;
  ran(time, first, rise, steps, line.host * steps, 0, 0, n * steps, before);
  delay_ = 0;
  pass(time);
  paused_ = now_;
  chooser_.saw_idle(steps);
  if (drafting_.outcomes != nullptr) figures_.accepted(n * steps, n * steps);
  retire();
}

// All running sequences once, with the chunks that were planned.
void Server::one_step(int drafts, std::int64_t before) {
  const auto n = static_cast<int>(running_.size());
  const std::int64_t seats = std::max(n, seats_), context = context_ + seat_context_;
  const StepCost::Line line = cost_.decode(static_cast<int>(seats), drafts, context);
  const Ticks device = chunks_.empty() ? 0 : cost_.prefill(n, drafts, chunks_);
  if (n > 0) delay_ += after_prompts(static_cast<int>(seats), drafts, context);
  Ticks time = line.at(context) + std::max<Ticks>(0, device - line.slack) + delay_;
  if (n == 0) prompts_ += time;
  delay_ = 0;
  int prompt_tokens = 0;
  for (const Chunk& c : chunks_) prompt_tokens += c.tokens;

  std::int64_t emitted = n;
  if (drafts > 0) {
    accepted_.resize(static_cast<std::size_t>(n));
    emitted = 0;
    for (std::size_t i = 0; i < running_.size(); ++i) {
      const int done = running_.who[i].record.request.output - running_.left[i];
      const int would = drafting_.outcomes->accepted(running_.who[i].text, done - 1);
      accepted_[i] = std::min(would, drafts);
      emitted += std::min(accepted_[i] + 1, running_.left[i]);
    }
    chooser_.saw(drafts, accepted_);
  }
  time += emitted * cost_.token();
  if (n > 0 && drafting_.outcomes != nullptr) figures_.accepted(n, emitted);
  ran(time, time, 0, 1, line.host - std::min(device, line.slack), drafts, prompt_tokens, emitted, before);
  if (n > 0) decode_once(time, drafts);
  pass(time);
  if (n > 0) paused_ = now_;
  finish_chunks();
  retire();
}

Ticks Server::after_prompts(int sequences, int drafts, std::int64_t context) {
  const Ticks prompts = std::exchange(prompts_, 0);
  const int fresh = std::exchange(fresh_, 0);
  return prompts == 0 ? 0 : cost_.after_prompts(sequences, drafts, context, prompts, std::min(sequences, fresh));
}

// The tokens of one step, ragged.
void Server::decode_once(Ticks time, int drafts) {
  if (paused_ == now_) figures_.gaps(time, 0, 1, static_cast<std::int64_t>(running_.size()));
  else
    for (const Sequence& s : running_.who) figures_.gaps(now_ + time - std::max(paused_, s.last_emission), 0, 1, 1);
  ++decode_steps_;
  if (drafts == 0) {
    for (int& length : running_.length) ++length;
    for (int& left : running_.left) --left;
    context_ += static_cast<std::int64_t>(running_.size());
    if (soonest_ > 0) --soonest_;
    chooser_.saw_idle(1);
    return;
  }
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const int emitted = std::min(accepted_[i] + 1, running_.left[i]);
    running_.length[i] += emitted;
    running_.left[i] -= emitted;
    context_ += emitted;
  }
  soonest_ = -1;
}

void Server::finish_chunks() {
  for (std::size_t i = 0; i < chunk_tokens_.size(); ++i) prefilling_[i].who.computed += chunk_tokens_[i];
  while (!prefilling_.empty() && prefilling_.front().who.computed == prefilling_.front().who.to_compute) {
    Prefilling p = prefilling_.front();
    prefilling_.pop_front();
    Sequence& s = p.who;
    ++s.generated;
    if (s.record.first_token < 0) s.record.first_token = now_;
    else figures_.gaps(now_ - s.last_emission, 0, 1, 1);
    s.last_emission = now_;
    if (s.generated == s.record.request.output || handover_) {
      share_prompt(s);
      release(s, p.blocks);
      s.record.last_token = now_;
      if (s.generated == s.record.request.output) served(s);
      else handover_(s.record);
      continue;
    }
    share_prompt(s);
    join(p);
  }
  chunk_tokens_.clear();
}

void Server::join(Prefilling p) {
  Sequence& s = p.who;
  s.first_step = decode_steps_;
  s.swapped = false;
  const int length = s.to_compute;
  s.computed = length;
  running_.length.push_back(length);
  running_.left.push_back(s.record.request.output - s.generated);
  running_.blocks.push_back(p.blocks);
  context_ += length;
  if (soonest_ >= 0) soonest_ = std::min(soonest_, running_.left.back());
  running_.who.push_back(s);
  ++fresh_;
}

// Steps of one token until the first running sequence is done.
int Server::soonest() {
  if (soonest_ < 0) soonest_ = *std::min_element(running_.left.begin(), running_.left.end());
  return soonest_;
}

// Those that have emitted their last token leave.
void Server::retire() {
  if (running_.size() == 0 || soonest() > 0) return;
  soonest_ = -1;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    if (running_.left[i] == 0) {
      Sequence& s = running_.who[i];
      s.record.last_token = now_;
      s.record.steps += decode_steps_ - s.first_step;
      release(s, running_.blocks[i]);
      context_ -= running_.length[i];
      if (seats_ > 0) seat_context_ += running_.length[i];
      served(s);
      continue;
    }
    if (kept != i) {
      running_.length[kept] = running_.length[i];
      running_.left[kept] = running_.left[i];
      running_.blocks[kept] = running_.blocks[i];
      running_.who[kept] = running_.who[i];
    }
    ++kept;
  }
  running_.length.resize(kept);
  running_.left.resize(kept);
  running_.blocks.resize(kept);
  running_.who.resize(kept);
}

void Server::served(Sequence& s) {
  figures_.served(s.record);
  if (on_served) on_served(s.record);
}

void Server::ran(Ticks time, Ticks first, Ticks rise, std::int64_t steps, Ticks host, int drafts, int prompt_tokens,
                 std::int64_t emitted, std::int64_t before) {
  StepRun r{now_,
            first,
            rise,
            steps,
            static_cast<int>(running_.size()),
            drafts,
            prompt_tokens,
            static_cast<int>(waiting_.size()),
            index_,
            emitted,
            context_,
            blocks_in_use()};
  figures_.ran(r, time, host, 0.5 * static_cast<double>(before + r.kv_blocks));
}

}  // namespace draftline
