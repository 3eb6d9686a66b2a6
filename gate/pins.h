// SPDX-License-Identifier: Apache-2.0
// Pinned predictions: a JSON file of questions with their approved figures, laid out for readable diffs
// (docs/recipes/ci.md). Paths are relative to the file.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "api/question.h"
#include "core/reader.h"
#include "gate/changes.h"
#include "gate/inputs.h"

namespace draftline::gate {

struct Tolerance {
  double relative = kRounding;
  std::string because = "another compiler or C library may round the last digits otherwise";
};

struct Pin {
  // Its file is relative to the working directory. The oracle, which would double the time of "simulate", is not run.
  Question question{.options = {.oracle = false, .intervals = false}};
  std::vector<std::string> figures;  // names for selected()
  Tolerance tolerance;
  bool own_tolerance = false;        // the pin has its own tolerance instead of the file's
  std::vector<std::string> inputs;   // names of its input files at approval
  std::vector<PointFigures> points;  // approved figures; empty before the first approval
  bool gone = false;                 // its scenario no longer exists
  std::string place;                 // "pins.json#/pins/0"; "" if not in a file yet
};

struct PinFile {
  std::filesystem::path path;
  std::string commit, model;  // of the approving program (core/build_info); "" before the first approval
  Tolerance tolerance;
  std::vector<Pin> pins;
  Inputs inputs;
};

// Throws InputErrors with all mistakes. A missing scenario is a mistake or marks its pin as gone.
enum class Missing { mistake, gone };
PinFile read_pins(const std::filesystem::path&, Missing = Missing::mistake);
void write_pins(const PinFile&);  // atomically, to its path; throws InputErrors and OutputError (core/text_file)
struct NotPinned {
  std::filesystem::path file;  // or a folder
  std::string why;
};
// Adds a pin for each scenario of a folder without a pin: "simulate" for scenarios with a workload, otherwise "run".
// Pins of these two verbs with their usual figures change their verb if the scenario's workload was added or removed. A
// file that can't be read or is not valid JSON is pinned too, so that its mistake is reported with the others. Returns
// the files of the folder that were not pinned but may be scenarios. Throws InputErrors if the folder can't be read.
std::vector<NotPinned> pin_folder(const std::filesystem::path& folder, PinFile&);

}  // namespace draftline::gate
