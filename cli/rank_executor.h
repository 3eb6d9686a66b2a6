// SPDX-License-Identifier: Apache-2.0
// Runs pieces of work on several threads of this process and on all other ranks. Rank 0 takes the results. Ctrl-C ends
// the work after the pieces in progress; finished results are kept.
#pragma once
#include "api/executor.h"
#include "cli/ranks.h"

namespace draftline::cli {

class RankExecutor : public Executor {
 public:
  RankExecutor(const Ranks& ranks, int threads) : ranks_(ranks), threads_(threads) {}
  // Throws RankFailed on rank 0 if another rank failed, and InputErrors if a rank has a different question or command
  // line.
  void run(const OrderedWork&) override;

 private:
  void run_on_first_rank(const OrderedWork&, std::uint64_t question);
  void run_on_other_rank(const OrderedWork&, std::uint64_t question);

  const Ranks& ranks_;
  int threads_;
};

}  // namespace draftline::cli
