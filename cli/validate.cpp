// SPDX-License-Identifier: Apache-2.0
// `draftline validate`: probe, calibrate, decode, predict and compare on this machine (docs/recipes/validate.md). Each
// part writes a file to a folder; started again, it continues there. Calibration uses only measurements of kernels and
// the host, never of steps.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>

#include "cli/command.h"
#include "cli/interruptible.h"
#include "cli/options.h"
#include "cli/probe.h"
#include "cli/progress.h"
#include "cli/validate_options.h"
#include "core/build_info.h"
#include "core/json_parse.h"
#include "core/nearest_word.h"
#include "core/text_file.h"
#include "measure/calibrated_texts.h"
#include "measure/compare_serving.h"
#include "measure/decode_grid.h"
#include "reports/validation_report.h"

namespace draftline::cli {

using namespace measure;

namespace {

class Validating {
 public:
  Validating(const ValidateOptions& o, const Common& common)
      : o_(o),
        common_(common),
        networks_(common.data),
        core_(
            o.gpu() ? CoreMonitor::Read() : [this](int more) { return references().clock.read(more); },
            Seconds{o.of_waiting()}, Interruptible::asked) {
    if (!o.steps.empty()) check_comparison();
    if (o.gpu() && o.has("calibrate") && o.datasheet.empty())
      throw InputErrors("--datasheet: a GPU's peaks can't be measured; give its device or a device file");
    check_asked();
    check_outputs({{"--markdown", o.markdown}, {"--html", o.html}}, {o.measured, o.steps});
    std::error_code failed;
    std::filesystem::create_directories(o.out, failed);
    if (failed) throw InputErrors("--out: " + o.out.string() + " can't be made: " + failed.message());
  }

  int run() {
    if (!o_.steps.empty()) return compare_with_file();
    if (o_.has("probe") && o_.measured.empty() && !probe()) return interrupted();
    if (o_.has("calibrate")) calibrate();
    if (!o_.has("decode") && !o_.has("serving")) return kFine;
    cells_ = cells_asked();
    if (o_.gpu()) on_ = this_gpu(networks_, o_.rate(), file("algorithms.json"));
    else on_ = this_cpu(networks_, most(&GridCell::batch_size), most(&GridCell::context), references());
    load_calibration(on_->format(), o_.rate());
    const Interruptible interruptible;
    GridSteps grid = o_.has("decode") ? decode() : GridSteps{};
    if (probing_ && !finish_probing()) return interrupted();
    ValidationReport report = compared(grid.steps, on_->title(), o_.rate());
    report.left_out = grid.left_out;
    if (grid.whole && o_.has("serving"))
      report.serving = compare_serving(serving_asked(), networks_, *on_, *validation_);
    if (Interruptible::asked()) return interrupted();
    on_->keep();
    write(report);
    return grid.whole ? 0 : interrupted();
  }

 private:
  // Steps that were measured before, perhaps elsewhere, beside what is predicted now. No device is needed.
  int compare_with_file() {
    MeasuredSteps steps = read_file(o_.steps, read_measured_steps);
    if (steps.device != o_.device)
      throw InputErrors(o_.steps.string() + "#/device: is " + steps.device + ", but --device is " + o_.device);
    calibrate();
    const double rate = rate_of(steps);
    load_calibration(o_.gpu() ? DType::bf16 : DType::fp32, rate);
    validation_->check_networks(steps.cells, o_.steps);
    write(compared(steps, steps.title + ", measured with " + steps.commit.substr(0, 8), rate));
    return kFine;
  }
  void check_comparison() const {
    if (!o_.parts.empty()) throw InputErrors("--steps: can't be combined with --parts, because nothing is decoded");
    if (std::error_code none; !std::filesystem::exists(measured(), none))
      throw InputErrors("--steps: requires a file of measured kernels: --measured FILE");
  }
  // On a GPU acceptance was forced to a rate, and the file says to which.
  double rate_of(const MeasuredSteps& steps) const {
    if (!o_.gpu()) return o_.rate();
    const std::string place = o_.steps.string() + "#/arguments: ";
    const auto& all = steps.arguments;
    const auto at = std::ranges::find(all, kRateOption);
    if (at == all.end() || at + 1 == all.end()) throw InputErrors(place + "have no " + kRateOption + " with its rate");
    double rate = 0;
    const char* end = (at + 1)->data() + (at + 1)->size();
    const auto [read_to, failed] = std::from_chars((at + 1)->data(), end, rate);
    if (failed != std::errc() || read_to != end || !(rate >= 0 && rate <= 1))
      throw InputErrors(place + *at + " is not a rate");
    if (o_.asked_rate && *o_.asked_rate != rate)
      throw InputErrors(std::string(kRateOption) + ": these steps were measured with " + *(at + 1));
    return rate;
  }

