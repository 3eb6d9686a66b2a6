// SPDX-License-Identifier: Apache-2.0
// Distributes pieces of work, numbered by index, to the threads of this process and to other ranks, one at a time.
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
  Deal(std::size_t from, std::size_t to) : next_(from), to_(to) {}  // the pieces [from, to)
  std::optional<std::size_t> next();  // the next piece; none after the last, after stop() and after Ctrl-C
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

 private:
  std::mutex mutex_;
  std::size_t next_, to_;
  std::atomic<bool> stopped_ = false;
};

// A hash of the program, the content of the input files and an option (a seed, a first point). It detects ranks that
// were started with other files, options or programs.
std::uint64_t question_id(const InputFiles&, std::uint64_t option);

// Rank 0 calls this: it sends pieces to the other ranks and passes their results to `put`, until every rank is done or
// the deal is stopped. Throws RankFailed if a rank failed, and InputErrors if one has another question or command line.
void deal_out(const Ranks&, std::uint64_t question, Deal&,
              const std::function<void(std::size_t piece, std::string_view result)>& put);
// The other ranks call this: it returns the next piece from rank 0; none after the last. Throws InputErrors if rank 0
// has another command line.
std::optional<std::size_t> ask_for_piece(const Ranks&, std::uint64_t question);

}  // namespace draftline::cli
