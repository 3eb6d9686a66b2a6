// SPDX-License-Identifier: Apache-2.0
#include "sim/running_batch.h"

#include <algorithm>
#include <limits>

namespace draftline {

void RunningBatch::join(const Sequence& joining) {
  if (free_places_.empty()) {
    free_places_.push_back(sequences_.size());
    sequences_.emplace_back();
  }
  const std::size_t place = free_places_.back();
  free_places_.pop_back();
  Sequence& s = sequences_[place] = joining;
  s.first_step = steps_;
  s.swapped = false;
  s.computed = s.prefill_tokens;
  places_.push_back(place);
  lengths_.push_back(s.prefill_tokens);
  outputs_.push_back(s.record.request.output);
  remaining_.push_back(s.record.request.output - s.generated);
  kv_blocks_.push_back(s.kv_blocks);
  texts_.push_back(s.text);
  joined_.push_back(s.last_emission);
  context_ += s.prefill_tokens;
  if (first_completion_) first_completion_ = std::min(*first_completion_, remaining_.back());
}

Sequence RunningBatch::take(std::size_t slot) {
  free_places_.push_back(places_[slot]);
  Sequence s = sequences_[places_[slot]];
  s.generated = generated(slot);
  s.computed = lengths_[slot];
  s.kv_blocks = kv_blocks_[slot];
  s.text = texts_[slot];
  s.record.steps += steps_ - s.first_step;
  if (s.first_step != steps_) s.last_emission = last_emission_;
  context_ -= s.computed;
  first_completion_.reset();
  return s;
}

Sequence RunningBatch::remove_last() {
  const Sequence s = take(size() - 1);
  if (!joined_.empty()) joined_.pop_back();
  each_column([](auto& column) { column.pop_back(); });
  return s;
}

void RunningBatch::remove_finished(std::vector<Sequence>& finished) {
  if (empty() || steps_to_first_completion() > 0) return;
  finished_slots_.clear();
  for (std::size_t i = 0; i < remaining_.size(); ++i)
    if (remaining_[i] == 0) finished_slots_.push_back(to_int64(i));
  for (const std::ptrdiff_t slot : finished_slots_) {
    const auto i = at(slot);
    if (slots_ > 0) finished_context_ += lengths_[i];
    finished.push_back(take(i));
  }
  each_column([&](auto& column) {  // the others move up
    auto to = column.begin() + finished_slots_.front();
    for (std::size_t i = 0; i < finished_slots_.size(); ++i) {
      const auto from = column.begin() + finished_slots_[i] + 1;
      to = std::move(from, i + 1 < finished_slots_.size() ? column.begin() + finished_slots_[i + 1] : column.end(), to);
    }
    column.erase(to, column.end());
  });
}

void RunningBatch::emit(int steps, Ticks end) {
  for (int& length : lengths_) length += steps;
  for (int& remaining : remaining_) remaining -= steps;
  context_ += to_int64(size()) * steps;
  if (first_completion_) *first_completion_ -= steps;
  steps_ += steps;
  last_emission_ = end;
  joined_.clear();
}

void RunningBatch::emit_accepted(std::span<const int> accepted, Ticks end) {
  int all = 0, least = std::numeric_limits<int>::max();
  int *const lengths = lengths_.data(), *const remaining = remaining_.data();
  for (std::size_t i = 0; i < accepted.size(); ++i) {
    const int emitted = std::min(accepted[i] + 1, remaining[i]);
    lengths[i] += emitted;
    remaining[i] -= emitted;
    all += emitted;
    least = std::min(least, remaining[i]);
  }
  context_ += all;
  first_completion_ = least;
  ++steps_;
  last_emission_ = end;
  joined_.clear();
}

int RunningBatch::steps_to_first_completion() {
  if (!first_completion_) first_completion_ = *std::ranges::min_element(remaining_);
  return *first_completion_;
}

}  // namespace draftline
