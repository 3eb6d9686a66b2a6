// SPDX-License-Identifier: Apache-2.0
#include "sim/server.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace draftline {

Server::Server(int index, const SchedulerLimits& limits, const Drafting& drafting, StepCost& cost,
               ServingFigures& figures)
    : index_(index),
      shift_(std::countr_zero(static_cast<unsigned>(limits.block_size))),
      limits_(limits),
      drafting_(drafting),
      cost_(cost),
      figures_(figures),
      chooser_(drafting_.policy, drafting_.lengths, cost),
      free_(limits.kv_blocks) {}

// ---- who comes

void Server::submit(const Request& r) {
  Sequence s;
  s.record.request = r;
  s.record.server = index_;
  s.record.started = s.record.first_token = -1;
  s.to_compute = r.prompt;
  if (drafting_.outcomes != nullptr) s.text = drafting_.outcomes->text(drafting_.seed, r.id);
  if (running_.size() == 0 && prefilling_.empty()) now_ = std::max(now_, r.arrival);  // it stood still
  waiting_.push_back(std::move(s));
}

void Server::submit_prefilled(const ServedRequest& record, Ticks arrival) {
  submit(record.request);
  Sequence& s = waiting_.back();
  s.record = record;
  s.record.server = index_;
  s.generated = 1;
  s.swapped = true;  // its blocks come from elsewhere; their way is paid
  s.last_emission = record.first_token;
  if (running_.size() == 0 && prefilling_.empty()) now_ = std::max(now_, arrival);
}

std::int64_t Server::outstanding_tokens() const {
  std::int64_t tokens = 0;
  for (const Sequence& s : waiting_) tokens += s.to_compute - s.computed + s.record.request.output - s.generated;
  for (const Prefilling& p : prefilling_)
    tokens += p.who.to_compute - p.who.computed + p.who.record.request.output - p.who.generated;
  for (const int left : running_.left) tokens += left;
  return tokens;
}

// ---- blocks

bool Server::take_blocks(int more) {
  if (more > free_) return false;
  free_ -= more;
  return true;
}

void Server::give_back(Sequence s, int blocks) {
  free_ += blocks;
  ++s.record.preemptions;
  figures_.preempted();
  const int cached = s.record.request.prompt + s.generated - 1;  // while it decodes: all but the newest token
  s.swapped = limits_.swap && s.generated > 0 && s.computed == cached;
  s.to_compute = s.swapped ? cached : s.record.request.prompt + s.generated;
  if (s.swapped) moved_ += swap_time(s);
  else s.computed = 0;
  waiting_.push_front(std::move(s));
}

void Server::preempt_last() {
  if (!prefilling_.empty()) {
    Prefilling p = std::move(prefilling_.back());
    prefilling_.pop_back();
    give_back(std::move(p.who), p.blocks);
    return;
  }
  Sequence s = std::move(running_.who.back());
  const auto last = running_.size() - 1;
  s.generated = s.record.request.output - running_.left[last];
  s.computed = running_.length[last];
  s.record.steps += decode_steps_ - s.first_step;
  s.last_emission = std::max(s.last_emission, paused_);
  context_ -= running_.length[last];
  const int blocks = running_.blocks[last];
  soonest_ = -1;
  running_.who.pop_back();
  running_.length.pop_back();
  running_.left.pop_back();
  running_.blocks.pop_back();
  give_back(std::move(s), blocks);
}

Ticks Server::swap_time(const Sequence& s) const {
  return std::llround(limits_.swap_per_token * static_cast<double>(s.to_compute));
}

// Blocks for the next step of all running sequences; preempts from the back until they suffice. False: it did.
bool Server::reserve_decoding(int rows) {
  std::int64_t more_in_all = 0;
  wanted_.resize(running_.size());
  const int add = rows + limits_.block_size - 1;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    wanted_[i] = std::max((running_.length[i] + add) >> shift_, running_.blocks[i]);
    more_in_all += wanted_[i] - running_.blocks[i];
  }
  if (more_in_all <= free_) {
    free_ -= more_in_all;
    running_.blocks.swap(wanted_);
    return true;
  }
  bool all = true;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    const int needed = blocks_of(running_.length[i] + rows), more = needed - running_.blocks[i];
    if (more <= 0) continue;
    while (more > free_ && i < running_.size()) {
      check(in_flight() > 1, "a request that no KV pool holds was let in");
      preempt_last();
      all = false;
    }
    if (i >= running_.size()) break;  // itself
    free_ -= more;
    running_.blocks[i] = needed;
  }
  return all;
}

