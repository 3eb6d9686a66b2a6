// SPDX-License-Identifier: Apache-2.0
// `draftline probe`: times the ops of a decoder on this machine and writes a measured file. What was measured is written
// every few seconds; started again on the same file, it goes on where it was.
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <optional>

#include "cli/command.h"
#include "cli/in_order.h"
#include "cli/measuring.h"
#include "cli/progress.h"
#include "core/build_info.h"
#include "core/errors.h"
#include "core/quantity_text.h"
#include "core/text_file.h"
#include "probes/cpu_grid.h"
#include "probes/cpu_probe.h"
#include "probes/cuda_grid.h"
#include "probes/cuda_probe.h"
#include "probes/host_probe.h"
#include "probes/machine.h"

namespace draftline::cli {

namespace {

struct Options : ProbeOptions {
  bool json = false;
};

void save(const Measured& m, const std::filesystem::path& file) {
  AtomicFile out(file);
  write_measured(out.stream(), m);
  out.commit();
}

// Points of an earlier run; InputErrors if that was another machine or another draftline.
std::vector<MeasuredPoint> earlier(const Measured& now, const std::filesystem::path& file) {
  std::error_code none;
  if (!std::filesystem::exists(file, none)) return {};
  const Document document = Document::from_file(file);
  Measured before = read_measured(document.root());
  document.finish();
  if (before.device != now.device || before.title != now.title)
    throw InputErrors(file.string() + ": was measured on " + before.title + "; name another file with --out");
  if (before.commit != now.commit)
    throw InputErrors(file.string() + ": was measured with another commit (" + before.commit +
                      "); name another file with --out");
  return before.points;
}

// What is probed: its facts, its shapes, and how one of them is timed.
struct Subject {
  std::string title;
  std::map<std::string, double> machine;
  std::vector<MeasuredPoint> grid;
  std::function<MeasuredPoint(const MeasuredPoint&, Seconds patience)> measure;
};

Subject this_processor(GridSize size) {
  const Machine machine = this_machine();
  constexpr Seconds kWatch{2}, kGlance{0.05};
  auto yardstick = std::make_shared<Yardstick>(size == GridSize::full ? kWatch : kGlance);
  std::vector<MeasuredPoint> grid = cpu_grid(machine.last_cache, size);
  for (const MeasuredPoint& p : host_grid()) grid.push_back(p);
  return {machine.processor,
          {{"first_cache", machine.first_cache},
           {"second_cache", machine.second_cache},
           {"last_cache", machine.last_cache},
           {"memory", machine.memory},
           {"cores", static_cast<double>(machine.cores)}},
          std::move(grid),
          [yardstick](const MeasuredPoint& p, Seconds patience) {
            return p.op.ends_with("_host") ? probe_host(p, patience, *yardstick) : probe_cpu(p, patience, *yardstick);
          }};
}

Subject this_gpu(GridSize size) {
  auto device = std::make_shared<CudaProbe>();
  return {device->title(), device->machine(), cuda_grid(device->machine().at("l2_cache"), size),
          [device](const MeasuredPoint& p, Seconds patience) { return device->measure(p, patience); }};
}

}  // namespace

bool probe_into(const ProbeOptions& o) {
  constexpr double kSecondsOnCpu = 80, kSecondsOnGpu = 150;
  const bool gpu = o.device == "cuda";
  const GridSize size = o.grid == "small" ? GridSize::small : GridSize::full;
  const double seconds = o.seconds.value_or(gpu ? kSecondsOnGpu : kSecondsOnCpu);
  const Subject subject = gpu ? this_gpu(size) : this_processor(size);
  Measured m;
  m.device = o.device;
  m.title = subject.title;
  m.commit = build_commit();
  m.source = "draftline-probe";
  m.locator = "draftline probe --device " + o.device + " on this machine";
  m.arguments = {"probe", "--device", o.device, "--grid", o.grid, "--seconds", significant(seconds, 6)};
  m.machine = subject.machine;
  m.points = earlier(m, o.out);

  std::vector<MeasuredPoint> todo = subject.grid;
  const std::size_t all = todo.size();
  std::erase_if(todo, [&](const MeasuredPoint& p) {
    return std::any_of(m.points.begin(), m.points.end(), [&](const auto& q) { return q.same_shape(p); });
  });
  if (todo.size() < all)
    std::cerr << o.out.string() << ": " << all - todo.size() << " of " << all << " points are there already\n";
  using Clock = std::chrono::steady_clock;
  constexpr auto kBetweenSaves = std::chrono::seconds(3);
  auto saved = Clock::now() - kBetweenSaves;  // the first point at once: a folder that can't be written shows early
  // About half of the time goes to making data, checking results and what takes longer than its share.
  const Seconds patience{seconds / 2 / static_cast<double>(all)};
  int discarded = 0, skipped = 0, taken = 0;
  std::size_t i = 0;
  {
    const Interruptible interruptible;
    Progress progress("probing", todo.size());
    for (; i < todo.size() && !Interruptible::asked(); ++i) {
      try {
        m.points.push_back(subject.measure(todo[i], patience));
      } catch (const DeviceError&) {  // what is there stays
        save(m, o.out);
        throw;
      }
      discarded += m.points.back().discarded;
      taken += m.points.back().discarded + m.points.back().samples;
      skipped += !m.points.back().skipped.empty();
      if (Clock::now() - saved > kBetweenSaves) {
        save(m, o.out);
        saved = Clock::now();
      }
      progress.at(i + 1);
    }
  }
  save(m, o.out);
  if (discarded > 0)
    std::cerr << discarded << " of " << taken
              << " samples were discarded: the clock, or another program, slowed them\n";
  if (skipped > 0) std::cerr << skipped << " points could not run; the file says why\n";
  return i == todo.size();
}

namespace {

int probe(const Options& o) {
  constexpr int kInterrupted = 130;
  const bool all = probe_into(o);
  const Document document = Document::from_file(o.out);
  const Measured m = read_measured(document.root());
  document.finish();
  if (o.json) write_measured(std::cout, m);
  else std::cout << o.out.string() << ": " << m.points.size() << " points of " << m.title << "\n";
  if (!all) std::cerr << "interrupted; the same command goes on\n";
  return all ? 0 : kInterrupted;
}

}  // namespace

void add_probe(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("probe", "times the decoder's ops on this machine and writes a measured file");
  auto o = std::make_shared<Options>();
  verb->add_option("--device", o->device, "what to time")->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
  verb->add_option("--out", o->out, "the measured file; an interrupted one is completed")->capture_default_str();
  verb->add_option("--grid", o->grid, "small: a few shapes, to see that it works")
      ->check(CLI::IsMember({"full", "small"}))
      ->capture_default_str();
  verb->add_option("--seconds", o->seconds, "how long it may take, about; 80 on a CPU, 150 on a GPU")
      ->check(CLI::Range(0.1, 3600.0));
  verb->add_flag("--json", o->json, "the measured file on standard output too");
  verb->footer(
      "Example: draftline probe --device cpu --out cpu.json && draftline calibrate cpu.json --out my-cpu.json");
  verb->callback([o, &chosen] { chosen = [o](const Common&) { return probe(*o); }; });
}

}  // namespace draftline::cli
