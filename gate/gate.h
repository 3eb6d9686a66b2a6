// SPDX-License-Identifier: Apache-2.0
// The gate: pins asked again, and what moved since they were approved, by how much, and why.
#pragma once
#include <functional>
#include <string>
#include <tuple>
#include <vector>

#include "gate/changes.h"
#include "gate/pins.h"

namespace draftline::gate {

struct Checked {
  std::string file, question;  // the pin file, and the pin in it
  std::size_t points = 0, figures = 0;
  std::vector<Change> changes;
  std::vector<PointKey> keys;       // of all points, before and now, if anything changed
  std::vector<std::string> causes;  // of the changes: input values that differ, or the program
  std::string failure;              // why the question can't be answered now; "": it can
  bool fine() const { return changes.empty() && failure.empty(); }
};

// A pin's answer as it is today.
struct Recomputed {
  std::vector<PointFigures> points;  // selected
  Inputs inputs;
  std::string failure;

  static auto members(auto& s) { return std::tie(s.points, s.inputs, s.failure); }
};
Recomputed recompute(const Pin&, const std::filesystem::path& pin_file, const std::filesystem::path& data);

// `exact`: tolerances do not count.
Checked compare(const PinFile&, const Pin&, const Recomputed&, bool exact);

// The file with today's figures in place of those approved before, without the pins whose scenario is gone; InputErrors
// if a question can't be answered.
PinFile approved(PinFile, const std::vector<Recomputed>&);

// Two documents of one verb. `causes`: whose fingerprints differ.
Checked compare_documents(const Json& was, const Json& is, const std::string& name, double tolerance);

}  // namespace draftline::gate
