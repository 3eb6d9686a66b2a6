// SPDX-License-Identifier: Apache-2.0
#include "gate/measured_change.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>

#include "core/errors.h"
#include "gate/change_table.h"
#include "measure/validation.h"
#include "model/calibration/measured.h"
#include "model/calibration/rank_test.h"
#include "model/devices/fit_quality.h"
#include "reports/point.h"
#include "reports/table.h"

namespace draftline::gate {

namespace {

namespace fs = std::filesystem;
constexpr double kSignificant = 0.01;

// The measurement of a point: its median with an interval, and its samples if the file has them.
struct Sampled {
  std::string kind;
  double median = 0;
  Interval interval{0, 0};
  std::size_t count = 0;
  std::vector<double> samples;
};
using All = std::map<std::string, Sampled>;

// An approximate 95 % interval of a median from quartiles (McGill, Tukey and Larsen 1978).
Interval notch(const MeasuredPoint& p) {
  const double half = 1.57 * (p.high - p.low).value / std::sqrt(std::max(1, p.samples));
  return {std::max(p.median.value - half, 1e-12), p.median.value + half};
}

All points_of(const Measured& m) {
  All all;
  for (const MeasuredPoint& p : m.points) {
    if (!p.skipped.empty()) continue;
    std::string name = p.op;
    for (const auto& [key, value] : p.shape) name += " " + key + " " + std::to_string(value);
    all[name] = {p.op, p.median.value, notch(p), at(std::max(0, p.samples)), {}};
  }
  return all;
}

All cells_of(const MeasuredSteps& m) {
  All all;
  for (const MeasuredCell& c : m.cells) {
    if (!c.skipped.empty()) continue;
    const std::string where =
        c.transformer + ", batch " + std::to_string(c.batch_size) + ", context " + std::to_string(c.context);
    const auto add = [&](const std::string& kind, const std::vector<MeasuredTurn>& turns) {
      if (turns.empty()) return;
      Sampled& sampled = all[kind + ", " + where];  // plain steps are timed beside each method: all of them count
      sampled.kind = kind;
      for (const MeasuredTurn& t : turns) sampled.samples.push_back(t.time.value);
    };
    add("plain step", c.plain);
    add(c.method.object().dump(), c.turns);
  }
  for (auto& [name, sampled] : all) {
    sampled.median = quantile(sampled.samples, 0.5);
    sampled.interval = median_interval(sampled.samples);
    sampled.count = sampled.samples.size();
  }
  return all;
}

struct File {
  bool steps = false;
  All all;
};
File read(const fs::path& file) {
  const Document document = Document::from_file(file);
  const Reader root = document.root();
  File f;
  f.steps = root.is_object() && root.has("cells");
  if (!f.steps && !(root.is_object() && root.has("points")))
    throw InputErrors(file.string() +
                      ": is not a measured file: it has neither \"points\" (probe) nor \"cells\" (validate)");
  f.all = f.steps ? cells_of(read_measured_steps(root)) : points_of(read_measured(root));
  document.finish();
  return f;
}

MeasuredChange change_of(const std::string& name, const Sampled& a, const Sampled& b, double within) {
  MeasuredChange c{name, a.count, b.count, b.median / a.median, {}, {}, {}};
  c.interval = {b.interval.low / a.interval.high, b.interval.high / a.interval.low};
  if (!a.samples.empty() && !b.samples.empty()) c.p = mann_whitney_p(a.samples, b.samples);
  c.verdict = verdict_of(c.interval, c.p, within);
  return c;
}

bool significant_if_all_agree(std::size_t points) {
  std::vector<double> rising(points);
  std::iota(rising.begin(), rising.end(), 1.0);
  return signed_rank_p(rising) < kSignificant;
}

// The verdict of all points of an op that has too few for a rank test; ambiguous unless they agree. That all agree by
// chance is at most as probable as that one certain point of them errs, however much the points depend on each other
// (the product of their probabilities if they do not). A step errs with kSignificant at most; a point of a probe with
// 20 samples, at a band of 5 %, with at most 0.7 % (simulated: normal, lognormal and exponential times whose quartiles
// lie up to 0.7 of the median apart), with 12 samples or fewer with more than 1 %.
Verdict verdict_of_few(const std::vector<const MeasuredChange*>& points) {
  constexpr std::size_t kManySamples = 20;
  const Verdict first = points.front()->verdict;
  if (first != Verdict::slower && first != Verdict::faster) return Verdict::ambiguous;
  const bool agree = std::ranges::all_of(points, [&](const MeasuredChange* c) { return c->verdict == first; });
  const bool sure = std::ranges::any_of(
      points, [](const MeasuredChange* c) { return c->p || std::min(c->before, c->after) >= kManySamples; });
  return agree && sure ? first : Verdict::ambiguous;
}

MeasuredChange change_of_kind(const std::string& kind, const std::vector<const MeasuredChange*>& points,
                              double within) {
  std::vector<double> logs;
  for (const MeasuredChange* point : points) logs.push_back(std::log(point->ratio));
  MeasuredChange c{kind, logs.size(), logs.size(), std::exp(quantile(logs, 0.5)), {}, {}, {}};
  const Interval of_logs = median_interval(logs);
  c.interval = {std::exp(of_logs.low), std::exp(of_logs.high)};
  c.p = signed_rank_p(logs);
  c.verdict = verdict_of(c.interval, c.p, within);
  if (c.verdict == Verdict::ambiguous && !significant_if_all_agree(points.size())) c.verdict = verdict_of_few(points);
  return c;
}

}  // namespace

bool MeasuredComparison::fine() const {
  return lost.empty() && std::ranges::none_of(kinds, [](const MeasuredChange& c) {
           return c.verdict == Verdict::slower || c.verdict == Verdict::faster;
         });
}

std::string_view verdict_name(Verdict v) {
  constexpr std::array<std::string_view, 4> kNames{"same", "faster", "slower", "ambiguous"};
  return kNames[at(v)];
}

Verdict verdict_of(const Interval& ratio, std::optional<double> p, double within) {
  const bool significant = !p || *p < kSignificant;
  if (significant && ratio.low > 1 + within) return Verdict::slower;
  if (significant && ratio.high < 1 - within) return Verdict::faster;
  if (ratio.low >= 1 - within && ratio.high <= 1 + within) return Verdict::same;
  return Verdict::ambiguous;
}

MeasuredComparison compare_measured(const fs::path& before, const fs::path& after, double within) {
  const File a = read(before), b = read(after);
  if (a.steps != b.steps)
    throw InputErrors(after.string() + ": one file is from a probe, the other contains steps of a decoder");
  MeasuredComparison out;
  std::map<std::string, std::vector<std::size_t>> by_kind;  // indices of out.points; none: the kind is lost
  for (const auto& [name, was] : a.all) {
    auto& of_kind = by_kind[was.kind];
    const auto found = b.all.find(name);
    if (found == b.all.end()) {
      ++out.only_before;
      continue;
    }
    of_kind.push_back(out.points.size());
    out.points.push_back(change_of(name, was, found->second, within));
  }
  if (out.points.empty()) throw InputErrors(after.string() + ": has no point in common with " + before.string());
  out.only_after = b.all.size() - out.points.size();
  for (const auto& [kind, indices] : by_kind) {
    std::vector<const MeasuredChange*> points;
    for (const std::size_t i : indices) points.push_back(&out.points[i]);
    if (points.empty()) out.lost.push_back(kind);
    else out.kinds.push_back(change_of_kind(kind, points, within));
  }
  std::ranges::stable_sort(out.points, [](const auto& x, const auto& y) {
    return std::abs(std::log(x.ratio)) > std::abs(std::log(y.ratio));
  });
  return out;
}

std::string measured_text(const MeasuredComparison& m, std::size_t width) {
  constexpr std::size_t kMostPoints = 20, kPage = 120;
  const auto table_of = [&](const std::vector<MeasuredChange>& changes, const char* first, const char* second,
                            std::size_t most) {
    Table t({first, second, "after / before", "95 % low", "high", "p", "verdict"});
    for (std::size_t i = 0; i < std::min(changes.size(), most); ++i) {
      const MeasuredChange& c = changes[i];
      t.add({c.what,
             c.before == c.after ? std::to_string(c.before) : std::to_string(c.before) + ", " + std::to_string(c.after),
             Cell(c.ratio, 4), Cell(c.interval.low, 4), Cell(c.interval.high, 4), c.p ? Cell(*c.p, 2) : Cell(),
             std::string(verdict_name(c.verdict))});
    }
    return t.to_text(width > 0 ? width : kPage);
  };
  std::string text = table_of(m.kinds, "op", "points", m.kinds.size());
  std::vector<MeasuredChange> moved;
  for (const MeasuredChange& c : m.points)
    if (c.verdict == Verdict::faster || c.verdict == Verdict::slower) moved.push_back(c);
  if (!moved.empty())
    text += "\nLargest changes, of " + std::to_string(moved.size()) + ":\n" +
            table_of(moved, "point", "samples", kMostPoints);
  if (m.only_before + m.only_after > 0)
    text += counted(m.only_before, "point") + (m.only_before == 1 ? " stands" : " stand") +
            " only in the first file, " + std::to_string(m.only_after) + " only in the second.\n";
  for (const std::string& kind : m.lost) text += "lost: the second file has no points of " + kind + ".\n";
  return text;
}

void write_measured_json(std::ostream& out, const MeasuredComparison& m) {
  JsonWriter w(out);
  const auto write = [&](const MeasuredChange& c) {
    w.member("what", c.what);
    w.member("before", c.before);
    w.member("after", c.after);
    w.figure("ratio", c.ratio, "", FigureKind::measured, c.interval);
    w.member("p", c.p);
    w.member("verdict", verdict_name(c.verdict));
  };
  w.begin_object();
  write_program(w, 1);
  w.objects("kinds", m.kinds, write);
  w.objects("points", m.points, write);
  w.member("only_before", m.only_before);
  w.member("only_after", m.only_after);
  w.list("lost", m.lost);
  w.end_object();
  w.finish();
}

}  // namespace draftline::gate
