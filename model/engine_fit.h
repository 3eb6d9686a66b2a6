// SPDX-License-Identifier: Apache-2.0
// The host's side of our decoder on a processor, from a measured file's "step_host" and "segment_host" points: so much a
// step, an op, an emitted token and a segment (docs/engines.md).
#pragma once
#include "model/measured.h"

namespace draftline {

struct HostFit {
  Seconds step, op, token, segment;
  double median_error = 0, worst_error = 0;  // of the fit's own points
};

// InputErrors if points are missing.
HostFit fit_host(const Measured&);

}  // namespace draftline
