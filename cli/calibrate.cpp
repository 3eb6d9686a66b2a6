// SPDX-License-Identifier: Apache-2.0
// `draftline calibrate`: fits a device file, and the engine profile of our own decoder, to a measured file or a folder
// of public tables. Prints the errors on held-out shapes and the differences to another calibration.
#include <algorithm>
#include <iostream>
#include <sstream>

#include "cli/calibrate_served.h"
#include "cli/calibration_page.h"
#include "cli/calibration_report.h"
#include "cli/command.h"
#include "cli/options.h"
#include "core/json_parse.h"
#include "core/nearest_word.h"
#include "core/text_file.h"
#include "measure/calibrated_texts.h"

namespace draftline::cli {

using namespace measure;

namespace {

struct CalibrateOptions : CalibrationInput {
  std::filesystem::path out, engine_out, compare_out, html;
  std::vector<std::string> compare;
  ServedOptions served;
  bool json = false;
};

struct Comparison {
  std::string first, second;
  std::vector<ComparedPoint> points;
};

// A source that is not known is no mistake, as data/sources.json is not the user's, but it may be a slip.
void warn_of_source(const std::string& source, const std::filesystem::path& data) {
  const Document sources = Document::from_file(data / "sources.json");
  std::vector<std::string> known;
  for (const auto& [key, entry] : sources.root().peek_entries()) known.push_back(key);
  if (std::ranges::find(known, source) != known.end()) return;
  auto near = nearest_word(source, known);
  if (!near && source.size() > 2)
    for (const std::string& key : known)
      if (!near && key.find(source) != std::string::npos) near = key;
  std::cerr << "warning: --source: \"" << printable(source, 100) << "\" is not a key of data/sources.json"
            << (near ? "; did you mean \"" + *near + "\"?" : "") << "\n";
}

int calibrate_engine(const CalibrateOptions& o, const Common& common) {
  if (!o.measured.empty())
    throw InputErrors("--served: give the files after this option; \"" + o.measured.string() + "\" is not expected");
  if (!o.out.empty())
    throw InputErrors("--out: is the file of a device; with --served use --engine-out for the engine's profile");
  if (!o.compare.empty()) throw InputErrors("--compare: requires times of kernels, not benchmarks of a server");
  if (!o.html.empty()) throw InputErrors("--html: requires times of kernels, not benchmarks of a server");
  ServedOptions served = o.served;
  const auto needed = [](const char* option, const std::string& given) {
    if (given.empty()) throw InputErrors(std::string(option) + ": is required by --served");
  };
  needed("--engine", served.engine);
  needed("--device", o.device);
  needed("--transformer", o.transformer);
  served.device = o.device;
  served.transformer = o.transformer;
  served.out = o.engine_out;
  served.source = o.source == CalibrationInput{}.source ? "own-benchmark" : o.source;
  warn_of_source(served.source, common.data);
  served.locator = o.locator;
  served.json = o.json;
  return calibrate_served(served, common.data);
}

Device fitted_device(const CalibrateOptions& o, const CalibratedDevice& calibrated) {
  const Document d = Document::from_text(text_of(calibrated.device), "calibration.json");
  return read_device(d.root(), o.data / "devices");
}

// `m`: null for tables.
std::vector<ComparedPoint> compared_points(const CalibrateOptions& o, const Measured* m,
                                           const CalibratedDevice& calibrated, const Device& first,
                                           const Device& second) {
  return m ? compare_devices(*m, first, second) : compare_devices(calibrated.times, o.measured, first, second);
}

// Compares this calibration with one device, or two devices with each other.
Comparison compare(const CalibrateOptions& o, const Measured* m, const CalibratedDevice& calibrated) {
  const auto named = [&](const std::string& name) {
    return device_of(named_or_file(name, o.data / "devices"), o.data / "devices");
  };
  const bool two = o.compare.size() == 2;
  Comparison c{two ? o.compare[0] : "this calibration, fitted to these points", o.compare.back(), {}};
  const Device first = two ? named(o.compare[0]) : fitted_device(o, calibrated);
  c.points = compared_points(o, m, calibrated, first, named(c.second));
  if (c.points.empty()) throw InputErrors("--compare: there is no measured point that both devices can predict");
  return c;
}

// Files that this reads, none of which may be written.
std::vector<std::filesystem::path> inputs_of(const CalibrateOptions& o) {
  std::vector<std::filesystem::path> all{o.measured, o.device, o.transformer,
                                         network_file(o.transformer, o.data / "transformers")};
  for (const std::string& name : o.compare) all.emplace_back(name);
  std::error_code error;
  for (std::filesystem::directory_iterator entry(o.measured, error), end; !error && entry != end;
       entry.increment(error))
    all.push_back(entry->path());
  return all;
}

bool is_table(std::filesystem::path file) {
  if (file.extension() == ".gz") file.replace_extension();
  return file.extension() == ".csv" || file.extension() == ".parquet" || file.extension() == ".txt";
}

int calibrate(CalibrateOptions o, const Common& common) {
  o.data = common.data;
  if (!o.served.files.empty()) return calibrate_engine(o, common);
  if (o.measured.empty())
    throw InputErrors("calibrate: give a measured file, a folder of tables, or benchmarks with --served");
  if (!o.served.engine.empty()) throw InputErrors("--engine: requires --served");
  const bool tables = std::filesystem::is_directory(o.measured);
  if (tables && o.source == CalibrationInput{}.source)
    throw InputErrors("--source: give the origin of the tables, a key of data/sources.json; own-tables for your own");
  if (!tables && !o.library.empty())
    throw InputErrors("--library: requires a folder of tables; the kernels of a probe are draftline's");
  if (tables && !o.engine_out.empty())
    throw InputErrors("--engine-out: tables of kernels contain no host times of an engine");
  if (o.compare.empty() && !o.compare_out.empty()) throw InputErrors("--compare-out: requires --compare");
  if (o.locator.empty()) o.locator = o.measured.lexically_normal().filename().string();
  check_outputs(
      {{"--out", o.out}, {"--engine-out", o.engine_out}, {"--compare-out", o.compare_out}, {"--html", o.html}},
      inputs_of(o));
  if (!tables && is_table(o.measured))
    throw InputErrors(printable(o.measured.string(), 1000) + ": is a single table; give the folder that contains it");
  o.tensor_parallel = o.served.tensor_parallel;
  warn_of_source(o.source, o.data);
  const MeasuredFile measured = tables ? MeasuredFile{} : read_points(o.measured);
  const Measured& m = measured.points;
  const CalibratedDevice r = tables ? calibrated_from_tables(o) : calibrated_device(o, m);
  const std::optional<Comparison> compared =
      o.compare.empty() ? std::nullopt : std::optional(compare(o, tables ? nullptr : &m, r));
  std::ostringstream page;
  if (!o.html.empty()) {
    const Device ours = fitted_device(o, r);
    write_calibration_page({page, Format::html, {.verb = "calibrate", .data = o.data}}, r,
                           compared_points(o, tables ? nullptr : &m, r, ours, ours));
  }
  const std::string device = device_text(o, measured, r);
  const std::string engine = o.engine_out.empty() ? std::string() : engine_text(o, measured, r);
  // All input has been checked by now, so that either all files are written or none.
  if (!o.engine_out.empty()) write_text_file(o.engine_out, engine);
  if (!o.out.empty()) write_text_file(o.out, device);
  if (!o.html.empty()) write_text_file(o.html, page.str());
  if (!o.compare_out.empty()) write_comparison_csv(o.compare_out, compared->points, compared->first, compared->second);
  print_excluded_rows(std::cerr, r);
  print_warnings(std::cerr, r.quality);
  if (o.json || o.out.empty()) std::cout << device;
  std::ostream& said = o.json || o.out.empty() ? std::cerr : std::cout;
  const auto width = at(text_width());
  if (!o.json) {
    print_quality(said, r.quality, width);
    print_regimes(said, r.regimes, width);
    if (m.device == "cuda" && !o.engine_out.empty()) print_gpu_host(said, m, fit_layer(o, m, r), width);
  }
  if (compared) print_comparison(said, compared->points, compared->first, compared->second, width);
  return kFine;
}

}  // namespace

void add_calibrate(CLI::App& app, Action& chosen) {
  auto* verb =
      app.add_subcommand("calibrate", "fits a device to measurements and prints its errors on held-out shapes");
  auto o = std::make_shared<CalibrateOptions>();
  verb->add_option("measured", o->measured,
                   "a measured file (draftline probe), or a folder of tables of kernels: gemm, generation_attention,\n"
                   "context_attention, mla_generation_module, mla_context_module, context_mla, moe, nccl,\n"
                   "custom_allreduce (aiconfigurator's forms), dense and attention (LLMServingSim's), each a .csv\n"
                   "file, gzipped or not; docs/recipes/your_gpu.md")
      ->check(CLI::ExistingPath);
  verb->add_option(
      "--served", o->served.files,
      "fit an engine to benchmarks of a server: results of vLLM (bench serve, bench latency), SGLang or guidellm,\n"
      "or a CSV table; FILE@batch=8,prompt=32,... adds values that a file lacks (docs/recipes/your_server.md)");
  verb->add_option("--engine", o->served.engine, "with --served: the initial profile");
  verb->add_option("--precision", o->served.precision,
                   "with --served: format of the weights; auto: the checkpoint's, else bf16")
      ->capture_default_str();
  verb->add_option("--tensor-parallel", o->served.tensor_parallel,
                   "with --served or step tables (dense, attention): number of devices that share each layer")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  verb->add_option("--method", o->served.method,
                   "with --served: the method of speculative runs, a name or an object as in a scenario");
  verb->add_option("--out", o->out, "the device file to write; default: standard output");
  verb->add_option("--engine-out", o->engine_out,
                   "also writes the profile of our decoder's host; with --served: of the server's engine");
  verb->add_option(
      "--device", o->device,
      "the GPU: a name of `list devices` or a device file (a datasheet is sufficient); with --served: the GPU\n"
      "of the server");
  verb->add_option("--transformer", o->transformer,
                   "for step tables and --served: the measured network, as a name, a file or a folder with\n"
                   "its config.json");
  verb->add_option("--library", o->library,
                   "the library whose products, experts or state spaces were timed, as an engine's profile names it\n"
                   "(\"kernels\"): its fits are added to those of the device's file under \"libraries\"")
      ->check(CLI::Validator(
          [](const std::string& name) { return name.empty() ? std::string("must not be empty") : std::string(); },
          "NAME"));
  verb->add_option("--source", o->source,
                   "origin of the times: a key of data/sources.json (own-tables: your own), recorded in the fits")
      ->capture_default_str();
  verb->add_option("--locator", o->locator, "place in this source; default: the name of the measured file or folder");
  verb->add_option("--compare", o->compare,
                   "a device, or device file: compares its predictions of the measured points with those of this\n"
                   "calibration; two: compares the first with the second")
      ->expected(1, 2);
  verb->add_option("--compare-out", o->compare_out, "writes a CSV file with a row per compared point");
  verb->add_option("--html", o->html, "writes a page with each measured kernel against its prediction");
  verb->add_flag("--json", o->json, "print only the device file on standard output");
  verb->footer(
      "Examples:\n  draftline probe --out cpu.json && draftline calibrate cpu.json --out my-cpu.json\n"
      "  draftline calibrate tables/ --device ./my-gpu.json --source own-tables --out measured-gpu.json");
  verb->callback([o, &chosen] {
    chosen = {AcrossRanks::first_alone, [o](const Common& c) { return calibrate(*o, c); }};
  });
}

}  // namespace draftline::cli