bool Server::can_admit() const {
  if (waiting_.empty()) return false;
  if (static_cast<int>(running_.size() + prefilling_.size()) >= limits_.max_batch_size) return false;
  const Sequence& s = waiting_.front();
  if (limits_.batching == SchedulerLimits::Batching::continuous && !s.swapped) {
    const int room = limits_.max_batched_tokens - static_cast<int>(running_.size()) * drafting_.rows;
    const int tokens = s.to_compute - s.computed;
    return room > 0 && blocks_of(limits_.whole_prompts ? tokens : std::min(tokens, room)) <= free_;
  }
  return blocks_of(s.to_compute + drafting_.rows) <= free_;
}

// ---- what runs

void Server::advance(Ticks until) {
  while (now_ < until) {
    if (limits_.batching == SchedulerLimits::Batching::fixed) {
      if (running_.size() == 0 && prefilling_.empty()) {
        seats_ = 0, seat_context_ = 0;
        const auto full = static_cast<std::size_t>(limits_.max_batch_size);
        if (waiting_.empty() || (waiting_.size() < full && !closed_)) return;
        prefill_step();
        continue;
      }
    } else if (limits_.batching == SchedulerLimits::Batching::prefill_first) {
      if (can_admit()) {
        prefill_step();
        continue;
      }
    } else if (!prefilling_.empty() || can_admit()) {
      mixed_step();
      continue;
    }
    if (running_.size() == 0) {
      check(waiting_.empty(), "a request waits although nothing runs");
      return;
    }
    chunks_.clear();
    chunk_tokens_.clear();
    const int drafts = drafts_next();
    if (drafts == 0) decode_many(until);
    else if (reserve_decoding(drafting_.rows)) one_step(drafts, blocks_in_use());
  }
}

int Server::drafts_next() {
  if (drafting_.outcomes == nullptr || running_.size() == 0) return 0;
  accepted_.clear();
  if (chooser_.looks_ahead()) {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      DraftOutcomes::Text text = running_.who[i].text;
      const int done = running_.who[i].record.request.output - running_.left[i];
      accepted_.push_back(std::min(drafting_.outcomes->accepted(text, done - 1), running_.left[i] - 1));
    }
  }
  return chooser_.choose(static_cast<int>(running_.size()), context_, accepted_, chunks_);
}

