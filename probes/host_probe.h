// SPDX-License-Identifier: Apache-2.0
// Times the host work of our decoder: recording ops, hashing, dispatch, and reading what was emitted. A step of a tiny
// network with random weights is timed, and then its tape alone; the difference is the host's. Steps are plain
// decoding, with few and many layers and sequences (group A of an engine's profile, measured on the CPU).
#pragma once
#include <vector>

#include "probes/cpu_probe.h"

namespace draftline {

// "step_host": a step of `layers` layers and `sequences` sequences whose tape has `ops` ops; "segment_host": a segment
// of one op.
std::vector<MeasuredPoint> host_grid();
// Times a point within about `time_budget`. A point that can't run has the reason in `skipped`.
MeasuredPoint probe_host(const MeasuredPoint&, Seconds time_budget, ClockReference&);

}  // namespace draftline
