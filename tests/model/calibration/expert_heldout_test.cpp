// SPDX-License-Identifier: Apache-2.0
// Layers of experts that a fit has not seen: whole layers (hidden, columns, experts, per token) are left out, with all
// their tensor-parallel shares, numbers of rows and distributions. Beside it, what the GEMM fit says of the same
// layers. The figures stand in docs/explanation/accuracy.md.
#include <cmath>
#include <cstdio>
#include <set>
#include <tuple>

#include "model/calibration/expert_tables.h"
#include "model/calibration/kernel_fit.h"
#include "model/kernels/kernel_time.h"
#include "tests/catch.h"
#include "tests/model/calibration/heldout.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;
using namespace draftline::heldout;

TEST_CASE("layers of experts that the fit has not seen", "[golden]") {
  struct Row {
    const char *device, *folder;
    double most;  // mean error in %, all points: what is reached and must not get worse unseen; the target is 10
  };
  // The A100 misses the target: docs/explanation/accuracy.md says why.
  const auto row = GENERATE(Row{"h100-sxm", "h100_sxm", 7.3}, Row{"l40s", "l40s", 8.6},
                            Row{"a100-sxm", "a100_sxm", 14.5}, Row{"h200", "h200_sxm", 8.1});
  const auto file = table_of(row.folder, "moe.csv.gz");
  if (const auto why = obstacle(file); !why.empty()) SKIP_TEST(why);
  Device d = known_device(row.device);
  d.gpu().experts.reset();
  const ExpertTable table = read_expert_table(Csv::from_file(file), d);
  std::printf("%-9s %zu points; left out: %d other formats, %d expert-parallel, %d unaligned, %d not gated\n",
              row.device, table.points.size(), table.other_formats, table.expert_parallel, table.unaligned,
              table.not_gated);
  using Layer = std::tuple<int, int, int, int>;
  const auto layer_of = [](const ExpertPoint& p) { return Layer{p.hidden, p.whole, p.experts, p.per_token}; };
  std::set<Layer> layers;
  for (const ExpertPoint& p : table.points) layers.insert(layer_of(p));
  Errors all, one, few, many, hot, before;
  for (int fold = 0; fold < kFolds; ++fold) {
    std::vector<ExpertPoint> seen, unseen;
    for (const ExpertPoint& p : table.points)
      (std::distance(layers.begin(), layers.find(layer_of(p))) % kFolds == fold ? unseen : seen).push_back(p);
    const ExpertFit fit = fit_experts(thinned(seen, 1500), d);
    for (const ExpertPoint& p : unseen) {
      const Seconds time = predicted(fit, d, p);
      all.add(time, p.time);
      (!from_memory(p, d) ? hot : p.rows <= 1024 ? few : many).add(time, p.time);
      if (from_memory(p, d) && p.rows <= 8) one.add(time, p.time);
      ExpertMlp k{p.rows, p.hidden, p.intermediate, p.experts, p.per_token};
      if (from_memory(p, d)) before.add(kernel_time(d, k) - kernel_time(d, Gemm{k.rows, k.hidden, k.experts}), p.time);
    }
  }
  all.print(row.device, "experts");
  few.print(row.device, "  cold, up to 1024 rows");
  one.print(row.device, "  cold, up to 8 rows");
  many.print(row.device, "  cold, more rows");
  hot.print(row.device, "  weights within twice the L2");
  before.print(row.device, "  cold, by the GEMM fit");
  CHECK(all.mean() <= row.most);
  CHECK(few.mean() <= 10.5);
  CHECK(few.mean() < 0.6 * before.mean());
}
