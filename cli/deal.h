// SPDX-License-Identifier: Apache-2.0
// Pieces of work dealt out one by one, to threads here and to other ranks: whoever is free takes the next.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string_view>

#include "cli/ranks.h"
#include "core/input_files.h"

namespace draftline::cli {

class Deal {
 public:
  Deal(std::size_t from, std::size_t to) : next_(from), to_(to) {}
  std::optional<std::size_t> next();  // none: all are dealt, it was stopped, or Ctrl-C was pressed
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

 private:
  std::mutex mutex_;
  std::size_t next_, to_;
  std::atomic<bool> stopped_ = false;
};

// Tells one command from another, so that ranks which were started with different files, options or programs do not mix
// their results.
std::uint64_t question_id(const InputFiles&, std::uint64_t option);  // option: a seed, a first point

// Rank 0: deals to the other ranks until each has said that it is done, or the deal was stopped by a failure here.
// RankFailed, or InputErrors where a rank answers another question.
void deal_out(const Ranks&, std::uint64_t question, Deal&,
              const std::function<void(std::size_t piece, std::string_view result)>& put);
// Another rank: asks for its next piece.
std::optional<std::size_t> ask_for_piece(const Ranks&, std::uint64_t question);

}  // namespace draftline::cli
