// SPDX-License-Identifier: Apache-2.0
// Anchors: predictions beside what others or we have measured. They only report: a median error that has grown since it
// was pinned raises an alert, not a failure, as the measurement may be the worse of the two.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "gate/answers.h"
#include "model/error_summary.h"

namespace draftline::gate {

struct MeasuredFigure {
  PointKey at;         // parts of the point's key; every part must be there
  std::string figure;  // "tpot.mean"
  std::string of;      // the figure is divided by this one: a share of a step; "": it is not
  double value = 0;
};

struct Anchor {
  std::string group, source;  // source: who measured it, and where that is printed
  Question question;
  std::filesystem::path needs;           // a file of the reference data without which it is left out; "": none
  std::vector<MeasuredFigure> measured;  // of a measured file (verb "calibrate") empty: its own points
  std::string device, kind;              // of a measured file: whose predictions stand beside which of its points
  std::optional<double> pinned_median;
};

struct AnchorFile {
  std::filesystem::path path;
  std::vector<Anchor> anchors;
};

struct Anchored {
  std::string group;
  ErrorSummary errors;  // of predicted / measured - 1
  std::optional<double> pinned_median;
  std::string left_out;  // why; "": it is not
  bool alert() const;    // the median is higher by two points and by a tenth of itself
};

// `reference`: the folder of measurements by others; "": not at hand.
AnchorFile read_anchors(const std::filesystem::path&, const std::filesystem::path& reference);
Anchored predict(const Anchor&, const std::filesystem::path& data);
// Writes the pinned medians into the file; those of anchors that were left out stay.
void approve_anchors(const AnchorFile&, const std::vector<Anchored>&);

}  // namespace draftline::gate
