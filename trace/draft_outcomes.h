// SPDX-License-Identifier: Apache-2.0
// How many drafts of a step are accepted, sequence by sequence: drawn from rates, or replayed from a trace. An outcome
// belongs to a place of a text, not to the run: whatever the policy, the batch or the thread, the same place gives the
// same.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "trace/trace.h"

namespace draftline {

class DraftOutcomes {
 public:
  // A text that is decoded: where its outcomes come from.
  struct Text {
    std::uint32_t key[2] = {0, 0};  // of random draws
    std::uint32_t prompt = 0, start = 0;
    std::uint32_t step = 0;
    std::int32_t kept = -1;  // its row of the draws that are kept; -1: none
  };

  DraftOutcomes() = default;                                                   // nothing is drafted
  static DraftOutcomes from_rates(std::span<const double> conditional_rates);  // of each position of a chain
  // Of ranks: any plan inside them; of recorded lengths and steps: as they were. `from_start`: request i replays prompt
  // i from its first token; else each begins anywhere in the trace.
  static DraftOutcomes from_trace(std::shared_ptr<const Trace>, const DraftPlan&, bool from_start);

  int depth() const { return depth_; }
  Text text(std::uint64_t seed, std::int64_t request) const;
  // Drafts of the step whose root is output token `position` that would be accepted, if so many were drafted.
  int accepted(Text& t, int position) const {
    if (!begin_.empty()) return replayed(t, position);
    if (t.kept < 0) return draw(t, position);
    auto& row = kept_->texts[static_cast<std::size_t>(t.kept)];
    const auto at = static_cast<std::size_t>(position);
    if (at >= row.size() || row[at] == kUnknown) return draw_and_keep(row, t, position);
    return row[at];
  }

  // From now on, random outcomes are drawn once for each place of a text, for runs of the same seed that ask again. Not
  // for several threads at once.
  void keep_draws();

 private:
  static constexpr std::uint8_t kUnknown = 255;
  static constexpr std::int64_t kMostTexts = 1 << 14, kMostPlaces = 1 << 11;  // 32 MiB; beyond them each run draws anew
  using Row = std::vector<std::uint8_t>;                                      // by position
  struct Kept {
    std::uint64_t seed = 0;
    std::vector<Row> texts;
  };
  int draw(const Text&, int position) const;
  int draw_and_keep(Row&, const Text&, int position) const;
  int replayed(Text&, int position) const;

  int depth_ = 0;
  std::vector<std::uint64_t> survival_;               // of 2^32: that at least so many are accepted
  std::vector<std::uint8_t> places_;                  // of a trace, prompt after prompt
  std::vector<std::uint32_t> begin_, places_in_use_;  // of each prompt, in places_
  bool recorded_steps_ = false, from_start_ = false;
  std::shared_ptr<Kept> kept_;
};

}  // namespace draftline
