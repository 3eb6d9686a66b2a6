// SPDX-License-Identifier: Apache-2.0
// One run on several machines: `mpirun draftline run ...` starts the program once per rank (MPI). Work is dealt out block by
// block; rank 0 takes all results in order and alone writes, so that the output is that of a single run. Without MPI, or
// without mpirun, there is one rank.
#pragma once
#include <cstddef>
#include <string>

namespace draftline::cli {

class Ranks {
 public:
  Ranks();  // finds out from mpirun's environment; other programs never start MPI
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return size_; }
  bool mine(std::size_t block) const { return block % size_ == rank_; }

  // Called by one thread at a time, in the order of the blocks.
  void send(const std::string& bytes) const;     // to rank 0
  std::string receive(std::size_t block) const;  // of the rank whose block it is

 private:
  std::size_t rank_ = 0, size_ = 1;
};

}  // namespace draftline::cli
