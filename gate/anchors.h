// SPDX-License-Identifier: Apache-2.0
// Anchors: predictions compared with published or own measurements (docs/recipes/ci.md). A median error that exceeds
// its pinned value raises an alert, not a failure, because the measurement may be less accurate than the prediction.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "api/question.h"
#include "gate/figures.h"
#include "model/calibration/error_summary.h"

namespace draftline::gate {

struct MeasuredFigure {
  PointKey at;                    // (key, value) pairs that the point must have
  std::string figure;             // "tpot.mean"
  std::optional<std::string> of;  // the figure by which it is divided, for shares of a step
  double value = 0;               // in base units, or as a share; not 0
};

struct Anchor {
  std::string group, source;  // source: author and publication of the measurement
  Question question{.options = {.oracle = false, .intervals = false}};
  std::optional<std::filesystem::path> needs;  // file of the reference data that is required
  std::vector<MeasuredFigure> measured;  // empty with the verb "calibrate", which uses the points of a measured file
  std::string device, kind;              // with "calibrate": the predicted device, and the kind of points
  std::optional<double> pinned_median;   // absolute relative error; none: not pinned yet
};

struct AnchorFile {
  std::filesystem::path path;
  std::vector<Anchor> anchors;
};

// The cells with a 90 % interval, and those of them whose measurement lies inside it.
struct Coverage {
  std::size_t known = 0, inside = 0;
};

struct Anchored {
  std::string group;
  ErrorSummary errors;  // of predicted / measured - 1
  std::optional<double> pinned_median;
  std::optional<std::string> left_out;  // why the anchor was left out
  std::vector<std::string> notes;       // Answer::notes
  Coverage coverage = {};               // of an anchor with the verb "run"
  bool alert() const;                   // whether the median has grown by at least 0.02 and by at least a tenth
};

// `reference`: the folder of published measurements; "" if it is not available. Throws InputErrors.
AnchorFile read_anchors(const std::filesystem::path&, const std::filesystem::path& reference);
// The errors of an anchor's predictions. `data`: the folder data/. Throws InputErrors if a figure has no prediction.
Anchored predict(const Anchor&, const std::filesystem::path& data);
// Writes the current medians, one element for each anchor, to the file; skipped anchors keep their medians. Throws
// InputErrors and OutputError (core/text_file).
void approve_anchors(const AnchorFile&, const std::vector<Anchored>&);

}  // namespace draftline::gate
