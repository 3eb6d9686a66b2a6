// SPDX-License-Identifier: Apache-2.0
// `draftline probe`: times the ops of a decoder on this machine and writes a measured file. Results are saved every few
// seconds; started again with the same file, it continues.
#include <algorithm>
#include <chrono>
#include <functional>
#include <iostream>
#include <set>

#include "cli/command.h"
#include "cli/interruptible.h"
#include "cli/measuring.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "core/build_info.h"
#include "core/errors.h"
#include "core/quantity_text.h"
#include "core/text_file.h"
#include "measure/free_core.h"
#include "probes/cpu_grid.h"
#include "probes/cpu_probe.h"
#include "probes/cuda_grid.h"
#include "probes/cuda_probe.h"
#include "probes/host_probe.h"
#include "probes/machine.h"
#include "probes/memory_reference.h"
#include "probes/stopwatch.h"

namespace draftline::cli {

using namespace measure;

namespace {

struct ProbeArguments : ProbeOptions {
  bool json = false;
};

void save(const Measured& m, const std::filesystem::path& file) {
  AtomicFile out(file);
  write_measured(out.stream(), m);
  out.commit();
}

// The points of an earlier run. Throws InputErrors if that was on another machine or by another program.
std::vector<MeasuredPoint> earlier(const Measured& now, const std::filesystem::path& file) {
  std::error_code none;
  if (!std::filesystem::exists(file, none)) return {};
  const Measured before = read_file(file, read_measured);
  now.must_go_on(before, file);
  return before.points;
}

// The device that is probed: its description, the points of its grid, and the function that times one of them.
struct Subject {
  std::string title;
  std::function<std::map<std::string, double>()> machine;
  std::vector<MeasuredPoint> grid;
  std::function<MeasuredPoint(const MeasuredPoint&, Seconds time_budget)> measure;
  std::function<Seconds(const MeasuredPoint&)> overhead = {};  // time besides the samples; null: as long as these
  std::function<std::vector<std::string>()> remarks = {};
  std::function<double()> usual = {};  // time of the clock reference on a free core, as known so far
  FreeCore::Read read = {};            // reads the clock reference
};

Subject this_cpu(GridSize size) {
  const Machine machine = this_machine();
  constexpr Seconds kWatch{2}, kGlance{0.05};
  auto reference = std::make_shared<ClockReference>(size == GridSize::full ? kWatch : kGlance);
  auto memory = std::make_shared<MemoryReference>(machine.l2_cache, machine.last_level_cache, *reference);
  memory->read();
  std::vector<MeasuredPoint> grid = cpu_grid(machine.last_level_cache, size);
  for (const MeasuredPoint& p : host_grid()) grid.push_back(p);
  // Last, as they summarise readings taken all the while.
  for (const MeasuredPoint& p : memory->points()) grid.push_back({.op = p.op, .shape = p.shape});
  grid.push_back({.op = "clock_reference", .shape = {}});
  return {machine.cpu,
          [machine] {
            return std::map<std::string, double>{{"l1_cache", machine.l1_cache},
                                                 {"l2_cache", machine.l2_cache},
                                                 {"last_level_cache", machine.last_level_cache},
                                                 {"memory", machine.memory},
                                                 {"cores", static_cast<double>(machine.cores)}};
          },
          std::move(grid),
          [reference, memory, since = Stopwatch()](const MeasuredPoint& p, Seconds time_budget) mutable {
            constexpr Seconds kBetweenReadings{0.25};
            for (const MeasuredPoint& all : memory->points())
              if (all.same_shape(p)) return all;
            if (since.wall() > kBetweenReadings) {
              memory->read();
              since = Stopwatch();
            }
            return p.op.ends_with("_host") ? probe_host(p, time_budget, *reference)
                                           : probe_cpu(p, time_budget, *reference);
          },
          {},
          {},
          [reference] { return reference->usual(); },
          [reference](int more) { return reference->read(more); }};
}

Subject this_gpu(GridSize size) {
  auto device = std::make_shared<CudaProbe>();
  const auto facts = device->machine();
  return {device->title(),
          [device] { return device->machine(); },
          cuda_grid(facts.at("l2_cache"), size, static_cast<int>(facts.at("devices"))),
          [device](const MeasuredPoint& p, Seconds time_budget) { return device->measure(p, time_budget); },
          expected_overhead,
          [device] { return device->remarks(); }};
}

using Clock = std::chrono::steady_clock;

// Divides the time budget among the points: each gets its overhead, and an equal part of the rest. If overheads are
// longer than estimated, later points get less time, so that the total stays within the budget.
class Schedule {
 public:
  Schedule(const Subject& subject, const std::vector<MeasuredPoint>& todo, Seconds whole) {
    const auto all = static_cast<double>(subject.grid.size());
    const Seconds half = whole * (0.5 / all);
    Seconds beside;
    for (const MeasuredPoint& p : subject.grid) beside += subject.overhead ? subject.overhead(p) : half;
    constexpr double kLeastShare = 0.25;  // least share of the time that is for samples
    time_budget_ = std::max(whole - beside, kLeastShare * whole) * (1 / all);
    adapts_ = static_cast<bool>(subject.overhead);
    for (const MeasuredPoint& p : todo) overhead_.push_back(subject.overhead ? subject.overhead(p) : half);
    for (const Seconds o : overhead_) expected_ += o + time_budget_;
    left_ = expected_;
  }
  Seconds expected() const { return expected_; }
  Seconds done() const { return expected_ - left_; }
  Seconds elapsed() const { return Seconds{std::chrono::duration<double>(Clock::now() - start_).count()}; }
  Seconds time_budget_for(std::size_t i) const {
    if (!adapts_) return time_budget_;
    Seconds beside;
    for (std::size_t j = i; j < overhead_.size(); ++j) beside += overhead_[j];
    constexpr double kLeastShare = 0.125;
    const Seconds share = (expected_ - elapsed() - beside) * (1 / static_cast<double>(overhead_.size() - i));
    return std::clamp(share, kLeastShare * time_budget_, time_budget_);
  }
  void finished(std::size_t i) { left_ -= overhead_[i] + time_budget_; }

