// SPDX-License-Identifier: Apache-2.0
#include "sim/scheduler.h"

#include <algorithm>
#include <utility>

namespace draftline {

Scheduler::Scheduler(const SchedulerLimits& limits, const Drafting& drafting, RankState& rank, ServingFigures& figures)
    : limits_(limits),
      drafting_(drafting),
      running_(rank.running),
      blocks_(rank.blocks),
      chooser_(rank.chooser),
      figures_(figures) {}

std::int64_t Scheduler::outstanding_tokens() const {
  std::int64_t tokens = 0;
  for (const auto* queue : {&waiting_, &prefilling_})
    for (const Sequence& s : *queue)
      tokens +=
          (s.swapped ? 0 : s.prefill_tokens - s.computed) + (prefill_only_ ? 1 : s.record.request.output - s.generated);
  for (const int remaining : running_.remaining()) tokens += remaining;
  return tokens;
}

// ---- planning

const StepPlan& Scheduler::schedule(Ticks now, bool hold_prompts) {
  begin_planning();
  held_back_ = anything_runs() && (hold_prompts || received_ == 0 || waits_for_prompts());
  for (bool planned = false; !planned;) {
    chunks_.clear();
    chunk_tokens_ = 0;
    if (limits_.batching == Batching::static_batching) planned = plan_static_batch(now);
    else if (limits_.batching == Batching::prefill_first) planned = can_admit() ? plan_prefill(now) : plan_decode();
    else planned = !prefilling_.empty() || can_admit() ? plan_mixed_step(now) : plan_decode();
  }
  return plan_;
}

bool Scheduler::plan(StepPlan::Kind kind, int draft_length, std::int64_t kv_blocks_in_use) {
  plan_ = {kind, draft_length, std::exchange(admitted_, {}), chunks_, waiting(), kv_blocks_in_use};
  return true;
}

bool Scheduler::plan_none() {
  plan_ = {};
  return true;
}

bool Scheduler::plan_static_batch(Ticks now) {
  if (anything_runs()) return plan_decode();
  running_.release_slots();
  demand_.depend_on_limits();
  const bool full = waiting() >= limits_.max_num_seqs;
  if (waiting_.empty() || (!full && !closed_)) return plan_none();
  return plan_prefill(now);
}

// A step of whole prompts, without decoding.
bool Scheduler::plan_prefill(Ticks now) {
  constexpr int kMostTokens = 1 << 26;
  const std::int64_t before = blocks_.blocks_in_use();
  int tokens = 0;
  while (can_admit()) {
    const Sequence& next = waiting_.front();
    const int uncached = next.swapped ? 0 : next.prefill_tokens - blocks_.cached_prefix(next).tokens;
    if (limits_.batching != Batching::static_batching && !chunks_.empty() &&
        tokens + uncached > limits_.max_num_batched_tokens)
      break;
    Sequence s = admit_next(now);
    reuse_prefix(s);
    check(blocks_.allocate_up_to(s, s.prefill_tokens + drafting_.rows), "a sequence was admitted without KV blocks");
    const int cached = s.swapped ? s.prefill_tokens : s.computed, mine = s.prefill_tokens - cached;
    if (mine == 0) {
      swap_in(s);
      continue;
    }
    if (tokens > kMostTokens - mine)
      throw InputErrors("a static batch would compute more than " + std::to_string(kMostTokens) +
                        " prompt tokens in one step");
    tokens += mine;
    chunks_.push_back({mine, cached});
    prefilling_.push_back(s);
  }
  if (chunks_.empty()) return false;
  return plan(StepPlan::Kind::prefill, 0, before);
}

// One decode step of all running sequences, with prompt chunks within the rest of the token budget.
bool Scheduler::plan_mixed_step(Ticks now) {
  const std::int64_t before = blocks_.blocks_in_use();
  reserve_decoding(drafting_.rows);
  grant_chunks(now);
  if (running_.empty() && chunks_.empty()) return false;
  return plan(StepPlan::Kind::single_step, choose_draft_length(), before);
}

bool Scheduler::plan_decode() {
  if (running_.empty()) {
    check(waiting_.empty(), "a request waits although nothing runs");
    return plan_none();
  }
  const int draft_length = choose_draft_length();
  if (!reserve_decoding(draft_length == 0 ? 1 : drafting_.rows)) return false;
  const bool steady = draft_length == 0 && (waiting_.empty() || (!held_back_ && received_ == waiting()));
  return plan(steady ? StepPlan::Kind::steady_decode : StepPlan::Kind::single_step, draft_length,
              blocks_.blocks_in_use());
}

int Scheduler::choose_draft_length() {
  admitted_ = {};
  if (drafting_.outcomes == nullptr || running_.empty()) return 0;
  if (chooser_.admits()) return admit_drafts();
  would_accept_.clear();
  if (chooser_.looks_ahead()) {
    for (std::size_t i = 0; i < running_.size(); ++i) {
      DraftOutcomes::Text text = running_.texts()[i];
      const int accepted = drafting_.outcomes->accepted(text, running_.generated(i) - 1);
      would_accept_.push_back(std::min(accepted, running_.remaining()[i] - 1));
    }
  }
  return chooser_.choose(count(running_), running_.context(), would_accept_, chunks_);
}

// The drafts are made before they are judged: a step in which none is admitted has drafted, too.
int Scheduler::admit_drafts() {
  survival_.clear();
  for (std::size_t i = 0; i < running_.size(); ++i) {
    DraftOutcomes::Text text = running_.texts()[i];
    const int position = running_.generated(i) - 1, accepted = drafting_.outcomes->accepted(text, position);
    drafting_.confidence->survival(text, position, accepted, survival_);
  }
  admitted_ = chooser_.admit(running_.slots(), running_.slot_context(), survival_, drafting_.confidence->drafts());
  return std::max(1, *std::ranges::max_element(admitted_));
}

// ---- admission and preemption

// The part of the step's token budget that is left for prompts if each running sequence drafts as much as the policy
// may.
int Scheduler::token_budget() const {
  const auto sequences = count(running_);
  const int rows = drafting_.outcomes == nullptr ? 1 : drafting_.rows_of(chooser_.most_drafts(sequences));
  return limits_.max_num_batched_tokens - sequences * rows - chunk_tokens_;
}

// As SGLang with scheduler_recv_interval: after a step with prompts at once, else after so many decode steps.
void Scheduler::receive() {
  if (!anything_runs()) since_receive_ = 0;
  if (since_receive_ == 0) received_ = waiting();
}

// As TensorRT-LLM with batch_wait_timeout_iters and batch_wait_max_tokens_ratio.
bool Scheduler::waits_for_prompts() {
  const PromptWait& wait = limits_.prompt_wait;
  const bool asked =
      received_ > 0 && wait.steps > 0 && !running_.empty() && prefilling_.empty() && !waiting_.front().swapped;
  bool waits = asked && waited_ < wait.steps && can_admit();
  double tokens = limits_.max_num_batched_tokens - token_budget();
  for (int i = 0; waits && i < received_; ++i) {
    tokens += waiting_[at(i)].prefill_tokens;
    waits = tokens < wait.token_share * limits_.max_num_batched_tokens;
  }
  waited_ = waits ? waited_ + 1 : 0;
  return waits;
}

void Scheduler::begin_planning() {
  preempted_ = held_back_ = false;
  chunk_tokens_ = 0;
  receive();
}

bool Scheduler::could_admit() {
  begin_planning();
  return can_admit();
}

bool Scheduler::can_admit() {
  if (received_ == 0 || held_back_ || (preempted_ && anything_runs())) return false;
  const auto with_next = to_int(running_.size() + prefilling_.size()) + 1;
  if (!demand_.ask_sequences(with_next, limits_.max_num_seqs)) return false;
  const Sequence& s = waiting_.front();
  const KvBlockManager::CachedPrefix cached = blocks_.cached_prefix(s);
  const auto has_free = [&](int tokens) { return blocks_.has_free(cached.extra_blocks(blocks_.blocks_for(tokens))); };
  if (limits_.batching == Batching::continuous && !s.swapped) {
    const int budget = token_budget(), tokens = s.prefill_tokens - s.computed - cached.tokens;
    return budget > 0 && has_free(cached.tokens + (limits_.whole_prompts ? tokens : std::min(tokens, budget)));
  }
  return has_free(s.prefill_tokens + drafting_.rows);
}

Sequence Scheduler::admit_next(Ticks now) {
  Sequence s = waiting_.front();
  waiting_.pop_front();
  --received_;
  if (s.record.preemptions == 0 && s.generated == 0) s.record.started = now;
  return s;
}

// A preempted sequence may find its prompt again, which is then no part of a prompt that a request brought.
void Scheduler::reuse_prefix(Sequence& s) {
  const int tokens = blocks_.reuse_prefix(s);
  if (s.record.preemptions == 0) figures_.record_reused_tokens(s.record.request, tokens);
}

// The sequence joins the batch without a prefill. Only a preempted one waits for the host link; the transfer from
// another server is part of its arrival time.
void Scheduler::swap_in(Sequence& s) {
  if (s.record.preemptions > 0) blocks_.swap(s.prefill_tokens);
  running_.join(s);
}

bool Scheduler::grant_chunk(Sequence& s) {
  const int tokens = std::min(token_budget(), s.prefill_tokens - s.computed);
  if (!blocks_.allocate_up_to(s, s.computed + tokens)) return false;
  chunks_.push_back({tokens, s.computed});
  chunk_tokens_ += tokens;
  return true;
}

// First come, first served.
void Scheduler::grant_chunks(Ticks now) {
  for (std::size_t i = 0; i < prefilling_.size() && token_budget() > 0; ++i)
    while (i < prefilling_.size() && !grant_chunk(prefilling_[i])) preempt_last();
  while (token_budget() > 0 && can_admit()) {
    Sequence s = admit_next(now);
    if (s.swapped) {
      check(blocks_.allocate_up_to(s, s.prefill_tokens + drafting_.rows), "a sequence was admitted without KV blocks");
      swap_in(s);
      continue;
    }
    reuse_prefix(s);
    check(grant_chunk(s), "a sequence was admitted without KV blocks");
    prefilling_.push_back(s);
  }
}

// Allocates KV blocks for the next step of all running sequences. Returns false if that needed preemptions.
bool Scheduler::reserve_decoding(int rows) {
  if (blocks_.extend(running_, rows)) return true;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    while (i < running_.size() && !blocks_.extend_sequence(running_, i, rows)) {
      check(in_flight() > 1, "a request that no KV pool holds was let in");
      preempt_last();
    }
  }
  return false;
}

