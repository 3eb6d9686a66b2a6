// SPDX-License-Identifier: Apache-2.0
// Pinned predictions: a file of questions with their approved figures, read and written as JSON that people can follow
// in a diff (docs/ci.md describes it). Paths are relative to the file.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/reader.h"
#include "gate/answers.h"
#include "gate/inputs.h"

namespace draftline::gate {

struct Tolerance {
  double relative = 1e-9;
  std::string because = "another compiler or C library may round the last digits otherwise";
};

struct Pin {
  Question question;                 // its file: as it can be opened from here
  std::vector<std::string> figures;  // as selected() takes them
  Tolerance tolerance;
  bool own_tolerance = false;        // it differs from the file's
  std::vector<std::string> inputs;   // names of its input files when it was approved
  std::vector<PointFigures> points;  // approved; empty: not yet
  bool gone = false;                 // its scenario is not there any more
};

struct PinFile {
  std::filesystem::path path;
  std::string commit, model;  // of the program that approved it; "": not approved yet
  Tolerance tolerance;
  std::vector<Pin> pins;
  Inputs inputs;
};

// Figures that matter of each verb, where a pin does not name its own.
std::vector<std::string> usual_figures(const std::string& verb);

// InputErrors if anything is wrong. A pin whose scenario is missing is a mistake, or is gone.
enum class Missing { mistake, gone };
PinFile read_pins(const std::filesystem::path&, Missing = Missing::mistake);
void write_pins(const PinFile&);  // atomically, to its path
// A pin for every scenario of a folder: `simulate` where it has a workload, else `run`. Those that `known` has are left
// out.
std::vector<Pin> pins_of_folder(const std::filesystem::path& folder, const PinFile& known);

}  // namespace draftline::gate
