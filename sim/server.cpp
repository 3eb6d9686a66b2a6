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
      piece_blocks_(limits.prefix_caching ? kPieceTokens >> shift_ : 0),
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
  waiting_.push_back(s);
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

// What lay in blocks that are taken is gone.
void Server::taken(std::int64_t blocks) {
  free_ -= blocks;
  if (prefixes_.evictable() > 0) prefixes_.evict_to(free_ / piece_blocks_);
}

bool Server::take_blocks(int more) {
  if (more > free_) return false;
  taken(more);
  return true;
}

// Whole pieces of a prompt that is still to be computed, but for its last token, whose logits are needed.
PrefixCache::Pieces Server::reusable(const Sequence& s) const {
  if (s.record.request.pieces == nullptr || piece_blocks_ == 0 || s.swapped || s.computed > 0) return {};
  const int whole = std::min(s.to_compute - 1, s.record.request.prompt) / kPieceTokens;
  const PrefixCache::Pieces all = *s.record.request.pieces;
  return all.first(std::min(all.size(), static_cast<std::size_t>(whole)));
}

// The sequence holds what is here of its prompt, and computes what is left. Returns the blocks that it has thereby.
int Server::reuse(Sequence& s) {
  const PrefixCache::Pieces pieces = reusable(s);
  if (pieces.empty()) return 0;
  const PrefixCache::Match m = prefixes_.match(pieces);
  prefixes_.hold(pieces, m.pieces);
  taken(std::int64_t{m.evictable} * piece_blocks_);
  s.held = m.pieces;
  s.computed = m.pieces * kPieceTokens;
  figures_.reused(s.computed);
  return m.pieces * piece_blocks_;
}

// Others may use the pieces of a prompt that is computed.
void Server::share_prompt(Sequence& s) {
  const Request& r = s.record.request;
  if (r.pieces == nullptr || piece_blocks_ == 0) return;
  const int whole = std::min(r.prompt / kPieceTokens, static_cast<int>(r.pieces->size()));
  if (s.held < whole) s.held += prefixes_.add(*r.pieces, s.held, whole);
}

// Gives back the blocks of a sequence that leaves; those of shared pieces only if nobody else holds them.
void Server::release(Sequence& s, int blocks) {
  free_ += blocks - std::int64_t{s.held} * piece_blocks_;
  if (s.held > 0) free_ += std::int64_t{prefixes_.release(*s.record.request.pieces, s.held)} * piece_blocks_;
  s.held = 0;
}

void Server::give_back(Sequence s, int blocks) {
  release(s, blocks);
  ++s.record.preemptions;
  figures_.preempted();
  const int cached = s.record.request.prompt + s.generated - 1;  // while it decodes: all but the newest token
  s.swapped = limits_.swap && s.generated > 0 && s.computed == cached;
  s.to_compute = s.swapped ? cached : s.record.request.prompt + s.generated;
  if (s.swapped) swap(s);
  else s.computed = 0;
  waiting_.push_front(s);
}

void Server::preempt_last() {
  if (!prefilling_.empty()) {
    Prefilling p = prefilling_.back();
    prefilling_.pop_back();
    give_back(p.who, p.blocks);
    return;
  }
  Sequence s = running_.who.back();
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
  give_back(s, blocks);
}

void Server::swap(const Sequence& s) {
  delay_ =
      step_ticks(static_cast<double>(delay_) + std::round(limits_.swap_per_token * static_cast<double>(s.to_compute)));
}

void Server::pass(Ticks time) {
  now_ += time;
  if (now_ > to_ticks(kLongestTime))
    throw InputErrors("the workload takes this server more than " + to_text(kLongestTime) + ": beyond simulated time");
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
    if (more_in_all > 0) taken(more_in_all);
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
    taken(more);
    running_.blocks[i] = needed;
  }
  return all;
}

