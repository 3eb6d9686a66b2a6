// SPDX-License-Identifier: Apache-2.0
// The probing of `draftline probe` and `validate`: times the points of a device's grid, all at once or in slices with
// other work between them, and saves them to a file meanwhile.
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
  virtual std::map<std::string, double> machine() const = 0;  // as known so far
  virtual ProbeOrder order() const = 0;
  virtual MeasuredPoint measure(const MeasuredPoint&, Seconds time_budget) = 0;  // throws DeviceError
  // The time that a point takes besides its samples; none: as long as these.
  virtual std::optional<Seconds> overhead(const MeasuredPoint&) const { return std::nullopt; }
  virtual std::vector<std::string> remarks() const { return {}; }  // sentences for the user about the clocks so far
  virtual ClockReference* clock() { return nullptr; }              // of a CPU
  virtual std::vector<MeasuredPoint> readings() { return {}; }     // summaries of what was read beside all points
};
std::unique_ptr<ProbedDevice> probed_cpu(GridSize, CpuReferences&);  // the references must outlive it
std::unique_ptr<ProbedDevice> probed_gpu(GridSize);                  // throws DeviceError if there is none

struct ProbingAsked {
  std::filesystem::path file;  // of measured points; if it exists, only its missing points are timed
  std::string device;          // "cpu", "cuda"
  std::vector<std::string> arguments;
  Seconds time;     // for all points of the grid, about
  Seconds waiting;  // at most, for other programs to leave a CPU's core
};

class Probing {
 public:
  // Throws InputErrors if the file was written on another machine or by another program.
  Probing(const ProbingAsked&, ProbedDevice&, const Watcher&);
  ~Probing();
  // Times what suffices for a calibration, and of the other points this share. Throws DeviceError, when what was timed
  // is saved. Returns false if it was interrupted.
  bool until(double share, const Watcher&);
  // Times what is left, and those points again that co-runners disturbed; says what was disturbed, discarded or
  // skipped.
  bool finish(const Watcher&);
  bool whole() const;  // whether all points were timed

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace draftline::measure