  ValidationReport compared(MeasuredSteps& steps, const std::string& title, double rate) {
    ValidationReport report{
        .device = o_.device, .title = title, .commit = std::string(build_commit()), .rate = rate, .fits = fits_};
    take_out_bursts(steps.cells);
    for (const MeasuredCell& c : steps.cells) {
      if (!asked(c.transformer, c.method, c.batch_size)) continue;
      if (c.skipped.empty()) report.cells.push_back(validation_->compare(c));
      else report.skipped.push_back(c);
    }
    report.input_files = input_files();
    report.data = common_.data;
    return report;
  }
  void write(const ValidationReport& report) const {
    write_to_file(o_.markdown, Format::markdown, report);
    write_to_file(o_.html, Format::html, report);
    if (o_.json) write_validation_json(std::cout, report);
    else write_validation(to_standard_output(Format::table, asked_of()), report);
  }
  Asked asked_of() const { return {"validate", common_.data}; }
  void write_to_file(const std::filesystem::path& file, Format format, const ValidationReport& report) const {
    if (file.empty()) return;
    std::ostringstream text;
    write_validation({text, format, asked_of()}, report);
    write_text_file(file, text.str());
  }
  bool small() const { return o_.grid == "small"; }
  std::string kind() const { return o_.full ? "full" : o_.grid; }
  std::filesystem::path file(const char* name) const { return o_.out / name; }
  std::filesystem::path measured() const { return o_.measured.empty() ? file("measured.json") : o_.measured; }
  std::filesystem::path steps() const { return o_.steps.empty() ? file("steps.json") : o_.steps; }
  // The input files of the predictions and of the measured steps.
  InputFiles input_files() const {
    InputFiles all = networks_.input_files();
    for (const std::filesystem::path& f : {measured(), file("device.json"), file("engine.json"), steps()})
      if (std::error_code none; std::filesystem::exists(f, none))
        all.merge(InputFiles(Document::from_file(f).root().input_files()));
    return all;
  }
  CpuReferences& references() {
    constexpr Seconds kWatch{2}, kGlance{0.5};
    if (!references_) references_.emplace(small() ? kGlance : kWatch);
    return *references_;
  }

  // On a CPU that decodes too, most points are left for the time between the cells (probing_), so that a drift of the
  // machine is in both. Returns false if it was interrupted.
  bool probe() {
    const ProbeOptions o{o_.device, small() ? "small" : "full", measured(), o_.of_probing(), o_.of_waiting()};
    probed_ = o_.gpu() ? probed_gpu(grid_size(o)) : probed_cpu(grid_size(o), references());
    const Interruptible interruptible;
    const Watcher watcher = watcher_with_bar("probing");
    probing_ = std::make_unique<Probing>(probing_asked(o), *probed_, watcher);
    const bool in_slices = !o_.gpu() && o_.has("calibrate") && o_.has("decode");
    const bool enough = in_slices ? probing_->until(0, watcher) : probing_->finish(watcher);
    if (probing_->whole()) probing_.reset(), probed_.reset();
    return enough;
  }
  bool finish_probing() {
    const bool all = probing_->finish(watcher_with_bar("probing"));
    probing_.reset();
    if (!all) return false;
    calibrate();
    load_calibration(on_->format(), o_.rate());
    return true;
  }

  GridSteps decode() {
    GridAsked grid = grid_asked();
    const Watcher watcher = watcher_with_bar("decoding"), silent{.interrupted = watcher.interrupted};
    if (probing_) grid.between_cells = [&](double over) { probing_->until(over, silent); };
    return decode_grid(grid, *on_, *validation_, core_, watcher);
  }

  // The device and the engine by which steps are predicted, and the clock at which they are compared.
  void load_calibration(DType format, double rate) {
    if (!o_.gpu() && o_.steps.empty()) tell_at_clock_of_probe();
    for (const char* name : {"device.json", "engine.json"})
      if (std::error_code none; !std::filesystem::exists(file(name), none))
        throw InputErrors(file(name).string() + ": no such file; the part \"calibrate\" writes it (--parts)");
    validation_.reset();
    device_ = read_file(file("device.json"), [](const Reader& in) { return read_device(in); });
    engine_ = read_file(file("engine.json"), read_engine);
    validation_ = std::make_unique<Validation>(device_, engine_, networks_.all(), networks_.find(),
                                               Validation::Options{rate, format, memory_while_probed()});
  }

  // The clock at which steps are compared is that of probing; older files do not have it.
  void tell_at_clock_of_probe() {
    constexpr double kFarthest = 3;  // with a busy SMT sibling a core takes 1.7 times as long
    std::error_code none;
    if (!std::filesystem::exists(measured(), none)) return;
    ClockReference& clock = references().clock;
    for (const MeasuredPoint& p : read_file(measured(), read_measured).points) {
      if (p.op != "clock_reference" || !p.skipped.empty()) continue;
      if (std::abs(std::log(p.median.value / clock.usual())) > std::log(kFarthest))
        throw InputErrors(measured().string() + "#/points: the clock reference took " + to_text(p.median) +
                          ", but takes " + to_text(Seconds{clock.usual()}) + " here: the file is from another machine");
      clock.normalise_to(p.median.value);
    }
  }
  std::optional<MemoryTimes> memory_while_probed() const {
    std::error_code none;
    if (o_.gpu() || !std::filesystem::exists(measured(), none)) return {};
    return memory_times(read_file(measured(), read_measured));
  }
  static int interrupted() {
    std::cerr << "interrupted; repeat the same command to continue\n";
    return Interruptible::exit_code();
  }
  bool asked(const std::string& network, const MethodSpec& method, int batch) const {
    return (o_.networks.empty() || std::ranges::find(o_.networks, network) != o_.networks.end()) &&
           (o_.methods.empty() || std::ranges::find(o_.methods, method.name()) != o_.methods.end()) &&
           (o_.batches.empty() || std::ranges::find(o_.batches, batch) != o_.batches.end());
  }

