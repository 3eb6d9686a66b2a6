// SPDX-License-Identifier: Apache-2.0
#include "measure/decode_timing.h"

#include <algorithm>

#include "core/quantity_text.h"

namespace draftline::measure {

DecodeTiming::DecodeTiming(Decoder& decoder, int warm_up_steps) : decoder_(decoder), warm_up_(warm_up_steps) {
  decoder.ops.on_segment = [this](const SegmentRun& run) { turn_.push_back({run, decoder_.generator.now().lengths}); };
}

void DecodeTiming::after_turn(bool prefill, int emitted) {
  const auto now = std::chrono::steady_clock::now();
  const double wall = std::chrono::duration<double>(now - last_).count();
  const DeviceSeconds device = decoder_.backend->device_seconds();
  last_ = now;
  if (prefill) {
    sums_.prefill_wall += wall;
    ++sums_.prefills;
  } else if (sums_.left_out < warm_up_) {
    ++sums_.left_out;
  } else {
    sums_.wall += wall;
    sums_.device += device.all - before_.all;
    sums_.draft += device.draft - before_.draft;
    sums_.verify += device.verify - before_.verify;
    sums_.commit += device.commit - before_.commit;
    ++sums_.steps;
    sums_.emitted += emitted;
    measured_.insert(measured_.end(), std::make_move_iterator(turn_.begin()), std::make_move_iterator(turn_.end()));
  }
  turn_.clear();
  before_ = device;
}

DecodeTiming::Sums DecodeTiming::sums() const {
  Sums s = sums_;
  Totals totals;
  for (const RecordedSegment& r : measured_) totals.add(r.run, r.lengths);
  s.work = totals.work;
  return s;
}

void DecodeTiming::print(std::ostream& out, const Device* limits, DType format) const {
  const Sums s = sums();
  if (s.steps == 0) {
    out << "no step was timed: the first " << s.left_out << " were left out\n";
    return;
  }
  const auto each = [&](double seconds) { return to_text(Seconds{seconds / s.steps}); };
  out << "step " << each(s.wall);
  if (s.phases()) out << ": draft " << each(s.draft) << ", verify " << each(s.verify) << ", commit " << each(s.commit);
  out << ", device " << each(s.device) << ", host " << each(std::max(0.0, s.wall - s.device)) << "; "
      << s.emitted / s.wall << " tokens/s while decoding (" << s.steps << " steps, " << s.left_out
      << " before them left out)\n";
  const BytesPerSecond bandwidth = s.work.bytes() / Seconds{s.wall};
  const FlopsPerSecond rate = s.work.flops / Seconds{s.wall};
  out << "the tapes' bytes and FLOP over that time: " << to_text(bandwidth) << ", " << to_text(rate);
  if (limits != nullptr) {
    out << "; " << limits->title << ": " << 100 * (bandwidth.value / limits->bandwidth.value) << " % of its "
        << to_text(limits->bandwidth);
    if (const FlopsPerSecond peak = limits->peak_of(format); peak.value > 0)
      out << ", " << 100 * (rate.value / peak.value) << " % of its " << to_text(peak);
  }
  out << "\n";
}

void DecodeTiming::write(JsonWriter& w, const Device* limits, DType format) const {
  const Sums s = sums();
  w.key("timing");
  w.begin_object();
  w.member("steps", s.steps);
  w.member("steps_left_out", s.left_out);
  w.member("prefills", s.prefills);
  w.figure("prefill_time", s.prefill_wall, "s", FigureKind::measured);
  if (s.steps > 0) {
    const auto each = [&](const char* key, double seconds) {
      w.figure(key, seconds / s.steps, "s", FigureKind::measured);
    };
    each("step_time", s.wall);
    each("device", s.device);
    each("host", std::max(0.0, s.wall - s.device));
    if (s.phases()) {  // a graph cannot be divided into phases
      each("draft", s.draft);
      each("verify", s.verify);
      each("commit", s.commit);
    }
    w.figure("decode_throughput", s.emitted / s.wall, "tokens/s", FigureKind::measured);
    const double counts = s.steps;
    w.figure("bytes_per_step", Bytes{s.work.bytes().value / counts}, FigureKind::predicted);
    w.figure("flop_per_step", Flops{s.work.flops.value / counts}, FigureKind::predicted);
    const BytesPerSecond bandwidth = s.work.bytes() / Seconds{s.wall};
    const FlopsPerSecond rate = s.work.flops / Seconds{s.wall};
    w.figure("bandwidth", bandwidth, FigureKind::measured);
    w.figure("flop_rate", rate, FigureKind::measured);
    if (limits != nullptr) {
      w.figure("bandwidth_share", bandwidth.value / limits->bandwidth.value, "1", FigureKind::measured);
      if (const FlopsPerSecond peak = limits->peak_of(format); peak.value > 0)
        w.figure("peak_share", rate.value / peak.value, "1", FigureKind::measured);
    }
  }
  w.end_object();
}

}  // namespace draftline::measure
