// SPDX-License-Identifier: Apache-2.0
// Query-key pairs that a pass computes and cache entries that it reads, as a function of the committed length. Without
// a window both are affine in it. Pairs within the tail are dense under a mask and within a block, whose rows attend to
// each other in both directions; otherwise they are causal. Under a mask the host does not have a row's text position,
// so all windows begin at that of the first uncommitted position, as in a block. A ring is read entirely. Rows that
// choose their tokens (Window::chosen) may choose different ones, so up to all tokens of a sequence are read.
#pragma once
#include <span>
#include <tuple>
#include <vector>

#include "decoder/tape.h"
#include "model/work.h"

namespace draftline {

struct PassRows {  // of one sequence; `tail` uncommitted entries precede them
  int rows = 0, tail = 0;
  bool masked = false;  // or a block
  bool operator==(const PassRows&) const = default;
};
PassRows rows_of(const Pass&, int rows);
// `length`: committed length; may be a mean of lengths.
Span span_of(const PassRows&, double length, Window = {});

// The span of a pass over sequences whose committed lengths are equal.
class PassSpan {
 public:
  PassSpan() = default;
  PassSpan(const SegmentRun&, int pass);
  Span at(double length, Window = {}) const;
  bool operator==(const PassSpan&) const = default;
  static auto members(auto& self) { return std::tie(self.alike_); }

 private:
  struct Alike {  // sequences with equal rows and equal entries ahead of the committed length
    PassRows rows;
    int ahead = 0, sequences = 0;
    bool operator==(const Alike&) const = default;
  };
  std::vector<Alike> alike_;
};

}  // namespace draftline
