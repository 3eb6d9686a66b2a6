// SPDX-License-Identifier: Apache-2.0
// What our decoder's host does beside the ops: recording them, hashing, dispatch, reading what was emitted. A step of a tiny
// network of random weights by the clock, less its tape run again alone; without speculation, at few and many layers and
// sequences (group A of an engine's profile, measured on the CPU).
#pragma once
#include <vector>

#include "probes/cpu_probe.h"

namespace draftline {

// "step_host": a step of `layers` layers and `sequences` sequences, whose tape has so many `ops`; "segment_host": a segment
// of one op. Each takes about `time_budget`.
std::vector<MeasuredPoint> host_grid();
MeasuredPoint probe_host(const MeasuredPoint&, Seconds time_budget, ClockReference&);

}  // namespace draftline
