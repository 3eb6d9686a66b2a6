// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/text_file.h"
#include "model/calibration/calibrated_files.h"
#include "model/engines/engine_fields.h"

namespace draftline {

namespace {

OrderedJson measured_time(Seconds t, const CalibrationInput& o) {
  return OrderedJson{{"value", in_ns(t)}, {"kind", "measured"}, {"source", o.source}, {"locator", o.locator}};
}
// The difference of what was measured and what a fit makes of its parts.
OrderedJson calibrated_time(Seconds t, const CalibrationInput& o) {
  OrderedJson j = measured_time(t, o);
  j["kind"] = "calibrated";
  return j;
}
OrderedJson known(OrderedJson value, const char* because, const CalibrationInput& o) {
  return OrderedJson{{"value", std::move(value)},
                     {"kind", "default"},
                     {"source", o.source},
                     {"locator", o.locator},
                     {"because", because}};
}

OrderedJson& entry_of(OrderedJson& profile, const EngineField::Member& member) {
  return profile[std::string(engine_field(member).key)];
}

// The profile of our decoder on a CPU: one thread is host and device.
OrderedJson engine_of(const HostFit& f, const CalibrationInput& o) {
  const auto measured = [&](Seconds t) { return measured_time(t, o); };
  OrderedJson e{{"name", "draftline-cpu"},
                {"version", "0.1"},
                {"title", "our own decoder on one thread of a CPU"},
                {"source", o.source},
                {"locator", o.locator}};
  entry_of(e, &Engine::graphs) = known(false, "an interpreter walks the tape", o);
  entry_of(e, &Engine::overlap) = known(false, "one thread records, then runs", o);
  entry_of(e, &Engine::issue) = measured(f.op);
  entry_of(e, &Engine::graph_launch) = measured(f.segment);
  for (const auto step : {&Engine::step_speculating, &Engine::step}) entry_of(e, step) = measured(f.step);
  entry_of(e, &Engine::draft_pass) = known("0 s", "its ops are counted one by one", o);
  entry_of(e, &Engine::token) = measured(f.token);
  entry_of(e, &Engine::sync) = known("0 s", "what the one thread has written it can read", o);
  e["ops"] = OrderedJson::object();
  return e;
}

// The profile of our decoder beside a GPU. How it cuts ops into kernels, and whose compute attention, is code,
// not measured: those rows are the profile's that comes with draftline.
OrderedJson engine_of(const GpuHostFit& f, const std::optional<LayerFit>& layer, const CalibrationInput& o,
                      const std::string& gpu) {
  OrderedJson e{{"name", "draftline"},
                {"version", "0.1"},
                {"title", "our own decoder beside " + gpu},
                {"source", o.source},
                {"locator", o.locator}};
  entry_of(e, &Engine::graphs) = known(true, "every tape is captured on second sight", o);
  entry_of(e, &Engine::issue) = measured_time(f.issue, o);
  entry_of(e, &Engine::record) = measured_time(f.record, o);
  entry_of(e, &Engine::graph_launch) = measured_time(f.graph_launch, o);
  for (const auto step : {&Engine::step_speculating, &Engine::step}) entry_of(e, step) = measured_time(f.step, o);
  entry_of(e, &Engine::draft_pass) = known("0 s", "a draft pass is part of its tape's graph", o);
  if (layer && layer->of_one_row) entry_of(e, &Engine::layer) = calibrated_time(*layer->of_one_row, o);
  if (layer && layer->of_rows) entry_of(e, &Engine::layer_rows) = calibrated_time(*layer->of_rows, o);
  entry_of(e, &Engine::token) = measured_time(f.token, o);
  entry_of(e, &Engine::sync) = measured_time(f.sync, o);
  const OrderedJson shipped = OrderedJson::parse(read_text_file(shipped_engine(o.data)));
  for (const char* of_the_code : {"attention", "ops"}) e[of_the_code] = shipped.at(of_the_code);
  return e;
}

}  // namespace

std::filesystem::path shipped_engine(const std::filesystem::path& data) {
  return data / "engines" / "draftline-0.1.json";
}

bool knows_host(const Measured& m) {
  return m.device == "cuda" ? has_gpu_host(m)
                            : std::any_of(m.points.begin(), m.points.end(),
                                          [](const MeasuredPoint& p) { return p.op == "step_host"; });
}

std::optional<LayerFit> fit_layer(const CalibrationInput& o, const Measured& m, const CalibratedDevice& r) {
  const Document written = Document::from_text(text_of(r.device), o.locator);
  return fit_layer(m, read_device(written.root(), o.data / "devices"));
}

OrderedJson calibrated_engine(const CalibrationInput& o, const Measured& m, const CalibratedDevice& r) {
  return m.device == "cuda" ? engine_of(fit_gpu_host(m), fit_layer(o, m, r), o, m.title) : engine_of(fit_host(m), o);
}

}  // namespace draftline
