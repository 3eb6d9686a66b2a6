// SPDX-License-Identifier: Apache-2.0
// Times the ops of the CPU interpreter: verified against plain double arithmetic first, then timed, on random data, with
// weights rotated past the last cache where they are to be cold. Each point is one tape with one op.
#pragma once
#include <limits>

#include "model/measured.h"

namespace draftline {

// A fixed piece of arithmetic: while it takes what it took at best, the clock is what it was and nobody shares the core.
class Yardstick {
 public:
  double measure();  // seconds
  double best() const { return best_; }

 private:
  double best_ = std::numeric_limits<double>::infinity();
};

// Times one point of a grid (probes/cpu_grid.h), for about `patience`; a point that can't run comes back with its reason.
MeasuredPoint probe_cpu(const MeasuredPoint&, Seconds patience, Yardstick&);

}  // namespace draftline
