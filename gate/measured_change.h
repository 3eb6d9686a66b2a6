// SPDX-License-Identifier: Apache-2.0
// Two measurements of the same things (files of `probe` or of `validate`): which became faster or slower, beyond what
// noise explains.
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/json_writer.h"

namespace draftline::gate {

enum class Verdict { same, faster, slower, ambiguous };
std::string_view verdict_name(Verdict);

struct MeasuredChange {
  std::string what;                   // a point's op and shape, or an op as a whole
  std::size_t before = 0, after = 0;  // samples; of an op as a whole: points that both files have
  double ratio = 1;                   // median after over median before
  Interval interval{1, 1};            // 95 %, of the ratio
  std::optional<double> p;            // of the rank test; none where there is none
  Verdict verdict = Verdict::same;
};

// Slower and faster: the interval of the ratio excludes 1 and the rank test (where samples are at hand) has p < 0.01.
// Same: the whole interval lies within 1 +- `within`. Else ambiguous: more samples would tell.
Verdict verdict_of(const Interval& ratio, std::optional<double> p, double within);

struct MeasuredComparison {
  std::vector<MeasuredChange> kinds;   // of each op, over its points: Wilcoxon's signed ranks of the logarithms
  std::vector<MeasuredChange> points;  // a probe's: medians with intervals from quartiles; steps': Mann-Whitney's test
  std::size_t only_before = 0, only_after = 0;
};
// InputErrors if either is no such file, or one is of a probe and the other of steps.
MeasuredComparison compare_measured(const std::filesystem::path& before, const std::filesystem::path& after,
                                    double within);

std::string measured_text(const MeasuredComparison&, std::size_t width);
void write_measured_json(std::ostream&, const MeasuredComparison&);

}  // namespace draftline::gate