// As many steps of the batch as it is, at once: up to `until`, its first completion, the end of the price's cell or of
// the blocks.
void Server::decode_many(Ticks until) {
  if (!reserve_decoding(1)) return;  // who is left is looked at anew
  const auto n = static_cast<std::int64_t>(running_.size());
  const std::int64_t seats = std::max<std::int64_t>(n, seats_), context = context_ + seat_context_;
  const StepCost::Line line = cost_.decode(static_cast<int>(seats), 0, context);
  const Ticks first = line.at(context) + n * cost_.token() + moved_, rise = line.per_token * n;
  std::int64_t steps = soonest();
  steps = std::min(steps, (line.to - context + n - 1) / n);
  steps = std::min(steps, chooser_.patience());
  if (moved_ > 0) steps = 1;
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
  const auto blocks_after = [&](std::int64_t k) {  // that the last of k steps needs
    std::int64_t sum = 0;
    for (const int length : running_.length) sum += blocks_of(length + k);
    return sum;
  };
  const std::int64_t before = blocks_in_use();
  if (n * ((steps >> shift_) + 1) > free_) {
    std::int64_t high = steps, low = 1;  // low fits
    while (low < high) {
      const std::int64_t middle = (low + high + 1) / 2;
      if (blocks_after(middle) <= before + free_) low = middle;
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
  free_ = limits_.kv_blocks - blocks;
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
  moved_ = 0;
  now_ += time;
  paused_ = now_;
  chooser_.saw_idle(steps);
  if (drafting_.outcomes != nullptr) figures_.accepted(n * steps, n * steps);
  retire();
}

// One step: all running sequences, and chunks of prompts in what is left of its tokens.
void Server::mixed_step() {
  const std::int64_t before = blocks_in_use();
  chunks_.clear();
  chunk_tokens_.clear();
  plan_chunks(reserve_decoding(drafting_.rows));
  if (running_.size() > 0 || !chunks_.empty()) one_step(drafts_next(), before);
}

void Server::one_step(int drafts, std::int64_t before) {
  const auto n = static_cast<int>(running_.size());
  const std::int64_t seats = std::max(n, seats_), context = context_ + seat_context_;
  const StepCost::Line line = cost_.decode(static_cast<int>(seats), drafts, context);
  const Ticks device = chunks_.empty() ? 0 : cost_.prefill(n, drafts, chunks_);
  Ticks time = line.at(context) + std::max<Ticks>(0, device - line.slack) + moved_;
  moved_ = 0;
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
  now_ += time;
  if (n > 0) paused_ = now_;
  finish_chunks();
  retire();
}

// Tokens and blocks for prompts, first come, first served.
void Server::plan_chunks(bool admit) {
  int budget = limits_.max_batched_tokens - static_cast<int>(running_.size()) * drafting_.rows;
  const auto grant = [&](Prefilling& p) {
    const int tokens = std::min(budget, p.who.to_compute - p.who.computed);
    const int more = blocks_of(p.who.computed + tokens) - p.blocks;
    if (!take_blocks(std::max(0, more))) return false;
    p.blocks += std::max(0, more);
    chunks_.push_back({tokens, p.who.computed});
    chunk_tokens_.push_back(tokens);
    budget -= tokens;
    return true;
  };
  for (std::size_t i = 0; i < prefilling_.size() && budget > 0; ++i) {
    while (!grant(prefilling_[i])) {
      preempt_last();
      admit = false;
      if (i >= prefilling_.size()) break;
    }
  }
  while (admit && budget > 0 && can_admit()) {
    Prefilling p{std::move(waiting_.front()), 0};
    waiting_.pop_front();
    if (p.who.record.started < 0) p.who.record.started = now_;
    if (p.who.swapped) {  // keys and values come back, nothing is computed
      p.blocks = blocks_of(p.who.to_compute + drafting_.rows);
      check(take_blocks(p.blocks), "admitted without blocks");
      if (p.who.record.preemptions > 0) moved_ += swap_time(p.who);
      join(std::move(p));
      budget -= drafting_.rows;
      continue;
    }
    if (!grant(p)) {
      waiting_.push_front(std::move(p.who));
      break;
    }
    prefilling_.push_back(std::move(p));
  }
}

// Whole prompts in a step of their own, the running sequences wait.
void Server::prefill_step() {
  const std::int64_t before = blocks_in_use();
  const bool fixed = limits_.batching == SchedulerLimits::Batching::fixed;
  chunks_.clear();
  chunk_tokens_.clear();
  int tokens = 0;
  while (can_admit()) {
    Sequence& s = waiting_.front();
    const int mine = s.swapped ? 0 : s.to_compute;
    if (!fixed && !chunks_.empty() && tokens + mine > limits_.max_batched_tokens) break;
    const int blocks = blocks_of(s.to_compute + drafting_.rows);
    if (!take_blocks(blocks)) break;
    if (s.record.started < 0) s.record.started = now_;
    Prefilling p{std::move(s), blocks};
    waiting_.pop_front();
    if (mine == 0) {
      if (p.who.record.preemptions > 0) moved_ += swap_time(p.who);
      join(std::move(p));
      continue;
    }
    tokens += mine;
    chunks_.push_back({mine, 0});
    chunk_tokens_.push_back(mine);
    prefilling_.push_back(std::move(p));
  }
  if (chunks_.empty()) return;
  const StepCost::Line line = cost_.decode(0, 0, 0);
  const Ticks device = cost_.prefill(0, 0, chunks_),
              time = line.at(0) + std::max<Ticks>(0, device - line.slack) + moved_;
  moved_ = 0;
  ran(time, time, 0, 1, line.host - std::min(device, line.slack), 0, tokens, 0, before);
  now_ += time;
  finish_chunks();
  retire();
  if (fixed) seats_ = static_cast<int>(running_.size());
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
    Prefilling p = std::move(prefilling_.front());
    prefilling_.pop_front();
    Sequence& s = p.who;
    ++s.generated;
    if (s.record.first_token < 0) s.record.first_token = now_;
    else figures_.gaps(now_ - s.last_emission, 0, 1, 1);
    s.last_emission = now_;
    if (s.generated == s.record.request.output || handover_) {
      free_ += p.blocks;
      s.record.last_token = now_;
      if (s.generated == s.record.request.output) served(s);
      else handover_(s.record);
      continue;
    }
    join(std::move(p));
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
  running_.who.push_back(std::move(s));
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
      free_ += running_.blocks[i];
      context_ -= running_.length[i];
      if (seats_ > 0) seat_context_ += running_.length[i];
      served(s);
      continue;
    }
    if (kept != i) {
      running_.length[kept] = running_.length[i];
      running_.left[kept] = running_.left[i];
      running_.blocks[kept] = running_.blocks[i];
      running_.who[kept] = std::move(running_.who[i]);
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
