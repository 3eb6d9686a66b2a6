// SPDX-License-Identifier: Apache-2.0
#include "measure/probing.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "core/build_info.h"
#include "core/errors.h"
#include "core/text_file.h"
#include "measure/free_core.h"
#include "probes/stopwatch.h"

namespace draftline::measure {

ProbeOrder spread(const std::vector<MeasuredPoint>& grid) {
  constexpr double kGolden = 0.6180339887498949;  // whose multiples are spread evenly, however many of them
  constexpr std::size_t kQuarter = 4, kLeast = 12;
  std::map<std::string, std::vector<const MeasuredPoint*>> by_op;
  for (const MeasuredPoint& p : grid) by_op[p.op].push_back(&p);
  struct Placed {
    bool later;
    double at;  // within its part of the order
    const MeasuredPoint* point;
  };
  std::vector<Placed> all;
  ProbeOrder order;
  for (const auto& [op, points] : by_op) {
    std::vector<std::pair<double, const MeasuredPoint*>> mixed;
    for (std::size_t i = 0; i < points.size(); ++i)
      mixed.emplace_back(std::fmod(kGolden * static_cast<double>(i), 1.0), points[i]);
    std::sort(mixed.begin(), mixed.end());
    const std::size_t first = std::min(std::max(points.size() / kQuarter, kLeast), points.size());
    for (std::size_t i = 0; i < mixed.size(); ++i) {
      const bool later = i >= first;
      const std::size_t of = later ? mixed.size() - first : first, n = later ? i - first : i;
      all.push_back({later, (static_cast<double>(n) + 0.5) / static_cast<double>(of), mixed[i].second});
    }
    order.enough += first;
  }
  std::stable_sort(all.begin(), all.end(), [](const Placed& a, const Placed& b) {
    return std::pair(a.later, a.at) < std::pair(b.later, b.at);
  });
  for (const Placed& p : all) order.points.push_back(*p.point);
  return order;
}

namespace {

// Divides the time among the points: each gets its overhead, and an equal part of the rest. If overheads are longer
// than estimated, later points get less time, so that the total stays within it.
class Schedule {
 public:
  Schedule(const ProbedDevice& device, const std::vector<MeasuredPoint>& grid, const std::vector<MeasuredPoint>& todo,
           Seconds whole) {
    const auto all = static_cast<double>(grid.size());
    const auto overhead = [&](const MeasuredPoint& p) { return device.overhead(p).value_or(whole * (0.5 / all)); };
    Seconds beside;
    for (const MeasuredPoint& p : grid) beside += overhead(p);
    constexpr double kLeastShare = 0.25;  // least share of the time that is for samples
    time_budget_ = std::max(whole - beside, kLeastShare * whole) * (1 / all);
    adapts_ = !grid.empty() && device.overhead(grid.front());
    for (const MeasuredPoint& p : todo) overhead_.push_back(overhead(p));
    for (const Seconds o : overhead_) expected_ += o + time_budget_;
    left_ = expected_;
  }
  Seconds expected() const { return expected_; }
  Seconds done() const { return expected_ - left_; }
  Seconds time_budget_for(std::size_t i, Seconds elapsed) const {
    if (!adapts_) return time_budget_;
    Seconds beside;
    for (std::size_t j = i; j < overhead_.size(); ++j) beside += overhead_[j];
    constexpr double kLeastShare = 0.125;
    const Seconds share = (expected_ - elapsed - beside) * (1 / static_cast<double>(overhead_.size() - i));
    return std::clamp(share, kLeastShare * time_budget_, time_budget_);
  }
  Seconds time_budget() const { return time_budget_; }
  void finished(std::size_t i) { left_ -= overhead_[i] + time_budget_; }

