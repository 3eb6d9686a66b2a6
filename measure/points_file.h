// SPDX-License-Identifier: Apache-2.0
// A file of measured points that is saved while they are timed. A run that was interrupted goes on with it.
#pragma once
#include <filesystem>
#include <map>
#include <string>

#include "model/calibration/measured.h"
#include "probes/stopwatch.h"

namespace draftline::measure {

class PointsFile {
 public:
  // Reads the points of the file if it exists. `identity`: what the file says of the machine and the program. Throws
  // InputErrors if it was written on another machine or by another program.
  PointsFile(std::filesystem::path, Measured identity);

  const std::filesystem::path& path() const { return path_; }
  const Measured& measured() const { return measured_; }
  const MeasuredPoint* find(const MeasuredPoint& shape) const;  // null if it has no such point
  void put(MeasuredPoint);                                      // as the last one, in place of the point of its shape
  void save(const std::map<std::string, double>& machine);
  // Whether a point should be saved: after some seconds, and the first one at once, to detect early if that is
  // impossible.
  bool is_due() const;
  bool is_saved() const { return saved_; }

 private:
  std::filesystem::path path_;
  Measured measured_;
  Stopwatch since_saved_;
  bool saved_ = true;
};

}  // namespace draftline::measure
