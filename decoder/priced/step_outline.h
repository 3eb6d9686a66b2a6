// SPDX-License-Identifier: Apache-2.0
// A recorded step without its tapes: all that its price takes from them. Ops that every device and engine price alike
// are one kind, so that a network's equal layers are looked at once. It is small, and steps of other sizes share most
// of it: steps can be kept and priced on many devices.
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
    int heads = 1, kv_heads = 1;  // of attention
    Window window = {};           // of the cache over which it attends
    bool operator==(const Kind&) const = default;
  };
  struct Op {
    int kind = 0;      // in `kinds`
    int pass = 0;      // of its segment; below 0: none
    int accessed = 0;  // which weight or which layer, counted from 0 through the whole step
    bool operator==(const Op&) const = default;
  };
  struct Segment {
    std::shared_ptr<const std::vector<Op>> shared_ops;  // with steps that differ from this one in their sizes alone
    std::vector<PassSpan> spans;                        // of each pass
    bool waits = true;
    const std::vector<Op>& ops() const { return *shared_ops; }
  };

  explicit StepOutline(std::span<const SegmentRun>);
  const Kind& kind(const Op& op) const { return kinds[at(op.kind)]; }
  const Work& work_of(const Op& op) const { return work[at(op.kind)]; }
  // Holds the ops of another outline instead of its own where these are equal.
  void share_ops(const StepOutline&);

  // What one of two devices runs of the step: the drafter's ops or all others, without the segments that it has no part
  // in.
  enum class Part : std::uint8_t { drafter, target };
  StepOutline part(Part) const;

  std::vector<Kind> kinds;
  std::vector<Work> work;  // of each kind; of attention none, as it depends on the context
  std::vector<Segment> segments;
  int weights = 0, layers = 0;  // accessed
  int verified_rows = 0;        // of a sequence, in the widest pass that verifies
  bool looks_up = false;        // whether the host looks drafts up, and in how many suffix trees
  int trees = 0;
  int widest_pass = 0;        // rows of a sequence in the widest pass of all
  std::size_t bytes() const;  // of memory, approximately; without shared ops
};

}  // namespace draftline
