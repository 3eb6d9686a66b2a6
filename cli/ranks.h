// SPDX-License-Identifier: Apache-2.0
// One command on several machines: `mpirun draftline ...` starts the program once per rank (MPI), each with the same
// command line. Rank 0 deals the work out and takes all results in order (cli/in_order.h); it alone talks and writes
// files, so that the output is that of a single rank. Without mpirun there is one rank, and MPI is never started.
#pragma once
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace draftline::cli {

// Which process of mpirun's this is, told by its environment before MPI is started.
struct Launched {
  std::size_t rank = 0, size = 1;
};
Launched launched();

// How a command ended: its exit code, and what there is to say of it.
struct Ending {
  int code = 0;
  std::vector<std::string> messages;

  static auto members(auto& s) { return std::tie(s.code, s.messages); }
};

// Another rank failed; it says why, and with which exit code.
class RankFailed : public std::runtime_error {
 public:
  explicit RankFailed(Ending e) : std::runtime_error("another rank failed"), ending_(std::move(e)) {}
  const Ending& ending() const { return ending_; }

 private:
  Ending ending_;
};

// What ranks tell each other. Nobody waits on a busy core: who has nothing to do looks for messages once in a while.
class Ranks {
 public:
  explicit Ranks(Launched);  // joins the others, if there are any
  ~Ranks() { leave(); }
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  std::size_t size() const { return size_; }
  bool first() const { return rank_ == 0; }

  enum class About { ask, piece, result, done, failed, leave };
  struct Message {
    std::size_t from;
    About about;
    std::string bytes;
  };
  // From any thread.
  void send(std::size_t to, About, std::string_view bytes = {}) const;
  std::optional<Message> received() const;  // none: nothing has come
  Message receive() const;                  // waits
  std::optional<Message> receive_unless(const std::function<bool()>& given_up) const;

  // Of a rank that can't go on. Rank 0 ends all of them, with this exit code; another one leaves that to rank 0, which
  // throws RankFailed when it hears of it.
  void fail(Ending) const;
  // Waits for all others to leave too. On rank 0: of one that failed meanwhile, though nothing depended on it.
  std::optional<Ending> leave();

 private:
  std::size_t rank_ = 0, size_ = 1;
  mutable std::mutex mutex_;
  mutable std::size_t left_ = 0;  // others that have said so
};

}  // namespace draftline::cli
