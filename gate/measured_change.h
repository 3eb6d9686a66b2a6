// SPDX-License-Identifier: Apache-2.0
// Compares two files of measurements by `probe` or `validate`: finds the points that became faster or slower beyond
// noise.
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
  std::string what;                   // op and shape of a point, or an op with all its points
  std::size_t before = 0, after = 0;  // samples of a point; for an op, points that both files have
  double ratio = 1;                   // median time after over median time before
  Interval interval{1, 1};            // 95 % interval of the ratio
  std::optional<double> p;            // p-value of the rank test; none if there are no samples
  Verdict verdict = Verdict::same;
};

// Slower or faster: the interval of the ratio excludes 1 and p, if known, is below 0.01. Same: the whole interval is
// within 1 +- `within`. Otherwise ambiguous.
Verdict verdict_of(const Interval& ratio, std::optional<double> p, double within);

struct MeasuredComparison {
  // The changes of each op over all its points, by the Wilcoxon signed-rank test of the logarithms. An op with too few
  // points for this test is slower or faster if every point is and at least one point has 20 samples or more.
  std::vector<MeasuredChange> kinds;
  // The changes of each point. Points of a probe are compared by medians with intervals from quartiles (McGill, Tukey
  // and Larsen 1978), those of steps by the Mann-Whitney test.
  std::vector<MeasuredChange> points;
  std::size_t only_before = 0, only_after = 0;  // points in only one file
  std::vector<std::string> lost;                // ops without any point in the second file
  bool fine() const;                            // whether no op is slower, faster or lost
};
// Throws InputErrors if a file is of neither kind, or the files are of different kinds or have no point in common.
MeasuredComparison compare_measured(const std::filesystem::path& before, const std::filesystem::path& after,
                                    double within);

std::string measured_text(const MeasuredComparison&, std::size_t width);  // `width`: of the terminal; 0: no limit
void write_measured_json(std::ostream&, const MeasuredComparison&);

}  // namespace draftline::gate
