// SPDX-License-Identifier: Apache-2.0
#include "measure/points_file.h"

#include <algorithm>
#include <utility>

#include "core/text_file.h"

namespace draftline::measure {

PointsFile::PointsFile(std::filesystem::path path, Measured identity)
    : path_(std::move(path)), measured_(std::move(identity)) {
  if (std::error_code none; !std::filesystem::exists(path_, none)) return;
  Measured before = read_file(path_, read_measured);
  measured_.must_go_on(before, path_);
  measured_.points = std::move(before.points);
}

const MeasuredPoint* PointsFile::find(const MeasuredPoint& shape) const {
  const auto same = [&](const MeasuredPoint& p) { return p.same_shape(shape); };
  const auto found = std::ranges::find_if(measured_.points, same);
  return found == measured_.points.end() ? nullptr : &*found;
}

void PointsFile::put(MeasuredPoint point) {
  std::erase_if(measured_.points, [&](const MeasuredPoint& p) { return p.same_shape(point); });
  measured_.points.push_back(std::move(point));
  saved_ = false;
}

bool PointsFile::is_due() const {
  constexpr Seconds kBetweenSaves{3};
  return measured_.points.size() == 1 || since_saved_.wall() > kBetweenSaves;
}

void PointsFile::save(const std::map<std::string, double>& machine) {
  measured_.machine = machine;
  AtomicFile out(path_);
  write_measured(out.stream(), measured_);
  out.commit();
  since_saved_ = Stopwatch();
  saved_ = true;
}

}  // namespace draftline::measure
