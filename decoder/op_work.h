// SPDX-License-Identifier: Apache-2.0
// The one place where an op's fields become a kernel's shape (model/work), so that what is priced is what is executed.
#pragma once
#include <span>

#include "decoder/tape.h"
#include "model/work.h"

namespace draftline {

Kernel kernel_of(const Op&, const Tape&);

// The weight that an op streams, if it has one: it may still lie in L2 when the next op of the step wants it again.
std::optional<Weight> streamed_weight(const Op&);

// Query-key pairs and cache entries that a pass meets: affine in the committed lengths. Tail pairs are dense under a
// mask, causal without.
Span span_of(const SegmentRun&, int pass, std::span<const int> lengths);

// Rows per sequence of the widest pass that verifies; drafting passes may be wider.
int verified_rows(const SegmentRun&);

// FLOP, bytes and logical ops of some segments, by the one accounting. Lengths: committed, of every sequence.
struct Totals {
  Work work;
  long ops = 0, reads = 0;  // reads: host reads
  void add(const SegmentRun&, std::span<const int> lengths);
};

}  // namespace draftline
