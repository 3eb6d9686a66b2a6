// SPDX-License-Identifier: Apache-2.0
#include "model/engines/profile_field.h"

#include <cmath>

namespace draftline::profile_field {

void read(const Reader& in, const ValueRange&, bool& to) { to = in.boolean(); }
void read(const Reader& in, const ValueRange& range, int& to) {
  to = in.integer(static_cast<int>(range.least), static_cast<int>(range.most));
}
void read(const Reader& in, const ValueRange& range, double& to) { to = in.number(range.least, range.most); }
void read(const Reader& in, const ValueRange&, std::string& to) { to = in.text(); }
void read(const Reader& in, const ValueRange& range, std::vector<int>& to) {
  to.clear();
  for (const Reader& item : in.items()) {
    int n = 0;
    read(item, range, n);
    if (!to.empty() && n <= to.back()) item.fail("must be above the number before it");
    to.push_back(n);
  }
}
void read(const Reader& in, const ValueRange&, std::vector<std::string>& to) {
  to.clear();
  for (const Reader& item : in.items()) to.push_back(item.text());
}
void read(const Reader& in, const ValueRange& range, std::vector<RowWork>& to) {
  constexpr int kMostRows = 1 << 20;
  to.clear();
  for (const Reader& item : in.items()) {
    const auto pair = item.items();
    if (pair.size() != 2) {
      item.fail("must be a pair: rows and work");
      continue;
    }
    const RowWork entry{pair[0].integer(1, kMostRows), pair[1].number(range.least, range.most)};
    if (!to.empty() && entry.rows <= to.back().rows) pair[0].fail("must be above the rows of the pair before it");
    to.push_back(entry);
  }
}

std::string text(bool v) { return v ? "yes" : "no"; }
std::string text(int v) { return std::to_string(v); }
std::string text(double v) { return v == std::floor(v) ? std::to_string(std::lround(v)) : significant(v); }
std::string text(const std::string& v) { return v.empty() ? "none" : v; }
std::string text(const std::vector<int>& v) {
  constexpr std::size_t kFew = 3;  // are shown, and the last
  std::string all;
  for (std::size_t i = 0; i < v.size(); ++i) {
    if (i > 0) all += ", ";
    if (i == kFew && v.size() > kFew + 1) return all + "..., " + std::to_string(v.back());
    all += std::to_string(v[i]);
  }
  return v.empty() ? "none" : all;
}
std::string text(const std::vector<std::string>& v) {
  std::string all;
  for (const std::string& one : v) all += (all.empty() ? "" : ", ") + one;
  return v.empty() ? "none" : all;
}

std::string text(const std::vector<RowWork>& v) {
  if (v.empty()) return "none";
  const auto one = [](const RowWork& r) {
    return significant(r.work, 3) + (r.rows == 1 ? " for 1 row" : " for " + std::to_string(r.rows) + " rows");
  };
  return v.size() == 1 ? one(v.front()) : one(v.front()) + " to " + one(v.back());
}

}  // namespace draftline::profile_field
