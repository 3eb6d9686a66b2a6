// SPDX-License-Identifier: Apache-2.0
// Running one command on several machines: `mpirun draftline ...` starts the program once per rank (MPI) with the same
// command line. Rank 0 distributes the work and receives all results in order (cli/rank_executor.h). Only rank 0 prints
// and writes files, so that the output equals that of a single rank. Without mpirun there is one rank and no MPI.
#pragma once
#include <cstddef>
#include <functional>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace draftline::cli {

// The rank of this process and the number of ranks, from the environment that mpirun sets; 0 of 1 without mpirun.
struct Launched {
  std::size_t rank = 0, size = 1;
};
Launched launched();

// The result of a command: its exit code, and messages for the user.
struct Ending {
  int code = 0;
  std::vector<std::string> messages;
  bool silent = false;  // whether the messages of a failure are not printed
};

// Thrown on rank 0 if another rank failed, with that rank's exit code and messages.
class RankFailed : public std::runtime_error {
 public:
  explicit RankFailed(Ending e) : std::runtime_error("another rank failed"), ending_(std::move(e)) {}
  const Ending& ending() const { return ending_; }

 private:
  Ending ending_;
};

// Messages between ranks. Waiting polls with pauses, so that an idle rank does not occupy a core. MPI errors are Bugs.
class Ranks {
 public:
  explicit Ranks(Launched);  // starts MPI if there are several ranks; InputErrors if the program was built without MPI
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  std::size_t size() const { return size_; }
  bool first() const { return rank_ == 0; }

  // To rank 0: ask, result, done, ended. From rank 0: piece, stop (no pieces left), leave (all ranks have ended).
  enum class About { ask, piece, result, done, ended, stop, leave };
  struct Message {
    std::size_t from;
    About about;
    std::string bytes;
  };
  // These may be called by any thread.
  void send(std::size_t to, About, std::string_view bytes = {}) const;
  std::optional<Message> received() const;  // the next message; none if there is none
  Message receive() const;                  // waits for a message
  std::optional<Message> receive_unless(const std::function<bool()>& given_up) const;  // none once given_up() is true

  // The last call of each rank, with the result of its command. Waits for the other ranks, ends MPI and returns the
  // exit code of this process. `say` prints messages: those of rank 0 or of the first other rank that failed. The exit
  // code of that rank becomes that of rank 0 and of mpirun; other ranks have none. After a failure, a rank that does
  // not end within ten seconds (it computes a long piece) is killed.
  int end(Ending, const std::function<void(const Ending&)>& say);

 private:
  void send_to_others(About) const;
  int end_others(Ending, const std::function<void(const Ending&)>& say) const;

  std::size_t rank_ = 0, size_ = 1;
  mutable std::mutex mutex_;
  mutable std::size_t ended_ = 0;  // number of other ranks that have ended
};

}  // namespace draftline::cli
