// SPDX-License-Identifier: Apache-2.0
#include "measure/calibrated_texts.h"

#include "core/build_info.h"

namespace draftline::measure {

namespace {

std::string with_inputs(OrderedJson calibrated, const InputFiles& files, const std::filesystem::path& data) {
  calibrated["model"] = build_model();
  calibrated["input_files"] = named(files, data);
  return text_of(calibrated);
}

}  // namespace

MeasuredFile read_points(const std::filesystem::path& file) {
  const Document document = Document::from_file(file);
  Measured points = read_whole(document, read_measured);
  return {std::move(points), document.root().input_files()};
}

std::string device_text(const CalibrationInput& o, const MeasuredFile& m, const CalibratedDevice& r) {
  InputFiles files = m.files;
  files.insert(r.input_files.begin(), r.input_files.end());
  return with_inputs(r.device, files, o.data);
}

std::string engine_text(const CalibrationInput& o, const MeasuredFile& m, const CalibratedDevice& r) {
  InputFiles files = m.files;
  if (m.points.device == "cuda") {
    const Document shipped = Document::from_file(shipped_engine(o.data));
    files.insert(shipped.root().input_files().begin(), shipped.root().input_files().end());
  }
  return with_inputs(calibrated_engine(o, m.points, r), files, o.data);
}

CalibratedFiles calibrated_files(const std::filesystem::path& measured, const std::string& device,
                                 const std::string& datasheet, const std::filesystem::path& data) {
  CalibrationInput o;
  o.measured = measured;
  o.data = data;
  o.device = datasheet;
  o.locator = measured.lexically_normal().filename().string();
  const MeasuredFile all = read_points(measured);
  const Measured& m = all.points;
  if (m.device != device)
    throw InputErrors(measured.string() + "#/device: is \"" + m.device + "\", not \"" + device + "\"");
  const CalibratedDevice r = calibrated_device(o, m);
  return {device_text(o, all, r), knows_host(m) ? std::optional(engine_text(o, all, r)) : std::nullopt, r.quality};
}

}  // namespace draftline::measure
