// SPDX-License-Identifier: Apache-2.0
// A file of measured points that is saved while they are timed. An interrupted run can be continued from it.
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "model/calibration/measured.h"
#include "probes/stopwatch.h"

namespace draftline::measure {

class PointsFile {
 public:
  // Reads the points of the file if it exists. `identity`: the machine and the program that the file must name. Throws
  // InputErrors if it was written on another machine or by another program.
  PointsFile(std::filesystem::path, Measured identity);

  const std::filesystem::path& path() const { return path_; }
  const Measured& measured() const { return measured_; }
  const MeasuredPoint* find(const MeasuredPoint& shape) const;  // null if there is no such point
  void put(MeasuredPoint);                                      // appends it; removes the previous point of its shape
  void save(const std::map<std::string, double>& machine);
  // Whether to save now: every few seconds, and at once after the first point, to detect early if saving is impossible.
  bool is_due() const;
  bool is_saved() const { return saved_; }

 private:
  std::filesystem::path path_;
  Measured measured_;
  Stopwatch since_saved_;
  bool saved_ = true;
};

}  // namespace draftline::measure
