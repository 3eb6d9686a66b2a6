// SPDX-License-Identifier: Apache-2.0
// The times of a `decode` run: steps by phase, and the bytes/s and FLOP/s of their tapes. Prefills are counted
// separately. The first steps are excluded, because graphs are captured and algorithms are chosen in them.
#pragma once
#include <chrono>
#include <optional>
#include <ostream>
#include <vector>

#include "core/json_writer.h"
#include "decoder/op_work.h"
#include "methods/decoder.h"
#include "model/devices/device.h"

namespace draftline::measure {

class DecodeTiming {
 public:
  DecodeTiming(Decoder&, int warm_up_steps);   // observes the segments of the decoder, which must outlive this object
  void after_turn(bool prefill, int emitted);  // after each prefill or step; `emitted`: tokens of the whole batch

  // A summary as text or JSON. `limits`: a device with whose bandwidth and peak FLOP/s in `format` the rates are
  // compared; null: no comparison.
  void print(std::ostream&, const Device* limits, DType format) const;
  void write(JsonWriter&, const Device* limits, DType format) const;

 private:
  struct Sums {  // over the measured steps; times in seconds
    double wall = 0, device = 0, draft = 0, verify = 0, commit = 0, prefill_wall = 0;
    int steps = 0, emitted = 0, left_out = 0, prefills = 0;
    Work work;
    // Whether the phases of every step are known, not only those of some.
    bool phases() const { return draft + verify + commit > 0.999 * device && device > 0; }
  };
  struct RecordedSegment {
    SegmentRun run;
    std::vector<int> lengths;
  };
  Sums sums() const;

  Decoder& decoder_;
  int warm_up_;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
  DeviceSeconds before_;
  Sums sums_;
  std::vector<RecordedSegment> turn_, measured_;  // their work is summed at the end, because summing takes time
};

}  // namespace draftline::measure
