// SPDX-License-Identifier: Apache-2.0
// Times the kernels of decoder/cuda: verified against plain double arithmetic first, then timed as nodes of a graph, on noise,
// with weights and caches rotated past L2. No CUDA header in here; built without CUDA, its constructor throws DeviceError.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/measured.h"

namespace draftline {

class CudaProbe {
 public:
  CudaProbe();  // DeviceError where there is no GPU that will do
  ~CudaProbe();
  std::string title() const;
  // "l2_cache", "memory" in bytes, "multiprocessors", versions; clocks, temperature and power as far as they were watched.
  std::map<std::string, double> machine() const;
  std::vector<std::string> remarks() const;  // what is to be said aloud of the clocks, so far
  // A point that can't run comes back with its reason; a device that fails throws DeviceError.
  MeasuredPoint measure(const MeasuredPoint&, Seconds time_budget);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace draftline