 private:
  Seconds time_budget_, expected_, left_;
  std::vector<Seconds> overhead_;
  bool adapts_ = false;
  Clock::time_point start_ = Clock::now();
};

}  // namespace

bool probe_into(const ProbeOptions& o) {
  constexpr double kSecondsOnCpu = 80, kSecondsOnGpu = 150, kToWait = 0.75;
  const bool gpu = o.device == "cuda";
  const GridSize size = o.grid == "small" ? GridSize::small : GridSize::full;
  const double seconds = o.seconds.value_or(gpu ? kSecondsOnGpu : kSecondsOnCpu);
  const Subject subject = gpu ? this_gpu(size) : this_cpu(size);
  Measured m;
  m.device = o.device;
  m.title = subject.title;
  m.commit = build_commit();
  m.model = build_model();
  m.source = "draftline-probe";
  m.locator = "draftline probe --device " + o.device + " on this machine";
  m.arguments = {"probe", "--device", o.device, "--grid", o.grid, "--seconds", significant(seconds, 6)};
  m.machine = subject.machine();
  m.points = earlier(m, o.out);

  std::vector<MeasuredPoint> todo = subject.grid;
  const std::size_t all = todo.size();
  std::erase_if(todo, [&](const MeasuredPoint& p) {
    return std::any_of(m.points.begin(), m.points.end(), [&](const auto& q) { return q.same_shape(p); });
  });
  if (todo.size() < all)
    std::cerr << o.out.string() << ": " << all - todo.size() << " of " << all << " points are there already\n";
  std::set<std::string> said;
  const auto remark = [&](bool at_end) {
    if (!subject.remarks) return;
    for (const std::string& r : subject.remarks())
      if (at_end ? !said.contains(r) : said.insert(r).second) std::cerr << r << "\n";
  };
  remark(false);
  const auto keep = [&] {
    m.machine = subject.machine();
    save(m, o.out);
  };
  constexpr auto kBetweenSaves = std::chrono::seconds(3);
  auto saved = Clock::now() - kBetweenSaves;  // saves after the first point, to detect early if that is impossible
  Schedule schedule(subject, todo, Seconds{seconds});
  const auto in_seconds = [](Seconds t) { return significant(t.value, 3) + " s"; };
  if (gpu && !todo.empty())
    std::cerr << "probing " << todo.size() << " points of " << m.title << ", about " << in_seconds(schedule.expected())
              << "\n";
  int discarded = 0, skipped = 0, taken = 0;
  std::size_t i = 0, again = 0;
  struct Judged {
    std::size_t at;
    double usual;  // time of the clock reference that was assumed
    bool shared;   // whether other programs used the core meanwhile
  };
  std::vector<Judged> judged;
  FreeCore core(subject.read, Seconds{o.wait.value_or(size == GridSize::small ? 0 : kToWait * seconds)},
                Interruptible::asked);
  {
    constexpr double kTicks = 1000;  // the bar counts expected milliseconds, for a correct estimate of the time left
    const Interruptible interruptible;
    Progress progress("probing", static_cast<std::size_t>(kTicks * schedule.expected().value) + 1);
    const auto wait = [&] {
      core.wait([&] {
        progress.at(static_cast<std::size_t>(kTicks * schedule.done().value), "other programs to leave the core");
      });
    };
    for (; i < todo.size() && !Interruptible::asked(); ++i) {
      try {
        wait();
        m.points.push_back(subject.measure(todo[i], schedule.time_budget_for(i)));
      } catch (const DeviceError&) {  // measured points are kept
        save(m, o.out);
        throw;
      }
      if (subject.usual) judged.push_back({m.points.size() - 1, subject.usual(), !core.stayed_free()});
      if (Clock::now() - saved > kBetweenSaves) {
        keep();
        saved = Clock::now();
      }
      schedule.finished(i);
      progress.at(static_cast<std::size_t>(kTicks * schedule.done().value));
    }
    // Other programs used the core, perhaps so long that their share of it seemed normal.
    constexpr double kSlower = 1.05, kMostTime = 2;
    for (const Judged& j : judged)
      if (i == todo.size() && (j.shared || j.usual > kSlower * subject.usual()) && !Interruptible::asked() &&
          schedule.elapsed() < Seconds{kMostTime * seconds}) {
        wait();
        m.points[j.at] = subject.measure(m.points[j.at], schedule.time_budget_for(0));
        ++again;
      }
  }
  for (std::size_t p = m.points.size() - i; p < m.points.size(); ++p) {
    discarded += m.points[p].discarded;
    taken += m.points[p].discarded + m.points[p].samples;
    skipped += !m.points[p].skipped.empty();
  }
  keep();
  remark(true);
  if (gpu && i > 0)
    std::cerr << i << " points took " << in_seconds(schedule.elapsed()) << "; " << in_seconds(schedule.done())
              << " were expected\n";
  if (const std::string waited = core.report(); !waited.empty()) std::cerr << waited << "\n";
  if (again > 0) std::cerr << again << " points were timed again: others had had the core\n";
  if (discarded > 0)
    std::cerr << discarded << " of " << taken
              << " samples were discarded: the clock, or another program, slowed them\n";
  if (skipped > 0) std::cerr << skipped << " points could not run; the file says why\n";
  return i == todo.size();
}

namespace {

int probe(const ProbeArguments& o) {
  const bool all = probe_into(o);
  const Measured m = read_file(o.out, read_measured);
  if (o.json) write_measured(std::cout, m);
  else std::cout << o.out.string() << ": " << m.points.size() << " points of " << m.title << "\n";
  if (!all) std::cerr << "interrupted; the same command goes on\n";
  return all ? 0 : Interruptible::exit_code();
}

}  // namespace

void add_probe(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("probe", "times the decoder's ops on this machine and writes a measured file");
  auto o = std::make_shared<ProbeArguments>();
  verb->add_option("--device", o->device, "what to time")->check(CLI::IsMember({"cpu", "cuda"}))->capture_default_str();
  verb->add_option("--out", o->out, "the measured file; an interrupted one is completed")->capture_default_str();
  verb->add_option("--grid", o->grid, "small: a few shapes, to see that it works")
      ->check(CLI::IsMember({"full", "small"}))
      ->capture_default_str();
  verb->add_option("--seconds", o->seconds, "how long it may take, about; 80 on a CPU, 150 on a GPU")
      ->check(between(0.1, 3600.0));
  verb->add_option("--wait", o->wait,
                   "how long it may wait, in all, for other programs to leave a CPU's core;\n"
                   "three quarters of --seconds, none on the small grid, if not given")
      ->check(between(0.0, 3600.0));
  verb->add_flag("--json", o->json, "the measured file on standard output too");
  verb->footer(
      "Example: draftline probe --device cpu --out cpu.json && draftline calibrate cpu.json --out my-cpu.json");
  verb->callback([o, &chosen] { chosen = {AcrossRanks::refuses, [o](const Common&) { return probe(*o); }}; });
}

}  // namespace draftline::cli
