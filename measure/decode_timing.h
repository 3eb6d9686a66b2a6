// SPDX-License-Identifier: Apache-2.0
// What a decode run took: steps by phase, and the bytes and FLOP of their tapes over that time. Prefills are apart, and so
// are the first steps, in which graphs are captured and algorithms chosen.
#pragma once
#include <chrono>
#include <optional>
#include <ostream>
#include <vector>

#include "core/json_writer.h"
#include "decoder/op_work.h"
#include "methods/decoder.h"
#include "model/device.h"

namespace draftline::measure {

class DecodeTiming {
 public:
  DecodeTiming(Decoder&, int warm_up_steps);
  void after_turn(bool prefill, int emitted);

  void print(std::ostream&, const Device* limits, DType format) const;
  void write(JsonWriter&, const Device* limits, DType format) const;

 private:
  struct Sums {  // of the measured steps
    double wall = 0, device = 0, draft = 0, verify = 0, commit = 0, prefill_wall = 0;
    long steps = 0, emitted = 0, left_out = 0, prefills = 0;
    Work work;
    bool phases() const {
      return draft + verify + commit > 0.999 * device && device > 0;
    }  // of every step, not of some
  };
  struct Ran {
    SegmentRun run;
    std::vector<int> lengths;
  };
  Sums sums() const;

  Decoder& decoder_;
  int warm_up_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  DeviceSeconds before_;
  Sums sums_;
  std::vector<Ran> turn_, measured_;  // their work is added up when the run is over
};

}  // namespace draftline::measure
