// SPDX-License-Identifier: Apache-2.0
// Divides a plain step of our decoder on a GPU by the host's clock: the time to record it, the time to launch it (as
// graphs or kernel by kernel), and the time that the GPU waits for the host (docs/explanation/cuda.md, "Probes"). And
// times a layer of it, whose kernels follow one another as in a step, where every other probe repeats one.
#pragma once
#include "decoder/cuda/gemm/product_choices.h"
#include "probes/cuda/timer.h"

namespace draftline {

class DecoderProbe {
 public:
  explicit DecoderProbe(CudaTimer&);
  ~DecoderProbe();
  void measure(MeasuredPoint&, Seconds time_budget);        // step_host, step_issue, step_exposed
  void measure_layer(MeasuredPoint&, Seconds time_budget);  // layer

 private:
  struct Decoder;
  Decoder& decoder(int layers, int sequences, bool graphs);
  double kernels(int layers, int sequences);  // seconds of a step's kernels in a graph
  CudaTimer& timer_;
  // All decoders have the same algorithms, as times of one are subtracted from those of another.
  std::shared_ptr<cuda::ProductChoices> products_ = std::make_shared<cuda::ProductChoices>();
  std::unique_ptr<Decoder> last_;  // kept for the next point, which often has the same shape
};

}  // namespace draftline
