// SPDX-License-Identifier: Apache-2.0
// Times the ops of the CPU interpreter: verified against plain double arithmetic first, then timed, on random data, with
// weights rotated past the last cache where they are to be cold. Each point is one tape with one op.
#pragma once
#include "model/measured.h"
#include "probes/samples.h"

namespace draftline {

// A fixed piece of arithmetic: while it takes what it usually takes, the clock is what it was and nobody shares the core.
struct Yardstick {
  explicit Yardstick(Seconds watch);  // reads for so long first
  double measure();                   // seconds
  UsualClock clock;
};

// Times one point of a grid (probes/cpu_grid.h), for about `patience`; a point that can't run comes back with its reason.
MeasuredPoint probe_cpu(const MeasuredPoint&, Seconds patience, Yardstick&);

}  // namespace draftline
