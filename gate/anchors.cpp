// SPDX-License-Identifier: Apache-2.0
#include "gate/anchors.h"

#include <algorithm>

#include "core/errors.h"
#include "core/text_file.h"
#include "model/calibrated_files.h"
#include "model/compared_devices.h"

namespace draftline::gate {

namespace {

namespace fs = std::filesystem;
constexpr int kSchema = 1;

MeasuredFigure read_measured_figure(const Reader& in) {
  MeasuredFigure m;
  for (const auto& [name, value] : in.at("at").entries())
    m.at.emplace_back(name, value.is_string() ? value.text() : value.json().dump());
  m.figure = in.at("figure").text();
  m.value = in.at("value").number();
  if (m.value == 0) in.at("value").fail("a relative error needs a value that is not 0");
  in.done();
  return m;
}

Anchor read_anchor(const Reader& in, const fs::path& reference) {
  Anchor a;
  a.group = in.at("group").text();
  a.source = in.at("source").text();
  if (const auto needs = in.find("needs")) {
    if (reference.empty()) a.needs = needs->text();
    else a.needs = reference / needs->text();
  }
  if (const auto median = in.find("median_error")) a.pinned_median = median->number(0);
  if (const auto measured = in.find("measured_file")) {
    a.question.verb = "calibrate";
    a.question.file = in.file().parent_path() / measured->text();
    a.device = in.at("device").text();
  } else {
    a.question.verb = in.at("verb").text();
    a.question.scenario = Json(in.at("scenario").json());
    in.at("scenario").entries();
    a.question.file = reference / "anchor.json";  // its paths are relative to the reference data
    for (const Reader& m : in.at("measured").items()) a.measured.push_back(read_measured_figure(m));
    if (a.measured.empty()) in.at("measured").fail("at least one figure is needed");
  }
  in.done();
  return a;
}

std::vector<double> errors_of_figures(const Anchor& a, const fs::path& data) {
  const auto points = figures_of(answer(a.question, data).document);
  std::vector<double> errors;
  for (const MeasuredFigure& m : a.measured) {
    bool found = false;
    for (const PointFigures& p : points) {
      const bool here = std::all_of(m.at.begin(), m.at.end(), [&](const auto& part) {
        return std::find(p.key.begin(), p.key.end(), part) != p.key.end();
      });
      if (!here) continue;
      for (const auto& [name, value] : p.figures)
        if (name == m.figure && value.is_number() && !found)
          errors.push_back(value.get<double>() / m.value - 1), found = true;
    }
    if (!found) throw InputErrors(a.group + ": no figure \"" + m.figure + "\" at " + text_of(m.at));
  }
  return errors;
}

std::vector<double> errors_of_points(const Anchor& a, const fs::path& data) {
  const Measured measured = read_file(a.question.file, read_measured);
  const Device device = device_of(named_or_file(a.device, data / "devices"), data / "devices");
  std::vector<double> errors;
  for (const ComparedPoint& p : compare_devices(measured, device, device))
    errors.push_back(p.predicted[0] / p.point.median - 1);
  return errors;
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
    if (in.at("schema_version").integer() != kSchema) in.at("schema_version").fail("this draftline reads schema 1");
    for (const Reader& anchor : in.at("anchors").items()) f.anchors.push_back(read_anchor(anchor, reference));
    in.done();
    return f;
  });
}

Anchored predict(const Anchor& a, const fs::path& data) {
  Anchored out{a.group, {}, a.pinned_median, {}};
  std::error_code error;
  if (!a.needs.empty() && !fs::exists(a.needs, error)) {
    out.left_out = "needs " + a.needs.generic_string() + " of the reference data";
    return out;
  }
  out.errors = summarize(a.device.empty() ? errors_of_figures(a, data) : errors_of_points(a, data));
  return out;
}

void approve_anchors(const AnchorFile& file, const std::vector<Anchored>& now) {
  Json j = Json::parse(read_text_file(file.path));
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i].errors.median) j.at("anchors").at(i)["median_error"] = *now[i].errors.median;
  write_text_file(file.path, j.dump(2) + "\n");
}

}  // namespace draftline::gate
