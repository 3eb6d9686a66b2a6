// SPDX-License-Identifier: Apache-2.0
// The part of a recorded step's tapes that its price needs. Ops with equal prices on every device and engine are one
// kind, so that equal layers are priced once. An outline is small and shares most data with steps of other sizes, so
// that outlines can be stored and priced on many devices.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "core/int_indexed.h"
#include "decoder/op_work.h"
#include "decoder/pass_span.h"

namespace draftline {

struct StepOutline {
  struct Kind {
    Kernel kernel;
    std::string_view key;  // as op_key() names it
    Phase phase = Phase::verify;
    Accesses access = Accesses::nothing;
    int heads = 1, kv_heads = 1;  // for attention
    Window window = {};           // for attention's cache
    bool operator==(const Kind&) const = default;
  };
  struct Op {
    int kind = 0;      // in `kinds`
    int pass = 0;      // pass of its segment; below 0: none
    int accessed = 0;  // index of the weight or the layer, counted over the whole step
    bool operator==(const Op&) const = default;
  };
  struct Segment {
    std::shared_ptr<const std::vector<Op>> shared_ops;  // shared with steps that differ only in sizes
    std::vector<PassSpan> spans;                        // of each pass
    bool waits = true;
    const std::vector<Op>& ops() const { return *shared_ops; }
  };

  explicit StepOutline(std::span<const SegmentRun>);
  const Kind& kind(const Op& op) const { return kinds[at(op.kind)]; }
  const Work& work_of(const Op& op) const { return work[at(op.kind)]; }
  // Uses the ops of another outline where they are equal.
  void share_ops(const StepOutline&);

  // The part of the step on one of two devices: the drafter's ops or all others, without empty segments.
  enum class Part : std::uint8_t { drafter, target };
  StepOutline part(Part) const;

  std::vector<Kind> kinds;
  std::vector<Work> work;  // of each kind; empty for attention, which depends on the contextt
  std::vector<Segment> segments;
  int weights = 0, layers = 0;  // numbers of accessed weights and layers
  int verified_rows = 0;        // per sequence, in the widest verifying pass
  int texts = 0, trees = 0;     // that the host searches for drafts
  bool looks_up() const { return texts + trees > 0; }
  int widest_pass = 0;        // rows per sequence in the widest pass
  std::size_t bytes() const;  // approximate memory without shared ops
};

}  // namespace draftline
