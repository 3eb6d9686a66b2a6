// SPDX-License-Identifier: Apache-2.0
#include "gate/answers.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "core/build_info.h"
#include "core/errors.h"
#include "core/fingerprint.h"
#include "core/json_parse.h"
#include "core/text_file.h"
#include "model/calibration/calibrated_files.h"
#include "papers/all_papers.h"
#include "reports/advise_report.h"
#include "reports/paper_report.h"
#include "reports/plan_report.h"
#include "reports/point.h"
#include "reports/run_report.h"
#include "reports/simulate_report.h"
#include "sim/advice_sweep.h"

namespace draftline::gate {

namespace {

namespace fs = std::filesystem;

Document scenario_of(const Question& q) {
  return q.scenario ? Document::from_text(q.scenario->dump(), q.file) : Document::from_file(q.file);
}
Output into(std::ostream& out, const Question& q, const fs::path& data) {
  return {out, Format::json, {q.verb, data, q.seed, q.options}};
}

InputFiles run(const Question& q, const fs::path& data, std::ostream& out) {
  Sweep sweep(scenario_of(q), data);
  if (sweep.scenario().serving)
    throw InputErrors(sweep.scenario().document.root().place() + ": has a \"workload\": \"simulate\" answers it" +
                      (q.verb_place.empty() ? "" : "; \"run\" stands at " + q.verb_place));
  sweep.validate();
  RunReport report(into(out, q, data), sweep.scenario());
  for (std::size_t i = q.options.from; i < sweep.scenario().points(); ++i) report.add(sweep.at(i, q.options.kernels));
  report.finish();
  return sweep.scenario().document.root().input_files();
}

InputFiles simulate(const Question& q, const fs::path& data, std::ostream& out) {
  ServingSweep sweep(scenario_of(q), data);
  sweep.validate();
  SimulateReport report(into(out, q, data), sweep.scenario());
  ServingSweep::Options options;
  options.seed = q.seed;
  options.oracle = q.options.oracle;
  for (std::size_t i = q.options.from; i < sweep.scenario().points(); ++i) report.add(sweep.at(i, options));
  report.finish();
  return sweep.scenario().document.root().input_files();
}

InputFiles plan(const Question& q, const fs::path& data, std::ostream& out) {
  ServingSweep sweep(scenario_of(q), data);
  sweep.validate();
  check_plannable(sweep.scenario());
  const Prices prices{sweep.scenario().serving->prices};
  std::vector<FleetOption> options;
  for (std::size_t i = 0; i < sweep.scenario().points(); ++i)
    options.push_back(smallest_fleet(sweep, i, prices, q.options.most_devices, q.seed));
  write_plan(into(out, q, data), sweep.scenario(), std::move(options));
  return sweep.scenario().document.root().input_files();
}

InputFiles advise(const Question& q, const fs::path& data, std::ostream& out) {
  AdviceSweep sweep(scenario_of(q), data, q.options.load);
  std::vector<Advice> advices;
  for (std::size_t i = 0; i < sweep.size(); ++i) advices.push_back(sweep.at(i, q.seed));
  write_advice(into(out, q, data), sweep.scenario(), advices);
  return sweep.scenario().document.root().input_files();
}

InputFiles papers(const Question& q, const fs::path& data, std::ostream& out) {
  JsonWriter w(out);
  InputFiles files;
  w.begin_object();
  w.key("papers");
  w.begin_array();
  for (const std::string& name : q.papers) {
    const Paper p = predict_paper(data, name);
    write_json(w, p);
    files.insert(p.input_files.begin(), p.input_files.end());
  }
  w.end_array();
  w.end_object();
  w.finish();
  return files;
}

// Writes the fitted values and the errors of the fit, without the names of program and file.
InputFiles calibrate(const Question& q, const fs::path& data, std::ostream& out) {
  CalibrationInput input;
  input.measured = q.file;
  input.data = data;
  input.locator = "pinned";
  const Document document = Document::from_file(q.file);
  const Measured measured = read_measured(document.root());
  document.finish();
  const CalibratedDevice device = calibrated_device(input, measured);
  OrderedJson all{{"device_file", device.device}};
  if (knows_host(measured)) all["engine_file"] = calibrated_engine(input, measured, device);
  for (const FitQuality& quality : device.quality)
    all["held_out"][quality.op] = {{"points", quality.points}, {"median", quality.median}, {"p90", quality.p90}};
  out << all.dump();
  return document.root().input_files();
}

using Verb = InputFiles (*)(const Question&, const fs::path&, std::ostream&);
constexpr std::array<std::pair<std::string_view, Verb>, 6> kVerbs{{{"run", run},
                                                                   {"simulate", simulate},
                                                                   {"plan", plan},
                                                                   {"advise", advise},
                                                                   {"papers", papers},
                                                                   {"calibrate", calibrate}}};

auto find_verb(const std::string& name) {
  return std::find_if(kVerbs.begin(), kVerbs.end(), [&](const auto& v) { return v.first == name; });
}
std::string no_verb(const std::string& name) {
  return "\"" + name + "\" is no verb whose answers can be asked for again";
}

}  // namespace

std::string Question::name() const {
  std::string text = verb;
  for (const std::string& paper : papers) text += " " + paper;
  return file.empty() ? text : text + " " + file.filename().generic_string();
}

Answer answer(const Question& q, const fs::path& data) {
  const auto verb = find_verb(q.verb);
  if (verb == kVerbs.end()) throw InputErrors(no_verb(q.verb));
  std::ostringstream out;
  Answer a;
  a.input_files = verb->second(q, data, out);
  a.document = Json::parse(out.str());
  return a;
}

std::string read_verb(const Reader& in) {
  std::string verb = in.text();
  if (!in.is_string() || find_verb(verb) != kVerbs.end()) return verb;
  in.fail(no_verb(verb));
  return "";
}

std::uint64_t read_seed(const Reader& in) {
  if (in.json().is_number_unsigned()) return in.json().get<std::uint64_t>();
  in.fail("must be a whole number from 0 to 2^64 - 1");
  return 0;
}

Json read_results(const fs::path& file) {
  const std::string text = read_text_file(file);
  const ParsedJson strict = parse_json(text);
  if (!strict.error.empty()) throw InputErrors(file.string() + "#" + strict.error_pointer + ": " + strict.error);
  return Json::parse(text);  // parsed again, as ParsedJson does not keep the order of members
}

Question question_of(const fs::path& file) {
  return read_whole(Document::from_file(file), [&](const Reader& root) {
    Question q;
    if (!root.is_object() || !root.has("question"))
      throw InputErrors(file.string() + ": holds no \"question\": an older draftline printed it, or another program");
    const Reader in = root.at("question");
    q.verb = read_verb(in.at("verb"));
    if (q.verb == "papers") {
      for (const Reader& name : in.at("names").items()) q.papers.push_back(name.text());
    } else {
      q.file = in.at("file").text();
      q.scenario = Json(in.at("scenario").json());
    }
    if (const auto seed = in.find("seed")) q.seed = read_seed(*seed);
    const auto flag = [&](const char* name) {
      const auto set = in.find(name);
      return set && set->boolean();
    };
    q.options = {.kernels = flag("explain"), .oracle = !flag("no_oracle"), .load = !flag("no_load")};
    constexpr std::int64_t kMostPoints = std::int64_t{1} << 40;
    if (const auto from = in.find("from"))
      q.options.from = static_cast<std::size_t>(from->long_integer(0, kMostPoints));
    if (const auto most = in.find("max_devices")) q.options.most_devices = most->positive_int(100'000);
    in.done();
    return q;
  });
}

}  // namespace draftline::gate
