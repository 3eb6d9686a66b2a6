// SPDX-License-Identifier: Apache-2.0
// The time of a streaming kernel by a fit. `resident`: the bytes that may be in L2 in a probe that repeats one shape;
// 0: all from memory.
#pragma once
#include "model/devices/device.h"

namespace draftline {

inline Seconds stream_time(const StreamFit& f, const Device& d, Bytes moved, Bytes resident) {
  const double x = resident / (f.l2_share * d.l2), hits = resident.value > 0 ? 1 / (1 + (x * x) * (x * x)) : 0;
  const double speed = (1 - hits) / f.bandwidth_share + hits / f.l2_speed;
  return f.fixed + speed * (moved / d.bandwidth);
}

}  // namespace draftline
