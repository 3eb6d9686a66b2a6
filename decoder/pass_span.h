// SPDX-License-Identifier: Apache-2.0
// Query-key pairs that a pass computes and cache entries that it reads, as a function of the committed length. Without
// a window both are affine in it. Pairs within the tail are dense under a mask and within a block, whose rows attend to
// each other in both directions, else causal. Under a mask no host knows where in the text a row stands, so windows
// begin where that of the first uncommitted position does, as a block's do. A ring is read whole. Rows that choose
// their tokens (Window::chosen) may all choose others: of a sequence as many are read as there are, at most.
#pragma once
#include <span>
#include <tuple>
#include <vector>

#include "decoder/tape.h"
#include "model/work.h"

namespace draftline {

struct PassRows {  // of one sequence: `tail` uncommitted entries lie before them
  int rows = 0, tail = 0;
  bool masked = false;  // or a block
  bool operator==(const PassRows&) const = default;
};
PassRows rows_of(const Pass&, int rows);
// `length`: committed; a mean of lengths if it is no whole number.
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
  struct Alike {  // sequences that have as many rows, and are ahead of the committed length by as many entries
    PassRows rows;
    int ahead = 0, sequences = 0;
    bool operator==(const Alike&) const = default;
  };
  std::vector<Alike> alike_;
};

}  // namespace draftline
