// SPDX-License-Identifier: Apache-2.0
// The outlines of one step at any size: sequences of a decode step, tokens of a prefill. The rows, bytes and results of
// each op are linear in the size as long as the step has the same ops. So only a few sizes are recorded, and sizes
// between them are exact. Each line is checked at the largest size for which it is used.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "decoder/priced/step_outline.h"

namespace draftline {

class OutlinesBySize {
 public:
  using Record = std::function<std::vector<SegmentRun>(int size)>;
  using MakeRoom = std::function<void(std::size_t bytes)>;
  // `most`: the largest size that can be recorded. `make_room` is called before an outline is stored, and may drop all
  // stored outlines.
  OutlinesBySize(Record record, int most, MakeRoom make_room)
      : record_(std::move(record)), most_(most), make_room_(std::move(make_room)) {}

  const StepOutline& at(int size);  // valid until make_room() forgets it
  Bytes activations(int size);      // memory
  void forget();

 private:
  struct Recorded {
    StepOutline outline;
    std::vector<std::vector<TempUse>> temps;  // of each segment
    bool operator==(const Recorded&) const;
  };
  struct Line {    // through the recordings of two sizes, one after the other
    int from, to;  // the sizes for which it holds
    Recorded first, second;
  };
  const Recorded& recorded(int size);
  bool on_line(int size);
  bool holds_at(int size);
  void find_line();
  Recorded along(const Line&, int size, bool with_temps) const;

  Record record_;
  int most_;
  MakeRoom make_room_;
  std::map<int, Recorded> recorded_;
  std::map<int, StepOutline> derived_;
  std::map<int, Bytes> activations_;
  std::optional<Line> line_;
  std::optional<int> bend_;  // a size beyond line_->to at which the line is known not to hold
};

}  // namespace draftline
