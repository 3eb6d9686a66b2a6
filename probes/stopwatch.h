// SPDX-License-Identifier: Apache-2.0
// Times work of this thread. Long work is timed by the thread's CPU clock, which stops while another program has the
// core; short work, which is seldom interrupted, by the monotonic clock, which is quicker to read.
#pragma once
#include <time.h>

#include <algorithm>

#include "core/int_indexed.h"
#include "core/quantity.h"

namespace draftline {

class Stopwatch {
 public:
  Stopwatch() : thread_(read(CLOCK_THREAD_CPUTIME_ID)), wall_(read(CLOCK_MONOTONIC)) {}
  Seconds elapsed() const {
    constexpr double kLong = 2e-4;
    const double wall = read(CLOCK_MONOTONIC) - wall_;
    return Seconds{wall < kLong ? wall : std::min(wall, read(CLOCK_THREAD_CPUTIME_ID) - thread_)};
  }
  Seconds wall() const { return Seconds{read(CLOCK_MONOTONIC) - wall_}; }  // the wall time, for work of another device

 private:
  static double read(clockid_t clock) {
    timespec t{};
    clock_gettime(clock, &t);
    return to_double(t.tv_sec) + 1e-9 * to_double(t.tv_nsec);
  }
  double thread_, wall_;
};

}  // namespace draftline
