// SPDX-License-Identifier: Apache-2.0
#include "measure/probing.h"

#include <algorithm>
#include <functional>
#include <set>
#include <utility>

#include "core/build_info.h"
#include "core/errors.h"
#include "core/int_indexed.h"
#include "measure/core_monitor.h"
#include "measure/points_file.h"
#include "probes/stopwatch.h"

namespace draftline::measure {

namespace {

std::string in_seconds(Seconds t) { return significant(t.value, 3) + " s"; }

Measured identity_of(const ProbingAsked& asked, const ProbedDevice& device) {
  Measured m;
  m.device = asked.device;
  m.title = device.title();
  m.commit = build_commit();
  m.model = build_model();
  m.source = "draftline-probe";
  m.locator = "draftline probe --device " + asked.device + " on this machine";
  m.arguments = asked.arguments;
  m.machine = device.machine();
  return m;
}

// The points of an order that a file lacks. Last are those at which the device failed, so that a point at which it
// always does costs no other.
ProbeOrder missing_in(const PointsFile& file, const ProbeOrder& order) {
  ProbeOrder missing;
  std::vector<MeasuredPoint> failed;
  for (int i = 0; i < count(order.points); ++i) {
    const MeasuredPoint& p = order.points[at(i)];
    if (const MeasuredPoint* before = file.find(p); before == nullptr) {
      missing.points.push_back(p);
      missing.enough += i < order.enough;
    } else if (before->device_failed) {
      failed.push_back(p);
    }
  }
  missing.points.insert(missing.points.end(), failed.begin(), failed.end());
  return missing;
}

CoreMonitor::Read readings_of(ClockReference* clock) {
  if (clock == nullptr) return {};
  return [clock](int more) { return clock->read(more); };
}

}  // namespace

class Probing::State {
 public:
  State(const ProbingAsked& asked, ProbedDevice& device, const Watcher& watcher)
      : asked_(asked),
        device_(device),
        file_(asked.file, identity_of(asked, device)),
        todo_(missing_in(file_, device.order())),
        schedule_([&](const MeasuredPoint& p) { return device.overhead(p); }, device.order().points, todo_.points,
                  asked.time),
        core_(readings_of(device.clock()), asked.waiting, watcher.interrupted),
        interrupted_(watcher.interrupted) {
    const int all = count(device.order().points), missing = count(todo_.points);
    if (missing < all)
      watcher.say(file_.path().string() + ": " + std::to_string(all - missing) + " of " + std::to_string(all) +
                  " points are there already");
    print_remarks(watcher);
    if (!device.clock() && missing > 0)
      watcher.say("probing " + std::to_string(missing) + " points of " + file_.measured().title + ", about " +
                  in_seconds(schedule_.expected()));
  }

  bool until(double share, const Watcher& watcher) {
    const Stopwatch watch;
    const Seconds before = elapsed_;
    const int rest = count(todo_.points) - todo_.enough;
    const int end = todo_.enough + to_int(std::clamp(share, 0.0, 1.0) * rest);
    for (; next_ < end && !interrupted_(); ++next_) {
      wait(watcher);
      time(todo_.points[at(next_)], schedule_.time_budget_for(next_, elapsed_));
      schedule_.finished(next_);
      elapsed_ = before + watch.wall();
      show_progress(watcher, {});
    }
    if (!file_.is_saved()) save();  // other work follows
    return next_ >= end;
  }

  bool finish(const Watcher& watcher) {
    if (until(1, watcher)) time_disturbed_again(watcher);
    const auto& points = file_.measured().points;
    const auto skipped =
        std::count_if(points.end() - next_, points.end(), [](const MeasuredPoint& p) { return !p.skipped.empty(); });
    if (whole())
      for (MeasuredPoint& p : device_.readings())
        if (file_.find(p) == nullptr) file_.put(std::move(p));
    save();
    print_remarks(watcher);
    if (skipped > 0) watcher.say(std::to_string(skipped) + " points could not run; the file says why");
    return whole();
  }
  bool whole() const { return next_ >= count(todo_.points); }

 private:
  void time(const MeasuredPoint& p, Seconds time_budget) {
    try {
      file_.put(device_.measure(p, time_budget));
    } catch (const OutOfDeviceMemory& e) {
      MeasuredPoint skipped = p;
      skipped.skipped = e.what();
      file_.put(std::move(skipped));
    } catch (const DeviceError& e) {  // measured points are kept, and a run that goes on begins behind this one
      MeasuredPoint failed = p;
      failed.skipped = e.what();
      failed.device_failed = true;
      file_.put(std::move(failed));
      save();
      throw;
    }
    if (device_.clock()) judged_.push_back({p, device_.clock()->usual(), !core_.stayed_free()});
    if (file_.is_due()) save();
  }

  // Times points again during which other programs used the core, perhaps so long that their share of it seemed normal.
  void time_disturbed_again(const Watcher& watcher) {
    constexpr double kSlower = 1.05, kMostTime = 2;
    if (!device_.clock()) return;
    const Stopwatch watch;
    for (const Judged& j : std::exchange(judged_, {})) {
      if (!j.shared && j.usual <= kSlower * device_.clock()->usual()) continue;
      if (interrupted_() || elapsed_ + watch.wall() >= kMostTime * asked_.time) break;
      wait(watcher);
      time(j.point, schedule_.time_budget());
    }
  }

  void wait(const Watcher& watcher) {
    core_.wait([&] { show_progress(watcher, "other programs to leave the core"); });
  }
  void show_progress(const Watcher& watcher, const std::string& waits_for) const {
    constexpr double kTicks = 1000;  // expected milliseconds, for a correct estimate of the time left
    const auto ticks = [](Seconds t) { return at(to_int64(kTicks * t.value)); };
    watcher.progress(ticks(schedule_.done()), ticks(schedule_.expected()) + 1, waits_for);
  }
  void print_remarks(const Watcher& watcher) {
    for (const std::string& r : device_.remarks())
      if (printed_.insert(r).second) watcher.say(r);
  }
  void save() { file_.save(device_.machine()); }

  struct Judged {
    MeasuredPoint point;
    double usual;  // time of the clock reference that was assumed
    bool shared;   // whether other programs used the core meanwhile
  };
  const ProbingAsked asked_;
  ProbedDevice& device_;
  PointsFile file_;
  const ProbeOrder todo_;
  ProbeSchedule schedule_;
  CoreMonitor core_;
  const std::function<bool()> interrupted_;
  std::set<std::string> printed_;  // remarks of the device
  std::vector<Judged> judged_;
  int next_ = 0;     // of todo_
  Seconds elapsed_;  // while probing
};

Probing::Probing(const ProbingAsked& asked, ProbedDevice& device, const Watcher& watcher)
    : state_(std::make_unique<State>(asked, device, watcher)) {}
Probing::~Probing() = default;
bool Probing::until(double share, const Watcher& watcher) { return state_->until(share, watcher); }
bool Probing::finish(const Watcher& watcher) { return state_->finish(watcher); }
bool Probing::whole() const { return state_->whole(); }

}  // namespace draftline::measure
