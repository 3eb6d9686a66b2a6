// SPDX-License-Identifier: Apache-2.0
// The probing of `draftline probe` and `validate`: times the points of a device's grid, without a break or in slices
// between other work, and saves them to a file.
#pragma once
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "measure/probe_schedule.h"
#include "measure/watcher.h"
#include "model/calibration/measured.h"
#include "probes/cpu_grid.h"
#include "probes/memory_reference.h"

namespace draftline::measure {

class ProbedDevice {
 public:
  virtual ~ProbedDevice() = default;
  virtual std::string title() const = 0;
  virtual std::map<std::string, double> machine() const = 0;  // the values known so far
  virtual ProbeOrder order() const = 0;
  virtual MeasuredPoint measure(const MeasuredPoint&, Seconds time_budget) = 0;  // throws DeviceError
  // The time of a point without its samples; none: equal to that of its samples.
  virtual std::optional<Seconds> overhead(const MeasuredPoint&) const { return std::nullopt; }
  virtual std::vector<std::string> remarks() const { return {}; }  // sentences for the user about the clocks so far
  virtual ClockReference* clock() { return nullptr; }              // of a CPU
  virtual std::vector<MeasuredPoint> readings() { return {}; }     // summaries of readings during all points
};
std::unique_ptr<ProbedDevice> probed_cpu(GridSize, CpuReferences&);  // the references must outlive it
std::unique_ptr<ProbedDevice> probed_gpu(GridSize);                  // throws DeviceError if there is no GPU

struct ProbingAsked {
  std::filesystem::path file;  // measured points; if it exists, only missing points are timed
  std::string device;          // "cpu", "cuda"
  std::vector<std::string> arguments;
  Seconds time;     // for all points of the grid, approximately
  Seconds waiting;  // the longest wait for other programs to leave a CPU core
};

class Probing {
 public:
  // Throws InputErrors if the file was written on another machine or by another program.
  Probing(const ProbingAsked&, ProbedDevice&, const Watcher&);
  ~Probing();
  // Times the points needed for a calibration and this share of the other points. On DeviceError the timed points are
  // saved. Returns false if it was interrupted.
  bool until(double share, const Watcher&);
  // Times the remaining points, and again those that other programs disturbed. Prints which points were disturbed,
  // discarded or skipped.
  bool finish(const Watcher&);
  bool whole() const;  // whether all points were timed

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace draftline::measure
