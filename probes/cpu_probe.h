// SPDX-License-Identifier: Apache-2.0
// Times the ops of the CPU interpreter on random data. Each op is verified against plain double arithmetic before it is
// timed; where its weights are to be cold, it rotates through copies that exceed the last-level cache.
#pragma once
#include <memory>
#include <optional>

#include "model/calibration/measured.h"
#include "probes/samples.h"

namespace draftline {

// A fixed piece of arithmetic whose time shows a CPU's clock, and whether another program shares the core: while
// neither changes, it takes as long as before. Wide vectors lower a CPU's clock for most of a millisecond, and a
// decoder's GEMMs use them all the time. A reading therefore begins with GEMMs, so that an op that is timed after it
// has the clock of a decoder.
class ClockReference {
 public:
  // Takes readings for `watch`, so that the usual clock is known from the start.
  explicit ClockReference(Seconds watch);
  ~ClockReference();
  double measure();  // one reading, in seconds
  // Runs a GEMM without timing it: the core stays as busy as in a decoder, and caches keep what a measurement needs.
  void keep_busy();
  struct Readings {
    std::size_t all = 0, free = 0;  // all readings so far; those during which no other program shared the core
  };
  Readings read(int more);  // takes `more` readings and counts all so far
  double usual() const;     // seconds that a reading takes on a free core
  // Seconds that a reading takes on a free core on average, or those of the probe that times are compared with.
  double typical() const { return normalised_to_ ? *normalised_to_ : clock_.typical(); }
  // Normalises times to the clock of an earlier probe, in seconds of a reading. This is the usual clock too if no
  // reading came near it, as then another program had the core during all of them.
  void normalise_to(double typical) { normalised_to_ = typical; }

 private:
  struct Product;
  std::unique_ptr<Product> product_;
  UsualClock clock_;
  double usual_ = 0;
  std::optional<double> normalised_to_;
  Readings readings_;
};

// Times one point of a grid (probes/cpu_grid.h) within about `time_budget`. A point that can't run says why in
// `skipped`.
MeasuredPoint probe_cpu(const MeasuredPoint&, Seconds time_budget, ClockReference&);

}  // namespace draftline
