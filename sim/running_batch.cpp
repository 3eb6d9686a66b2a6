// SPDX-License-Identifier: Apache-2.0
#include "sim/running_batch.h"

#include <algorithm>
#include <limits>

namespace draftline {

void RunningBatch::join(const Sequence& joining) {
  Sequence& s = sequences_.emplace_back(joining);
  s.first_step = steps_;
  s.swapped = false;
  s.computed = s.prefill_tokens;
  lengths_.push_back(s.prefill_tokens);
  remaining_.push_back(s.record.request.output - s.generated);
  kv_blocks_.push_back(s.kv_blocks);
  context_ += s.prefill_tokens;
  if (first_completion_ != kUnknown) first_completion_ = std::min(first_completion_, remaining_.back());
}

std::span<const Sequence> RunningBatch::joined_since_emission() const {
  std::size_t first = size();
  while (first > 0 && sequences_[first - 1].first_step == steps_) --first;
  return std::span(sequences_).subspan(first);
}

Sequence RunningBatch::remove_last() {
  Sequence s = sequences_.back();
  s.generated = generated(size() - 1);
  s.computed = lengths_.back();
  s.kv_blocks = kv_blocks_.back();
  s.record.steps += steps_ - s.first_step;
  if (s.first_step != steps_) s.last_emission = last_emission_;
  context_ -= s.computed;
  first_completion_ = kUnknown;
  sequences_.pop_back();
  lengths_.pop_back();
  remaining_.pop_back();
  kv_blocks_.pop_back();
  return s;
}

void RunningBatch::remove_finished(std::vector<Sequence>& finished) {
  if (empty() || steps_to_first_completion() > 0) return;
  first_completion_ = kUnknown;
  std::size_t kept = 0;
  for (std::size_t i = 0; i < size(); ++i) {
    if (remaining_[i] == 0) {
      Sequence& s = finished.emplace_back(sequences_[i]);
      s.generated = s.record.request.output;
      s.kv_blocks = kv_blocks_[i];
      s.record.steps += steps_ - s.first_step;
      context_ -= lengths_[i];
      if (slots_ > 0) finished_context_ += lengths_[i];
      continue;
    }
    if (kept != i) {
      lengths_[kept] = lengths_[i];
      remaining_[kept] = remaining_[i];
      kv_blocks_[kept] = kv_blocks_[i];
      sequences_[kept] = sequences_[i];
    }
    ++kept;
  }
  lengths_.resize(kept);
  remaining_.resize(kept);
  kv_blocks_.resize(kept);
  sequences_.resize(kept);
}

void RunningBatch::emit(int steps, Ticks end) {
  for (int& length : lengths_) length += steps;
  for (int& remaining : remaining_) remaining -= steps;
  context_ += static_cast<std::int64_t>(size()) * steps;
  if (first_completion_ != kUnknown) first_completion_ -= steps;
  steps_ += steps;
  last_emission_ = end;
}

void RunningBatch::emit_accepted(std::span<const int> accepted, Ticks end) {
  int all = 0, least = std::numeric_limits<int>::max();
  for (std::size_t i = 0; i < accepted.size(); ++i) {
    const int emitted = std::min(accepted[i] + 1, remaining_[i]);
    lengths_[i] += emitted;
    remaining_[i] -= emitted;
    all += emitted;
    least = std::min(least, remaining_[i]);
  }
  context_ += all;
  first_completion_ = least;
  ++steps_;
  last_emission_ = end;
}

int RunningBatch::steps_to_first_completion() {
  if (first_completion_ == kUnknown) first_completion_ = *std::min_element(remaining_.begin(), remaining_.end());
  return first_completion_;
}

}  // namespace draftline