  // Throws InputErrors with every network, method and batch size that no cell of the grid has.
  void check_asked() const {
    const std::vector<GridCell> cells = validation_grid(common_.data, o_.device, kind());
    std::vector<std::string_view> networks, methods;
    std::set<int> batches;
    for (const GridCell& c : cells) {
      networks.push_back(c.transformer);
      methods.push_back(c.method.name());
      batches.insert(c.batch_size);
    }
    std::vector<std::string> mistakes;
    const std::string none = ": no cell of the " + kind() + " grid of " + o_.device + " has ";
    const auto check_names = [&](const char* option, const std::vector<std::string>& names,
                                 const std::vector<std::string_view>& known) {
      for (const std::string& name : names)
        if (std::ranges::find(known, name) == known.end())
          mistakes.push_back(option + none + in_quotes(name) + did_you_mean(name, known));
    };
    check_names("--networks", o_.networks, networks);
    check_names("--methods", o_.methods, methods);
    for (const int batch : o_.batches)
      if (!batches.contains(batch)) mistakes.push_back("--batch-sizes" + none + std::to_string(batch));
    if (mistakes.empty() && cells_asked().empty())
      mistakes.push_back("--networks, --methods, --batch-sizes" + none + "all requested properties");
    if (!mistakes.empty()) throw InputErrors(std::move(mistakes));
  }
  std::vector<GridCell> cells_asked() const {
    std::vector<GridCell> cells = validation_grid(common_.data, o_.device, kind());
    std::erase_if(cells, [&](const GridCell& c) { return !asked(c.transformer, c.method, c.batch_size); });
    return cells;
  }
  ServingAsked serving_asked() {
    std::string network;  // the first requested one of the grid
    for (const GridCell& c : validation_grid(common_.data, o_.device, kind()))
      if (network.empty() &&
          (o_.networks.empty() || std::ranges::find(o_.networks, c.transformer) != o_.networks.end()))
        network = c.transformer;
    return {std::filesystem::absolute(o_.out),
            std::filesystem::absolute(common_.data),
            network,
            serving_load(common_.data, o_.device),
            o_.requests,
            o_.turns,
            o_.of_serving(),
            [this] { core_.wait(); },
            [this] { return core_.stayed_free(); },
            Interruptible::asked};
  }
  int most(int GridCell::*what) const {
    int n = 1;
    for (const GridCell& c : cells_) n = std::max(n, c.*what);
    return n;
  }

  void calibrate() {
    const CalibratedFiles files = calibrated_files(measured(), o_.device, o_.datasheet, common_.data);
    if (!files.engine)
      throw InputErrors(measured().string() + "#/points: contains no measurements of the host; probe again");
    write_text_file(file("device.json"), files.device);
    write_text_file(file("engine.json"), *files.engine);
    fits_ = files.quality;
  }

  GridAsked grid_asked() const {
    std::vector<std::string> arguments{"validate", "--device", o_.device};
    if (o_.gpu()) {  // acceptance is forced there, so steps depend on the rate
      arguments.emplace_back(kRateOption);
      arguments.push_back(significant(o_.rate(), 6));
    }
    return {
        steps(), o_.device, std::move(arguments),    named(networks_.input_files(), common_.data),
        cells_,  o_.turns,  Seconds{o_.time_budget}, o_.full ? std::nullopt : std::optional(Seconds{o_.of_decoding()})};
  }

  const ValidateOptions& o_;
  const Common& common_;
  Networks networks_;
  std::optional<CpuReferences> references_;  // of a CPU, once they are needed
  CoreMonitor core_;
  std::unique_ptr<ProbedDevice> probed_;
  std::unique_ptr<Probing> probing_;  // while points are left to probe between the cells
  std::unique_ptr<ValidationDevice> on_;
  std::vector<GridCell> cells_;
  Device device_;
  Engine engine_;
  std::unique_ptr<Validation> validation_;
  std::vector<FitQuality> fits_;
};

}  // namespace

void add_validate(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("validate", "measure on this machine and compare with predicted steps");
  auto o = std::make_shared<ValidateOptions>();
  add_validate_options(*verb, *o);
  verb->footer("Example: draftline validate --out here --html here/report.html");
  verb->callback([o, &chosen] {
    chosen = {AcrossRanks::refuses, [o](const Common& c) { return Validating(*o, c).run(); }};
  });
}

}  // namespace draftline::cli
