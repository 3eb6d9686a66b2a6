// SPDX-License-Identifier: Apache-2.0
// The host's side of our decoder, from a measured file: on a CPU so much a step, an op, an emitted token and a segment
// ("step_host", "segment_host"); on a GPU also a graph's launch, a kernel's, and a read ("step_issue", "step_exposed";
// docs/reference/engines.md).
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "model/calibration/measured.h"

namespace draftline {

struct HostFit {
  Seconds step, op, token, segment;
  double median_error = 0, worst_error = 0;  // of the fit's own points
};

// InputErrors if points are missing.
HostFit fit_host(const Measured&);

struct GpuHostFit {
  Seconds step, record, token;  // a step; each of its ops; each emitted token
  Seconds graph_launch, issue;  // of a graph; of a single kernel
  Seconds sync;                 // a read, beyond what is counted above
  // What a graph saves the device per kernel; kernels that were timed as a graph's nodes have it already.
  std::optional<Seconds> credit;
  // How well the fit predicts the time that the GPU waits for the host in batches that were not fitted: the number of
  // these, and the median and worst relative error.
  int unseen = 0;
  double median_error = 0, worst_error = 0;
  std::vector<std::string> warnings;
};
bool has_gpu_host(const Measured&);
// Fitted on batches of up to 16; InputErrors if points are missing.
GpuHostFit fit_gpu_host(const Measured&);

// What choosing a token costs, whoever does it: so much, and so much per logit (sample_fixed, sample_per_logit).
struct SamplerFit {
  std::string op;
  Seconds fixed, per_logit;
  double worst_error = 0;
};
std::vector<SamplerFit> fit_samplers(const Measured&);

}  // namespace draftline
