// SPDX-License-Identifier: Apache-2.0
// A plain step of our decoder on a GPU, cut by the host's clock: what it takes to record, to launch (graphs or kernel by
// kernel), and how long the GPU waits for it all (docs/cuda.md, "The host's side").
#pragma once
#include "probes/cuda/timer.h"

namespace draftline {

class DecoderProbe {
 public:
  explicit DecoderProbe(CudaTimer&);
  ~DecoderProbe();
  void measure(MeasuredPoint&, Seconds time_budget);  // step_host, step_issue, step_exposed

 private:
  struct Decoder;
  Decoder& decoder(int layers, int sequences, bool graphs);
  double kernels(int layers, int sequences);  // seconds that a step's kernels take as a graph
  CudaTimer& timer_;
  std::unique_ptr<Decoder> last_;  // points of one shape follow each other
};

}  // namespace draftline
