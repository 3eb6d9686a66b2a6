// SPDX-License-Identifier: Apache-2.0
// Times the ops of the CPU interpreter: verified against plain double arithmetic first, then timed, on random data, with
// weights rotated past the last cache where they are to be cold. Each point is one tape with one op.
#pragma once
#include <vector>

#include "model/measured.h"

namespace draftline {

// A fixed piece of arithmetic: while it takes what it usually takes, the clock is what it was and nobody shares the core.
class Yardstick {
 public:
  explicit Yardstick(Seconds watch);  // reads for so long first
  double measure();                   // seconds
  double usual()
      const;  // lower quartile of all readings: the machine as it mostly is, between rare boosts and neighbours
  static bool is_usual(double reading, double usual);

 private:
  std::vector<double> readings_;
};

// Times one point of a grid (probes/cpu_grid.h), for about `patience`; a point that can't run comes back with its reason.
MeasuredPoint probe_cpu(const MeasuredPoint&, Seconds patience, Yardstick&);

}  // namespace draftline