bool Server::can_admit() const {
  if (waiting_.empty()) return false;
  if (static_cast<int>(running_.size() + prefilling_.size()) >= limits_.max_batch_size) return false;
  const Sequence& s = waiting_.front();
  const PrefixCache::Pieces pieces = reusable(s);
  const PrefixCache::Match m = pieces.empty() ? PrefixCache::Match{} : prefixes_.match(pieces);
  const int shared = m.pieces * kPieceTokens, woken = m.evictable * piece_blocks_;
  if (limits_.batching == SchedulerLimits::Batching::continuous && !s.swapped) {
    const int room = limits_.max_batched_tokens - static_cast<int>(running_.size()) * drafting_.rows;
    const int tokens = s.to_compute - s.computed - shared;
    return room > 0 && blocks_of(limits_.whole_prompts ? tokens : std::min(tokens, room)) + woken <= free_;
  }
  return blocks_of(s.to_compute - shared + drafting_.rows) + woken <= free_;
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

// One step: all running sequences, and chunks of prompts in what is left of its tokens.
void Server::mixed_step() {
  const std::int64_t before = blocks_in_use();
  chunks_.clear();
  chunk_tokens_.clear();
  plan_chunks(reserve_decoding(drafting_.rows));
  if (running_.size() > 0 || !chunks_.empty()) one_step(drafts_next(), before);
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
    Prefilling p{waiting_.front(), 0};
    waiting_.pop_front();
    if (p.who.record.started < 0) p.who.record.started = now_;
    if (p.who.swapped) {  // keys and values come back, nothing is computed
      p.blocks = blocks_of(p.who.to_compute + drafting_.rows);
      check(take_blocks(p.blocks), "admitted without blocks");
      if (p.who.record.preemptions > 0) swap(p.who);
      join(p);
      budget -= drafting_.rows;
      continue;
    }
    p.blocks = reuse(p.who);
    if (!grant(p)) {
      release(p.who, p.blocks);
      p.who.computed = 0;
      waiting_.push_front(p.who);
      break;
    }
    prefilling_.push_back(p);
  }
}

// Whole prompts in a step of their own, the running sequences wait.
void Server::prefill_step() {
  constexpr int kMostAtOnce = 1 << 26;
  const std::int64_t before = blocks_in_use();
  const bool fixed = limits_.batching == SchedulerLimits::Batching::fixed;
  chunks_.clear();
  chunk_tokens_.clear();
  int tokens = 0;
  while (can_admit()) {
    Sequence& s = waiting_.front();
    if (!fixed && !chunks_.empty() && tokens + (s.swapped ? 0 : s.to_compute) > limits_.max_batched_tokens) break;
    const int shared = reuse(s), blocks = blocks_of(s.to_compute + drafting_.rows);
    check(take_blocks(blocks - shared), "admitted without blocks");
    const int cached = s.swapped ? s.to_compute : s.computed, mine = s.to_compute - cached;
    if (s.record.started < 0) s.record.started = now_;
    Prefilling p{s, blocks};
    waiting_.pop_front();
    if (mine == 0) {
      if (p.who.record.preemptions > 0) swap(p.who);
      join(p);
      continue;
    }
    if (tokens > kMostAtOnce - mine)
      throw InputErrors("a static batch would read more than " + std::to_string(kMostAtOnce) +
                        " tokens of prompts at once");
    tokens += mine;
    chunks_.push_back({mine, cached});
    chunk_tokens_.push_back(mine);
    prefilling_.push_back(p);
  }
  if (chunks_.empty()) return;
  const StepCost::Line line = cost_.decode(0, 0, 0);
  const Ticks device = cost_.prefill(0, 0, chunks_),
              time = line.at(0) + std::max<Ticks>(0, device - line.slack) + delay_;
  delay_ = 0;
  ran(time, time, 0, 1, line.host - std::min(device, line.slack), 0, tokens, 0, before);
  pass(time);
  prompts_ += time;
  finish_chunks();
  retire();
  if (fixed) seats_ = static_cast<int>(running_.size());
}

}  // namespace draftline