 private:
  Seconds time_budget_, expected_, left_;
  std::vector<Seconds> overhead_;
  bool adapts_ = false;
};

std::string in_seconds(Seconds t) { return significant(t.value, 3) + " s"; }

}  // namespace

class Probing::State {
 public:
  State(const ProbingAsked& asked, ProbedDevice& device, const Watcher& watcher)
      : asked_(asked),
        device_(device),
        order_(device.order()),
        todo_(go_on(watcher)),
        schedule_(device, order_.points, todo_, asked.time),
        core_(device.clock() ? [clock = device.clock()](int more) { return clock->read(more); } : FreeCore::Read(),
              asked.waiting, watcher.interrupted),
        interrupted_(watcher.interrupted) {
    remark(watcher, false);
    if (!device.clock() && !todo_.empty())
      watcher.say("probing " + std::to_string(todo_.size()) + " points of " + measured_.title + ", about " +
                  in_seconds(schedule_.expected()));
  }

  bool until(double share, const Watcher& watcher) {
    const Stopwatch watch;
    const Seconds before = elapsed_;
    const auto rest = static_cast<double>(todo_.size() - enough_);
    const std::size_t end = enough_ + static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * rest);
    for (; next_ < end && !interrupted_(); ++next_) {
      wait(watcher);
      time(todo_[next_], schedule_.time_budget_for(next_, elapsed_));
      schedule_.finished(next_);
      elapsed_ = before + watch.wall();
      tell(watcher, {});
    }
    if (unsaved_) save();  // other work follows
    return next_ >= end;
  }

  bool finish(const Watcher& watcher) {
    if (until(1, watcher)) time_disturbed_again(watcher);
    int discarded = 0, skipped = 0, taken = 0;
    for (std::size_t p = measured_.points.size() - next_; p < measured_.points.size(); ++p) {
      const MeasuredPoint& point = measured_.points[p];
      discarded += point.discarded;
      taken += point.discarded + point.samples;
      skipped += !point.skipped.empty();
    }
    if (whole())
      for (MeasuredPoint& p : device_.readings())
        if (!there(p)) measured_.points.push_back(std::move(p));
    save();
    remark(watcher, true);
    if (!device_.clock() && next_ > 0)
      watcher.say(std::to_string(next_) + " points took " + in_seconds(elapsed_) + "; " + in_seconds(schedule_.done()) +
                  " were expected");
    if (const std::string waited = core_.report(); !waited.empty()) watcher.say(waited);
    if (again_ > 0) watcher.say(std::to_string(again_) + " points were timed again: others had had the core");
    if (discarded > 0)
      watcher.say(std::to_string(discarded) + " of " + std::to_string(taken) +
                  " samples were discarded: the clock, or another program, slowed them");
    if (skipped > 0) watcher.say(std::to_string(skipped) + " points could not run; the file says why");
    return whole();
  }
  bool whole() const { return next_ >= todo_.size(); }

 private:
  // Reads the points of an earlier run, and returns those that are missing; last those at which the device failed, so
  // that a point at which it always does costs no other.
  std::vector<MeasuredPoint> go_on(const Watcher& watcher) {
    measured_.device = asked_.device;
    measured_.title = device_.title();
    measured_.commit = build_commit();
    measured_.model = build_model();
    measured_.source = "draftline-probe";
    measured_.locator = "draftline probe --device " + asked_.device + " on this machine";
    measured_.arguments = asked_.arguments;
    measured_.machine = device_.machine();
    if (std::error_code none; std::filesystem::exists(asked_.file, none)) {
      Measured before = read_file(asked_.file, read_measured);
      measured_.must_go_on(before, asked_.file);
      measured_.points = std::move(before.points);
    }
    std::vector<MeasuredPoint> missing, last;
    for (std::size_t i = 0; i < order_.points.size(); ++i) {
      const MeasuredPoint& p = order_.points[i];
      if (const auto before = measured_at(p); before == measured_.points.end()) {
        missing.push_back(p);
        enough_ += i < order_.enough;
      } else if (before->device_failed) {
        last.push_back(p);
      }
    }
    missing.insert(missing.end(), last.begin(), last.end());
    if (const std::size_t all = order_.points.size(); missing.size() < all)
      watcher.say(asked_.file.string() + ": " + std::to_string(all - missing.size()) + " of " + std::to_string(all) +
                  " points are there already");
    return missing;
  }

