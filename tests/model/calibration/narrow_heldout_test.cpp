// SPDX-License-Identifier: Apache-2.0
// GEMMs and layers of experts with 8- and 4-bit operands on shapes that the fit has not seen: for GEMMs whole (outputs,
// inputs) pairs are left out, for experts whole layers. Beside them what the device's 16-bit fit says at the narrower
// rate, which is what a device without a fit of the format takes. The figures stand in docs/explanation/accuracy.md.
#include <cmath>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>

#include "model/calibration/expert_tables.h"
#include "model/calibration/gemm_tables.h"
#include "tests/catch.h"
#include "tests/model/calibration/heldout.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;
using namespace draftline::heldout;

namespace {

// What a device without fits of narrow operands would say.
Device by_16_bits(Device d) {
  d.gpu().narrow_gemm = {};
  d.gpu().narrow_experts = {};
  return d;
}

}  // namespace

TEST_CASE("GEMMs of 8 and 4 bits on unseen shapes", "[golden]") {
  struct Row {
    const char *device, *folder;
    NarrowFormat format;
    double most;  // mean error in %: what is reached and must not get worse unseen
  };
  using enum NarrowFormat;
  const auto row =
      GENERATE(Row{"h100-sxm", "h100_sxm", fp8, 6.9}, Row{"h200", "h200_sxm", fp8, 8.1}, Row{"l40s", "l40s", fp8, 9.7},
               Row{"b200", "b200_sxm", fp8, 11.6}, Row{"b200", "b200_sxm", nvfp4, 7.0});
  const auto file = table_of(row.folder, "gemm.csv.gz");
  if (const auto why = obstacle(file); !why.empty()) SKIP_TEST(why);
  const Device d = by_16_bits(known_device(row.device));
  const GemmTable table = read_gemm_table(Csv::from_file(file), row.format);
  // Pairs in order, every fifth in the same fold: unlike a hash, this leaves out as many of each size.
  std::set<std::pair<int, int>> pairs;
  for (const GemmPoint& p : table.points) pairs.insert({p.out, p.in});
  const auto fold_of = [&](const GemmPoint& p) {
    return std::distance(pairs.begin(), pairs.find({p.out, p.in})) % kFolds;
  };
  const auto scale = [](const GemmPoint& p) { return Seconds{std::sqrt(static_cast<double>(p.out) * p.in)}; };
  Errors ours, wide, neighbours;
  std::map<int, Errors> by_rows;
  for (int fold = 0; fold < kFolds; ++fold) {
    std::vector<GemmPoint> seen;
    std::map<int, std::vector<GemmPoint>> near;
    for (const GemmPoint& p : table.points)
      if (fold_of(p) != fold) seen.push_back(p), near[p.rows].push_back(p);
    Device fitted = d;
    put_gemm(fitted, operands_of(row.format), fit_gemm(thinned(seen, 400), d));
    for (const GemmPoint& p : table.points) {
      if (fold_of(p) != fold || near[p.rows].empty()) continue;
      ours.add(predicted(fitted, p), p.time);
      wide.add(predicted(d, p), p.time);
      neighbours.add(interpolated(near, p, scale), p.time);
      by_rows[p.rows == 1 ? 1 : p.rows <= 64 ? 64 : 1024].add(predicted(fitted, p), p.time);
    }
  }
  const std::string name_of = "GEMM, " + std::string(name(row.format));
  ours.print(row.device, name_of);
  for (const auto& [rows, errors] : by_rows) errors.print(row.device, "  to " + std::to_string(rows) + " rows");
  wide.print(row.device, "  by the 16-bit fit");
  neighbours.print(row.device, "  neighbour interpolation");
  CHECK(ours.mean() <= row.most);
  CHECK(ours.mean() < wide.mean());
}

TEST_CASE("layers of experts of 8 and 4 bits that the fit has not seen", "[golden]") {
  struct Row {
    const char *device, *folder;
    NarrowFormat format;
    double most;  // mean error in %; the target is 10
  };
  using enum NarrowFormat;
  const auto row = GENERATE(Row{"h100-sxm", "h100_sxm", fp8_static, 11.7}, Row{"l40s", "l40s", fp8, 10.1},
                            Row{"l40s", "l40s", fp8_block, 7.9}, Row{"b200", "b200_sxm", fp8, 10.6},
                            Row{"b200", "b200_sxm", fp8_block, 10.6}, Row{"b200", "b200_sxm", nvfp4, 10.7});
  const auto file = table_of(row.folder, "moe.csv.gz");
  if (const auto why = obstacle(file); !why.empty()) SKIP_TEST(why);
  const Device d = by_16_bits(known_device(row.device));
  const ExpertTable table = read_expert_table(Csv::from_file(file), d, row.format);
  using Layer = std::tuple<int, int, int, int>;
  const auto layer_of = [](const ExpertPoint& p) { return Layer{p.hidden, p.whole, p.experts, p.per_token}; };
  std::set<Layer> layers;
  for (const ExpertPoint& p : table.points) layers.insert(layer_of(p));
  Errors ours, one, few, many, hot, wide;
  for (int fold = 0; fold < kFolds; ++fold) {
    std::vector<ExpertPoint> seen, unseen;
    for (const ExpertPoint& p : table.points)
      (std::distance(layers.begin(), layers.find(layer_of(p))) % kFolds == fold ? unseen : seen).push_back(p);
    const ExpertFit fit = fit_experts(thinned(seen, 600), d);
    for (const ExpertPoint& p : unseen) {
      const Seconds time = predicted(fit, d, p);
      ours.add(time, p.time);
      (!from_memory(p, d) ? hot : p.rows <= 8 ? one : p.rows <= 1024 ? few : many).add(time, p.time);
      wide.add(predicted(d, p), p.time);
    }
  }
  std::printf("%-9s %s: %zu layers; left out: %d of other libraries, %d expert-parallel, %d not gated\n", row.device,
              table.library.c_str(), layers.size(), table.other_libraries, table.expert_parallel, table.not_gated);
  ours.print(row.device, "experts, " + std::string(name(row.format)));
  one.print(row.device, "  cold, up to 8 rows");
  few.print(row.device, "  cold, up to 1024 rows");
  many.print(row.device, "  cold, more rows");
  hot.print(row.device, "  weights within twice the L2");
  wide.print(row.device, "  by the 16-bit fit");
  CHECK(ours.mean() <= row.most);
  CHECK(ours.mean() < wide.mean());
}
