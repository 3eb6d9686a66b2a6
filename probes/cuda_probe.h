// SPDX-License-Identifier: Apache-2.0
// Times the kernels of decoder/cuda on random data. Each is verified against plain double arithmetic, then timed as
// nodes of a CUDA graph that rotates through copies of weights and caches that exceed L2. This header needs no CUDA; in
// a build without CUDA the constructor throws DeviceError.
#pragma once
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/calibration/measured.h"

namespace draftline {

class CudaProbe {
 public:
  CudaProbe();  // throws DeviceError if there is no suitable GPU
  ~CudaProbe();
  std::string title() const;
  // "l2_cache" and "memory" in bytes, "multiprocessors", versions, and the clocks, temperature and power seen so far.
  std::map<std::string, double> machine() const;
  std::vector<std::string> remarks() const;  // sentences for the user about the clocks so far
  // Times a point within about `time_budget`. A point that can't run has the reason in `skipped`; throws DeviceError if
  // the device fails.
  MeasuredPoint measure(const MeasuredPoint&, Seconds time_budget);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace draftline
