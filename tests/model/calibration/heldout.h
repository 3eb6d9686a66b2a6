// SPDX-License-Identifier: Apache-2.0
// Fits and tables judged on measurements that they have not seen, from the reference data.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/calibration/kernel_fit.h"
#include "model/devices/fit_quality.h"

namespace draftline::heldout {

inline constexpr int kFolds = 5;  // four fifths of the shapes are fitted, the last is unseen

inline std::filesystem::path table_of(const std::string& folder, const std::string& file) {
  return std::filesystem::path(DRAFTLINE_REFERENCE_DATA) / "kernels" / folder / file;
}

// Why a table can't be read here; empty if it can.
inline std::string missing(const std::filesystem::path& table) {
  if (std::string(DRAFTLINE_REFERENCE_DATA).empty()) return "DRAFTLINE_REFERENCE_DATA is not set";
  if (std::filesystem::exists(table)) return "";
  return "DRAFTLINE_REFERENCE_DATA has no " + (table.parent_path().filename() / table.filename()).string();
}
// Why nothing can be fitted to it here.
inline std::string obstacle(const std::filesystem::path& table) {
#ifdef NDEBUG
  return missing(table);
#else
  const std::string why = missing(table);
  return why.empty() ? "held-out fits take minutes in Debug; they run in Release" : why;
#endif
}

// Relative errors, predicted / measured - 1; all figures in %.
class Errors {
 public:
  void add(Seconds predicted, Seconds measured) {
    const double error = 100 * (predicted / measured - 1);
    sizes_.push_back(std::abs(error));
    sum_ += error;
  }
  std::size_t points() const { return sizes_.size(); }
  double mean() const {
    double sum = 0;
    for (const double size : sizes_) sum += size;
    return sizes_.empty() ? 0 : sum / static_cast<double>(sizes_.size());
  }
  double p90() const { return quantile(sizes_, 0.9); }
  double bias() const { return sum_ / static_cast<double>(sizes_.size()); }
  void print(const std::string& device, const std::string& what, const std::string& note = "") const {
    if (sizes_.empty()) return;
    std::printf("%-31s %-36s %6zu points   mean %5.1f %%   P90 %5.1f %%   bias %+5.1f %%   %s\n", device.c_str(),
                what.c_str(), sizes_.size(), mean(), p90(), bias(), note.c_str());
  }

 private:
  std::vector<double> sizes_;
  double sum_ = 0;
};

// The time over scale(point) of the four nearest (outputs, inputs) of a table with as many rows, weighted by
// 1 / distance^2 between the logarithms: how smooth the table itself is. `table`: by rows.
template <class Scale>
Seconds interpolated(const std::map<int, std::vector<GemmPoint>>& table, const GemmPoint& p, Scale scale) {
  std::vector<std::pair<double, double>> near;  // squared distance, log of time over scale
  for (const GemmPoint& q : table.at(p.rows)) {
    const double x = std::log(static_cast<double>(q.out) / p.out), y = std::log(static_cast<double>(q.in) / p.in);
    near.emplace_back(x * x + y * y, std::log(q.time / scale(q)));
  }
  const auto end = near.begin() + std::min<std::ptrdiff_t>(4, static_cast<std::ptrdiff_t>(near.size()));
  std::partial_sort(near.begin(), end, near.end());
  double weights = 0, sum = 0;
  for (auto n = near.begin(); n != end; ++n) {
    weights += 1 / n->first;
    sum += n->second / n->first;
  }
  return std::exp(sum / weights) * scale(p);
}

}  // namespace draftline::heldout
