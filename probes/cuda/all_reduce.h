// SPDX-License-Identifier: Apache-2.0
// Probes all-reduces over several GPUs: the sum of all ranks' messages is verified, then timed as nodes of one graph
// per rank, as a tensor-parallel decoder runs it. With one GPU or without NCCL the point has this reason in `skipped`.
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
  std::unique_ptr<Nccl> nccl_;  // kept from the last point, as a communicator takes seconds to make
  std::string missing_;         // why there is no communicator
  std::optional<int> ranks_;    // of the last point
};

}  // namespace draftline
