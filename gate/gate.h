// SPDX-License-Identifier: Apache-2.0
// The gate: recomputes pinned predictions and compares them with the approved figures (docs/recipes/ci.md).
#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gate/changes.h"
#include "gate/pins.h"

namespace draftline::gate {

struct Checked {
  std::string file, question;           // path of the pin file; name of the pin
  std::size_t points = 0, figures = 0;  // in the approved figures
  std::vector<Change> changes;
  std::vector<PointKey> keys;          // of all approved and current points; empty without changes
  std::vector<std::string> causes;     // causes of the changes: different input values, or the program
  std::optional<std::string> failure;  // why there is nothing to compare
  bool wrong_input = false;            // the failure is a mistake in the question's files
  bool fine() const { return changes.empty() && !failure; }
};

// The current answer to a pin's question.
struct Recomputed {
  std::vector<PointFigures> points;  // with the pin's figures only
  Inputs inputs;
  std::optional<std::string> failure;   // why the question can't be answered
  std::vector<std::string> notes = {};  // Answer::notes
  // Figures of the pin that no point has, each with a message.
  std::vector<std::pair<std::string, std::string>> lacking;
};
// `data`: the folder data/. InputErrors of the question become the `failure`.
Recomputed recompute(const Pin&, const std::filesystem::path& pin_file, const std::filesystem::path& data);

// Messages, with places, about figures that exist neither in the answer nor in the approved points.
std::vector<std::string> unknown_figures(const Pin&, const Recomputed&);

// Compares a pin with its current answer. `exact`: with a tolerance of 0.
Checked compare(const PinFile&, const Pin&, const Recomputed&, bool exact);

// The pin file with the current figures (one element per pin) as approved figures, without pins whose scenario no
// longer exists. Throws InputErrors with all failures and with all figures of pins that no point has any more.
PinFile approved(PinFile, const std::vector<Recomputed>&);

// Compares two documents of one verb. `causes` lists the input files whose fingerprints differ.
Checked compare_documents(const Json& was, const Json& is, const std::string& name, double tolerance);

}  // namespace draftline::gate
