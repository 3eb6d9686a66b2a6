// SPDX-License-Identifier: Apache-2.0
#include "gate/anchors.h"

#include <algorithm>
#include <set>

#include "api/answer.h"
#include "core/errors.h"
#include "core/json_in_order.h"
#include "core/text_file.h"
#include "gate/renamed.h"
#include "model/calibration/calibrated_files.h"
#include "model/calibration/compared_devices.h"

namespace draftline::gate {

namespace {

namespace fs = std::filesystem;
constexpr int kAnchorsSchema = 1;

MeasuredFigure read_measured_figure(const Reader& in) {
  MeasuredFigure m;
  for (const auto& [name, value] : in.at("at").entries())
    m.at.emplace_back(current_name(name), value.is_string() ? value.text() : value.json().dump());
  m.figure = current_name(dotted(in.at("figure").text()));
  if (const auto of = in.find("of")) m.of = current_name(dotted(of->text()));
  m.value = in.at("value").number();
  if (m.value == 0) in.at("value").fail("must not be 0, because errors are relative");
  in.done();
  return m;
}

Anchor read_anchor(const Reader& in, const fs::path& reference) {
  Anchor a;
  a.group = in.at("group").text();
  a.source = in.at("source").text();
  if (const auto needs = in.find("needs")) a.needs = reference / needs->text();
  if (const auto median = in.find("median_error")) a.pinned_median = median->number(0);
  if (const auto measured = in.find("measured_file")) {
    a.question.verb = "calibrate";
    a.question.file = in.file().parent_path() / measured->text();
    a.device = in.at("device").text();
    a.kind = in.at("kind").text();
  } else {
    a.question.verb = read_verb(in.at("verb"));
    a.question.text = in.at("scenario").json().dump();
    in.at("scenario").entries();
    a.question.file = reference / "anchor.json";  // its paths are relative to the reference data
    for (const Reader& m : in.at("measured").items()) a.measured.push_back(read_measured_figure(m));
    if (a.measured.empty()) in.at("measured").fail("at least one figure is required");
  }
  in.done();
  return a;
}

// The points that have all parts of `at`.
std::vector<PointFigures> points_at(const std::vector<PointFigures>& points, const PointKey& at) {
  std::vector<PointFigures> here;
  for (const PointFigures& p : points)
    if (std::ranges::all_of(at, [&](const auto& part) { return std::ranges::find(p.key, part) != p.key.end(); }))
      here.push_back(p);
  return here;
}

// `no point at rate 2 /s: of rate there are "3 /s", "4 /s"`: the values of the parts that no point has.
std::string no_point(const PointKey& at, const std::vector<PointFigures>& points) {
  std::string text = "no point at " + text_of(at);
  for (const auto& part : at) {
    if (!points_at(points, {part}).empty()) continue;
    std::set<std::string> values;
    for (const PointFigures& p : points)
      for (const auto& [name, value] : p.key)
        if (name == part.first) values.insert(value);
    std::string listed;
    for (const std::string& value : values) listed += (listed.empty() ? "" : ", ") + ("\"" + value + "\"");
    text += values.empty() ? "; none has a " + part.first : "; of " + part.first + " there are " + listed;
  }
  return text;
}

// The figure of the first point that has it.
std::optional<double> first_figure(const std::vector<PointFigures>& points, const std::string& figure) {
  for (const PointFigures& p : points)
    for (const auto& [name, value] : p.figures)
      if (name == figure && value.is_number()) return value.get<double>();
  return std::nullopt;
}

std::vector<double> errors_of_figures(const Anchor& a, const fs::path& data, Anchored& out) {
  const Answer now = answer(a.question, data);
  out.notes = now.notes;
  const auto points = figures_of(Json::parse(now.document));
  std::vector<double> errors;
  std::vector<std::string> mistakes;
  const auto find = [&](const PointKey& at, const std::string& figure) {
    const auto here = points_at(points, at);
    if (here.empty()) {
      mistakes.push_back(a.group + ": " + no_point(at, points));
      return 1.0;
    }
    const auto found = first_figure(here, figure);
    if (!found) mistakes.push_back(a.group + ": " + no_figure(figure, "at " + text_of(at), here));
    return found.value_or(1);
  };
  for (const MeasuredFigure& m : a.measured) {
    const double whole = m.of ? find(m.at, *m.of) : 1;
    errors.push_back(find(m.at, m.figure) / whole / m.value - 1);
    const auto here = points_at(points, m.at);
    const auto low = first_figure(here, m.figure + ".low"), high = first_figure(here, m.figure + ".high");
    if (a.question.verb != "run" || m.of || !low || !high) continue;
    ++out.coverage.known;
    if (*low <= m.value && m.value <= *high) ++out.coverage.inside;
  }
  if (!mistakes.empty()) throw InputErrors(std::move(mistakes));
  return errors;
}

std::vector<double> errors_of_points(const Anchor& a, const fs::path& data, std::vector<std::string>& notes) {
  const Document document = Document::from_file(a.question.file);
  const Measured measured = read_whole(document, read_measured);
  notes = document.notes();
  const Device device = device_of(named_or_file(a.device, data / "devices"), data / "devices");
  std::vector<double> errors;
  for (const ComparedPoint& p : compare_devices(measured, device, device))
    if (p.kind == a.kind) errors.push_back(p.predicted[0] / p.point.median - 1);
  if (errors.empty())
    throw InputErrors(a.group + ": no point of kind \"" + a.kind + "\" is both measured and predicted");
  return errors;
}

// JSON for people: a value that fits into a line is written on one.
std::string laid_out(const Json& j, std::size_t indent) {
  constexpr std::size_t kLine = 120;
  if (!j.is_structured()) return j.dump();
  std::vector<std::string> items;
  std::size_t length = indent + 2;
  for (const auto& [key, value] : j.items()) {
    items.push_back((j.is_object() ? Json(key).dump() + ": " : "") + laid_out(value, indent + 2));
    length += items.back().size() + 2;
  }
  const bool one_line = length <= kLine && std::ranges::none_of(items, [](const std::string& item) {
                          return item.find('\n') != std::string::npos;
                        });
  std::string text;
  for (const std::string& item : items)
    text += (text.empty() ? "" : one_line ? ", " : ",") + (one_line ? "" : "\n" + std::string(indent + 2, ' ')) + item;
  if (!one_line) text += "\n" + std::string(indent, ' ');
  return j.is_object() ? "{" + text + "}" : "[" + text + "]";
}

}  // namespace

bool Anchored::alert() const {
  constexpr double kPoints = 0.02, kShare = 1.1;
  return pinned_median && errors.median && *errors.median >= *pinned_median + kPoints &&
         *errors.median >= kShare * *pinned_median;
}

AnchorFile read_anchors(const fs::path& file, const fs::path& reference) {
  return read_file(file, [&](const Reader& in) {
    AnchorFile f{in.file(), {}};
    if (in.at("schema_version").integer() != kAnchorsSchema)
      in.at("schema_version").fail("this draftline reads schema 1");
    const Reader anchors = in.at("anchors");
    if (anchors.is_array() && anchors.size() == 0) anchors.fail("at least one anchor is required");
    for (const Reader& anchor : anchors.items()) f.anchors.push_back(read_anchor(anchor, reference));
    in.done();
    return f;
  });
}

Anchored predict(const Anchor& a, const fs::path& data) {
  Anchored out{a.group, {}, a.pinned_median, {}, {}, {}};
  std::error_code error;
  if (a.needs && !fs::exists(*a.needs, error)) {
    out.left_out = "needs " + a.needs->generic_string() + " of the reference data";
    return out;
  }
  out.errors = summarize(a.device.empty() ? errors_of_figures(a, data, out) : errors_of_points(a, data, out.notes));
  return out;
}

void approve_anchors(const AnchorFile& file, const std::vector<Anchored>& now) {
  Json j = json_in_order(read_text_file(file.path));
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i].errors.median) j.at("anchors").at(i)["median_error"] = *now[i].errors.median;
  write_text_file(file.path, laid_out(j, 0) + "\n");
}

}  // namespace draftline::gate