  std::vector<MeasuredPoint>::const_iterator measured_at(const MeasuredPoint& p) const {
    return std::find_if(measured_.points.begin(), measured_.points.end(),
                        [&](const auto& q) { return q.same_shape(p); });
  }
  bool there(const MeasuredPoint& p) const { return measured_at(p) != measured_.points.end(); }

  void time(const MeasuredPoint& p, Seconds time_budget) {
    constexpr Seconds kBetweenSaves{3};
    if (const auto failed = measured_at(p); failed != measured_.points.end()) measured_.points.erase(failed);
    try {
      measured_.points.push_back(device_.measure(p, time_budget));
    } catch (const OutOfDeviceMemory& e) {
      measured_.points.push_back(p);
      measured_.points.back().skipped = e.what();
    } catch (const DeviceError& e) {  // measured points are kept, and a run that goes on begins behind this one
      measured_.points.push_back(p);
      measured_.points.back().skipped = e.what();
      measured_.points.back().device_failed = true;
      save();
      throw;
    }
    unsaved_ = true;
    if (device_.clock()) judged_.push_back({measured_.points.back(), device_.clock()->usual(), !core_.stayed_free()});
    // The first point is saved at once, to detect early if that is impossible.
    if (measured_.points.size() == 1 || since_saved_.wall() > kBetweenSaves) save();
  }

  // Other programs used the core, perhaps so long that their share of it seemed normal.
  void time_disturbed_again(const Watcher& watcher) {
    constexpr double kSlower = 1.05, kMostTime = 2;
    if (!device_.clock()) return;
    const Stopwatch watch;
    const auto judged = std::move(judged_);
    for (const Judged& j : judged) {
      if (!j.shared && j.usual <= kSlower * device_.clock()->usual()) continue;
      if (interrupted_() || elapsed_ + watch.wall() >= kMostTime * asked_.time) break;
      wait(watcher);
      std::erase_if(measured_.points, [&](const MeasuredPoint& p) { return p.same_shape(j.point); });
      time(j.point, schedule_.time_budget());
      ++again_;
    }
  }

  void wait(const Watcher& watcher) {
    core_.wait([&] { tell(watcher, "other programs to leave the core"); });
  }
  void tell(const Watcher& watcher, const std::string& waits_for) const {
    constexpr double kTicks = 1000;  // expected milliseconds, for a correct estimate of the time left
    watcher.progress(static_cast<std::size_t>(kTicks * schedule_.done().value),
                     static_cast<std::size_t>(kTicks * schedule_.expected().value) + 1, waits_for);
  }
  void remark(const Watcher& watcher, bool at_end) {
    for (const std::string& r : device_.remarks())
      if (at_end ? !said_.contains(r) : said_.insert(r).second) watcher.say(r);
  }
  void save() {
    measured_.machine = device_.machine();
    AtomicFile out(asked_.file);
    write_measured(out.stream(), measured_);
    out.commit();
    since_saved_ = Stopwatch();
    unsaved_ = false;
  }

  struct Judged {
    MeasuredPoint point;
    double usual;  // time of the clock reference that was assumed
    bool shared;   // whether other programs used the core meanwhile
  };
  const ProbingAsked asked_;
  ProbedDevice& device_;
  const ProbeOrder order_;
  Measured measured_;
  std::size_t enough_ = 0, next_ = 0, again_ = 0;  // enough_: of todo_
  const std::vector<MeasuredPoint> todo_;
  Schedule schedule_;
  FreeCore core_;
  std::function<bool()> interrupted_;
  std::vector<Judged> judged_;
  std::set<std::string> said_;
  Seconds elapsed_;  // while probing
  Stopwatch since_saved_;
  bool unsaved_ = false;
};

Probing::Probing(const ProbingAsked& asked, ProbedDevice& device, const Watcher& watcher)
    : state_(std::make_unique<State>(asked, device, watcher)) {}
Probing::~Probing() = default;
bool Probing::until(double share, const Watcher& watcher) { return state_->until(share, watcher); }
bool Probing::finish(const Watcher& watcher) { return state_->finish(watcher); }
bool Probing::whole() const { return state_->whole(); }

}  // namespace draftline::measure
