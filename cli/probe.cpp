// SPDX-License-Identifier: Apache-2.0
// `draftline probe`: times the ops of a decoder on this machine and writes a measured file. Results are saved every few
// seconds; started again with the same file, it continues.
#include "cli/probe.h"

#include <iostream>

#include "cli/command.h"
#include "cli/interruptible.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "core/quantity_text.h"
#include "core/reader.h"
#include "core/text_file.h"

namespace draftline::cli {

using namespace measure;

GridSize grid_size(const ProbeOptions& o) { return o.grid == "small" ? GridSize::small : GridSize::full; }

ProbingAsked probing_asked(const ProbeOptions& o) {
  constexpr double kSecondsOnCpu = 80, kSecondsOnGpu = 150, kToWait = 0.75;
  const double seconds = o.seconds.value_or(o.device == "cuda" ? kSecondsOnGpu : kSecondsOnCpu);
  return {o.out,
          o.device,
          {"probe", "--device", o.device, "--grid", o.grid, "--seconds", significant(seconds, 6)},
          Seconds{seconds},
          Seconds{o.wait.value_or(grid_size(o) == GridSize::small ? 0 : kToWait * seconds)}};
}

namespace {

struct ProbeArguments : ProbeOptions {
  bool json = false;
};

int probe(const ProbeArguments& o) {
  constexpr Seconds kWatch{2}, kGlance{0.05};
  const GridSize size = grid_size(o);
  std::optional<CpuReferences> references;
  if (o.device == "cpu") references.emplace(size == GridSize::full ? kWatch : kGlance);
  const auto device = references ? probed_cpu(size, *references) : probed_gpu(size);
  bool all = true;
  {
    const Interruptible interruptible;
    const Watcher watcher = watcher_with_bar("probing");
    all = Probing(probing_asked(o), *device, watcher).finish(watcher);
  }
  const Measured m = read_file(o.out, read_measured);
  if (o.json) write_measured(std::cout, m);
  else std::cout << printable_path(o.out) << ": " << m.points.size() << " points of " << m.title << "\n";
  if (!all) std::cerr << "interrupted; repeat the same command to continue\n";
  return all ? 0 : Interruptible::exit_code();
}

}  // namespace

void add_probe(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("probe", "times the decoder's ops on this machine and writes a measured file");
  auto o = std::make_shared<ProbeArguments>();
  verb->add_option("--device", o->device, "what to time")->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
  verb->add_option("--out", o->out, "the measured file; an interrupted file is completed")->capture_default_str();
  verb->add_option("--grid", o->grid, "small: a few shapes, for a quick test")
      ->check(CLI::IsMember({"full", "small"}))
      ->capture_default_str();
  verb->add_option("--seconds", o->seconds, "approximate time; default: 80 on a CPU, 150 on a GPU")
      ->check(between(0.1, 3600.0));
  verb->add_option("--wait", o->wait,
                   "longest total wait for other programs to leave a CPU core;\n"
                   "default: three quarters of --seconds, or 0 on the small grid")
      ->check(between(0.0, 3600.0));
  verb->add_flag("--json", o->json, "also write the measured file to standard output");
  verb->footer(
      "Example: draftline probe --device cpu --out cpu.json && draftline calibrate cpu.json --out my-cpu.json");
  verb->callback([o, &chosen] { chosen = {AcrossRanks::refuses, [o](const Common&) { return probe(*o); }}; });
}

}  // namespace draftline::cli
