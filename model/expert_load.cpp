// SPDX-License-Identifier: Apache-2.0
#include "model/expert_load.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "core/errors.h"
#include "core/int_indexed.h"

namespace draftline {
namespace {

// Choice j of a row lies `stride` experts after choice j - 1; the rows' first choices walk over the first stride.
std::vector<int> balanced(int rows, int experts, int per_token) {
  std::vector<int> load(at(experts));
  const std::int64_t stride = (experts + per_token - 1) / per_token;
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::int64_t first = rows >= stride ? row : row * stride / rows;
    for (std::int64_t j = 0; j < per_token; ++j) ++load[at((first + j * stride) % experts)];
  }
  return load;
}

// Every expert takes one quantile of the distribution; what rounding and the limit leave over goes to the least loaded,
// and what is too much is taken from the most loaded.
std::vector<int> power_law(int rows, int experts, int per_token, double exponent) {
  const std::int64_t choices = std::int64_t{rows} * per_token;
  const double least = choices > experts ? 1 : 0.01, most = choices > experts ? 0.8 * rows : 2;
  const double from = std::pow(least, 1 - exponent), to = std::pow(most, 1 - exponent);
  std::vector<double> shares;
  double sum = 0;
  for (int e = 0; e < experts; ++e) {
    shares.push_back(std::pow(from + (to - from) * (e + 0.5) / experts, 1 / (1 - exponent)));
    sum += shares.back();
  }
  std::vector<int> load;
  std::int64_t left = choices;
  for (const double share : shares) {
    load.push_back(std::min(rows, static_cast<int>(std::lround(share / sum * static_cast<double>(choices)))));
    left -= load.back();
  }
  for (; left > 0; --left) ++*std::min_element(load.begin(), load.end());
  for (; left < 0; ++left) --*std::max_element(load.begin(), load.end());
  return load;
}

// What a device has of the groups: the experts of one that it has the end of and of one that it has the beginning of,
// 0 where there is none, and whole groups between them.
struct GroupsOfDevice {
  int end = 0, whole = 0, beginning = 0;
  bool operator==(const GroupsOfDevice&) const = default;
};
GroupsOfDevice groups_of(int first, int last, int group) {
  const int inner_first = (first + group - 1) / group, inner_last = last / group;
  if (inner_first > inner_last) return {last - first, 0, 0};  // within one group
  return {inner_first * group - first, inner_last - inner_first, last - inner_last * group};
}

// The probability that no expert of a row is on the device, draw by draw: after each, by how many groups the row has
// experts of, and whether the device's partial groups are among them. All that were drawn lie in these groups.
double misses(const Experts& e, const GroupsOfDevice& d) {
  const int group = e.count / e.groups;
  const auto any = [](int experts) { return experts > 0 ? 1 : 0; };
  using OfPartial = std::array<std::array<double, 2>, 2>;  // [end met][beginning met]
  std::vector<OfPartial> now(at(e.groups_per_token) + 1);
  now[0][0][0] = 1;
  for (int drawn = 0; drawn < e.per_token; ++drawn) {
    std::vector<OfPartial> next(now.size());
    for (int met = 0; met <= std::min(drawn, e.groups_per_token); ++met)
      for (const int end : {0, 1})
        for (const int beginning : {0, 1}) {
          const double here = now[at(met)][at(end)][at(beginning)];
          if (here <= 0) continue;
          const bool more_groups = met < e.groups_per_token;
          const double one = here / ((more_groups ? e.count : met * group) - drawn);
          const auto draw = [&](int groups, int with_end, int with_beginning, int experts) {
            next[at(groups)][at(with_end)][at(with_beginning)] += std::max(0, experts) * one;
          };
          draw(met, end, beginning, met * group - drawn - end * d.end - beginning * d.beginning);
          if (!more_groups) continue;
          const int new_end = any(d.end) - end, new_beginning = any(d.beginning) - beginning;
          draw(met + 1, end, beginning, (e.groups - met - d.whole - new_end - new_beginning) * group);
          if (new_end > 0) draw(met + 1, 1, beginning, group - d.end);
          if (new_beginning > 0) draw(met + 1, end, 1, group - d.beginning);
        }
    now = std::move(next);
  }
  double sum = 0;
  for (const OfPartial& of : now) sum += of[0][0] + of[0][1] + of[1][0] + of[1][1];
  return sum;
}

}  // namespace

double devices_of_row(const Experts& e, int devices) {
  double sum = 0, one = 0;
  std::optional<GroupsOfDevice> before;
  for (std::int64_t d = 0; d < devices; ++d) {
    const auto first = static_cast<int>(d * e.count / devices), last = static_cast<int>((d + 1) * e.count / devices);
    const GroupsOfDevice own = groups_of(first, last, e.count / e.groups);
    if (before != own) one = 1 - misses(e, own);  // most devices are like the one before
    before = own;
    sum += one;
  }
  return sum;
}

ExpertLoad load_of(std::span<const int> rows_of_experts) {
  ExpertLoad load;
  for (const int rows : rows_of_experts) {
    if (rows == 0) continue;
    ++load.touched;
    load.choices += rows;
    for (std::size_t i = 0; i < load.tiles.size(); ++i)
      load.tiles[i] += (rows + kExpertTileRows[i] - 1) / kExpertTileRows[i];
  }
  return load;
}

ExpertLoad expected_load(const ExpertMlp& k) {
  ExpertLoad load{.touched = busiest_experts_touched(k), .choices = busiest_expert_rows(k)};
  const int experts = (k.experts + k.devices - 1) / k.devices;
  load.padding = 1.0 * experts * (k.row_multiple - 1);
  for (std::size_t i = 0; i < load.tiles.size(); ++i) {
    const double tile = kExpertTileRows[i];
    const double partly = k.row_multiple > 1 ? load.padding / tile : load.touched * (1 - 1 / tile) / 2;
    load.tiles[i] = std::max(load.touched, load.choices / tile + partly);
  }
  return load;
}

std::vector<int> rows_of_experts(ExpertDistribution distribution, int rows, int experts, int per_token,
                                 double exponent) {
  check(rows > 0 && per_token > 0 && per_token <= experts, "a layer has rows, and rows choose among its experts");
  return distribution == ExpertDistribution::balanced ? balanced(rows, experts, per_token)
                                                      : power_law(rows, experts, per_token, exponent);
}

}  // namespace draftline