void Scheduler::preempt_last() {
  preempted_ = true;
  Sequence s;
  if (prefilling_.empty()) {
    s = running_.remove_last();
  } else {
    s = prefilling_.back();
    prefilling_.pop_back();
  }
  blocks_.release(s);
  ++s.record.preemptions;
  figures_.record_preemption();
  // Tokens in its cache while it decodes: all but the last.
  const int decoding = s.record.request.prompt + s.generated - 1;
  s.swapped = limits_.swap && s.generated > 0 && s.computed == decoding;
  s.prefill_tokens = s.swapped ? decoding : s.record.request.prompt + s.generated;
  if (s.swapped) blocks_.swap(s.prefill_tokens);
  else s.computed = 0;
  waiting_.push_front(s);
  ++received_;
}

// ---- after a step

std::span<const ServedRequest> Scheduler::finish_step(Ticks now, std::int64_t steps) {
  leaving_.clear();
  since_receive_ = chunks_.empty() ? to_int((since_receive_ + steps) % limits_.receive_interval) : 0;
  finish_prefills(now);
  finished_.clear();
  running_.remove_finished(finished_);
  for (Sequence& s : finished_) leave(s, now);
  if (limits_.batching == Batching::static_batching && !chunks_.empty()) running_.keep_slots();
  chunks_.clear();
  return leaving_;
}

void Scheduler::finish_prefills(Ticks now) {
  for (std::size_t i = 0; i < chunks_.size(); ++i) prefilling_[i].computed += chunks_[i].tokens;
  while (!prefilling_.empty() && prefilling_.front().computed == prefilling_.front().prefill_tokens) {
    Sequence s = prefilling_.front();
    prefilling_.pop_front();
    ++s.generated;
    if (s.generated == 1) s.record.first_token = now;
    else figures_.record_gaps(now - s.last_emission, 0, 1, 1);
    s.last_emission = now;
    blocks_.cache_prompt(s);
    if (s.generated == s.record.request.output || prefill_only_) leave(s, now);
    else running_.join(s);
  }
}

void Scheduler::leave(Sequence& s, Ticks now) {
  blocks_.release(s);
  s.record.last_token = now;
  leaving_.push_back(s.record);
}

}  // namespace draftline
