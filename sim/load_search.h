// SPDX-License-Identifier: Apache-2.0
// Finds the largest load that meets latency targets with few simulations, from their margins to the targets.
#pragma once
#include <optional>

namespace draftline {

class LoadSearch {
 public:
  static constexpr double kPrecise = 1.02;  // final ratio of the smallest missed to the largest served load

  struct Tried {
    double rate = 0;               // requests/s
    std::optional<double> margin;  // least limit / value over the targets, 1 at the limit; none: not known
  };
  // `unloaded`: one request at a time, rate 0. `served`: a load that meets the targets. The first step increases it at
  // most by the factor `far`.
  LoadSearch(Tried unloaded, Tried served, double far) : before_(unloaded), served_(served), far_(far) {}

  bool done() const { return missed_ && missed_->rate <= kPrecise * served_.rate; }
  double next() const;  // the load to try
  void record(Tried, bool serves);

  double served() const { return served_.rate; }   // the largest load that meets the targets
  double missed() const { return missed_->rate; }  // the smallest load that misses one; exists once done()

 private:
  double by_line() const;
  Tried before_, served_;  // before_: a smaller served load
  std::optional<Tried> missed_;
  double far_;
  int same_side_ = 0;  // consecutive runs with the same outcome
  bool last_served_ = true;
};

}  // namespace draftline
