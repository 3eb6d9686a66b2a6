// SPDX-License-Identifier: Apache-2.0
// Times the ops of the CPU interpreter: verified against plain double arithmetic first, then timed, on random data, with
// weights rotated past the last cache where they are to be cold. Each point is one tape with one op.
#pragma once
#include <memory>

#include "model/measured.h"
#include "probes/samples.h"

namespace draftline {

// A fixed piece of arithmetic: while it takes what it usually takes, the clock is what it was and nobody shares the core. Wide
// vectors lower a CPU's clock for most of a millisecond, and a decoder's products use them all the time: so the
// reference starts with products, and what is timed behind it runs at the clock that it has in a decoder.
class ClockReference {
 public:
  explicit ClockReference(Seconds watch);  // reads for so long first
  ~ClockReference();
  double measure();  // seconds
  void idle();       // some of its products, untimed: they keep the core as a decoder does, and its own caches alone
  struct Readings {
    std::size_t all = 0, free = 0;  // free: by the clock that was usual then, nobody shared the core
  };
  Readings read(int more);  // takes so many, and tells all there were
  double usual() const;
  double typical() const { return normalised_to_ > 0 ? normalised_to_ : clock_.typical(); }
  // The clock of a probe that is compared with: the usual one too where no reading came near it, as others have the core.
  void normalise_to(double typical) { normalised_to_ = typical; }

 private:
  struct Product;
  std::unique_ptr<Product> product_;
  UsualClock clock_;
  double usual_ = 0, normalised_to_ = 0;
  Readings readings_;
};

// Times one point of a grid (probes/cpu_grid.h), for about `time_budget`; a point that can't run comes back with its reason.
MeasuredPoint probe_cpu(const MeasuredPoint&, Seconds time_budget, ClockReference&);

}  // namespace draftline
