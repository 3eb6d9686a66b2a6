// SPDX-License-Identifier: Apache-2.0
// Converts an op's fields to the shape of a kernel (model/work). This is the only conversion, so that priced and
// executed work are equal.
#pragma once
#include <span>

#include "decoder/tape.h"
#include "model/work.h"

namespace draftline {

Kernel kernel_of(const Op&, const Tape&);

// The window of the cache over which an op attends; none: it attends to everything, or does not attend.
Window window_of(const Op&);

// Query-key pairs that a pass computes over a cache with this window, and cache entries that it reads (pass_span.h).
Span span_of(const SegmentRun&, int pass, std::span<const int> lengths, Window = {});

// Rows per sequence of the widest pass of phase `verify`. Drafting passes may be wider.
int verified_rows(const SegmentRun&);

// FLOP, bytes and logical ops of some segments, by the accounting of model/work. `lengths`: the committed length of
// every sequence.
struct Totals {
  Work work;
  long ops = 0, reads = 0;  // `reads` counts host reads
  void add(const SegmentRun&, std::span<const int> lengths);
};

}  // namespace draftline
