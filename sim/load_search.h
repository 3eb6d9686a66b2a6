// SPDX-License-Identifier: Apache-2.0
// The largest load that meets latency targets, by few simulations, each with its margin to the targets.
#pragma once
#include <optional>

namespace draftline {

class LoadSearch {
 public:
  static constexpr double kPrecise = 1.02;  // at the end, the load that misses a target over the one that is served

  struct Tried {
    double rate = 0;               // requests/s
    std::optional<double> margin;  // the least of limit / value over the targets, 1 at the limit; none: not known
  };
  // `unloaded`: one request at a time, of rate 0. `served`: a load that meets the targets. The first step reaches at
  // most `far` times as much.
  LoadSearch(Tried unloaded, Tried served, double far) : before_(unloaded), served_(served), far_(far) {}

  bool done() const { return missed_ && missed_->rate <= kPrecise * served_.rate; }
  double next() const;  // the load to try
  void record(Tried, bool serves);

  double served() const { return served_.rate; }   // the largest load that meets them
  double missed() const { return missed_->rate; }  // the smallest that does not; there is one once it is done

 private:
  double by_line() const;
  Tried before_, served_;  // before_: a smaller load that is served
  std::optional<Tried> missed_;
  double far_;
  int same_side_ = 0;  // runs of late with the same outcome
  bool last_served_ = true;
};

}  // namespace draftline
