// SPDX-License-Identifier: Apache-2.0
// Sums over several GPUs: every rank's message is summed with the others', verified, then timed as nodes of one graph a rank,
// as a tensor-parallel decoder runs them. One GPU, or no NCCL: the point says so.
#pragma once
#include "probes/cuda/nccl.h"
#include "probes/cuda/timer.h"

namespace draftline {

class AllReduceProbe {
 public:
  explicit AllReduceProbe(CudaTimer& timer) : timer_(timer) {}
  void measure(MeasuredPoint&, Seconds time_budget);

 private:
  void measure_linked(MeasuredPoint&, Seconds time_budget);
  CudaTimer& timer_;
  std::unique_ptr<Nccl> nccl_;  // of the ranks of the last point: joining GPUs takes seconds
  std::string missing_;         // why they can't be joined
  int asked_ = 0;
};

}  // namespace draftline
