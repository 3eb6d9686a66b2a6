// SPDX-License-Identifier: Apache-2.0
#include "gate/measured_change.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/errors.h"
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
    all[name] = {p.op, p.median.value, notch(p), static_cast<std::size_t>(std::max(0, p.samples)), {}};
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
                      ": is no measured file: it has neither \"points\" (probe) nor \"cells\" (validate)");
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

}  // namespace

std::string_view verdict_name(Verdict v) {
  constexpr std::array<std::string_view, 4> kNames{"same", "faster", "slower", "ambiguous"};
  return kNames[static_cast<std::size_t>(v)];
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
    throw InputErrors(after.string() + ": one file is of a probe, the other of a decoder's steps");
  MeasuredComparison out;
  std::map<std::string, std::vector<double>> logs;
  for (const auto& [name, was] : a.all) {
    const auto found = b.all.find(name);
    if (found == b.all.end()) {
      ++out.only_before;
      continue;
    }
    out.points.push_back(change_of(name, was, found->second, within));
    logs[was.kind].push_back(std::log(out.points.back().ratio));
  }
  out.only_after = b.all.size() - out.points.size();
  for (const auto& [kind, all] : logs) {
    MeasuredChange c{kind, all.size(), all.size(), std::exp(quantile(all, 0.5)), {}, {}, {}};
    const Interval of_logs = median_interval(all);
    c.interval = {std::exp(of_logs.low), std::exp(of_logs.high)};
    c.p = signed_rank_p(all);
    c.verdict = verdict_of(c.interval, c.p, within);
    out.kinds.push_back(c);
  }
  std::stable_sort(out.points.begin(), out.points.end(), [](const auto& x, const auto& y) {
    return std::abs(std::log(x.ratio)) > std::abs(std::log(y.ratio));
  });
  return out;
}

std::string measured_text(const MeasuredComparison& m, std::size_t width) {
  constexpr std::size_t kMostPoints = 20, kPage = 120;
  const auto table_of = [&](const std::vector<MeasuredChange>& changes, const char* first, const char* counted,
                            std::size_t most) {
    Table t({first, counted, "after / before", "95 % low", "high", "p", "verdict"});
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
    text += "\nPoints that moved most, of " + std::to_string(moved.size()) + ":\n" +
            table_of(moved, "point", "samples", kMostPoints);
  if (m.only_before + m.only_after > 0)
    text += std::to_string(m.only_before) + " points stand in the first file alone, " + std::to_string(m.only_after) +
            " in the second.\n";
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
  w.end_object();
  w.finish();
}

}  // namespace draftline::gate
