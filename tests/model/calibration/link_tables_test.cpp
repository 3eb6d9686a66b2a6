// SPDX-License-Identifier: Apache-2.0
// Tables and rules of links against public measurements: what vLLM called at each size, and each point from its
// neighbours. The figures stand in docs/explanation/accuracy.md.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/csv.h"
#include "model/devices/fit_quality.h"
#include "model/engines/link_rule.h"
#include "tests/catch.h"
#include "tests/model/calibration/heldout.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;
using namespace draftline::heldout;

TEST_CASE(
    "vLLM's all-reduce as it was measured at every size: its rule picks the library, the library's table the time") {
  const auto [name, folder] = GENERATE(table<std::string, std::string>(
      {{"h100-sxm", "h100_sxm"}, {"h200", "h200_sxm"}, {"b200", "b200_sxm"}, {"a100-sxm", "a100_sxm"}}));
  const auto file = table_of(folder, "custom_allreduce.csv.gz");
  if (const auto why = missing(file); !why.empty()) SKIP_TEST(why);
  const Device d = known_device(name);
  EngineLinks rules = known_engine("vllm-0.19").links;
  rules.rank_skew = {};  // the measurement calls back to back
  const Csv t = Csv::from_file(file);
  Errors own, nccl;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "backend") != "vllm_graph") continue;
    const int ranks = static_cast<int>(t.integer(i, "num_gpus"));
    const Bytes message{2.0 * t.number(i, "message_size")};
    const Seconds predicted = collective_time(d.links, rules, {Collective::all_reduce, message, ranks}, name),
                  measured{1e-3 * t.number(i, "latency")};
    const LinkTable* fallback = d.links.find("nccl", Collective::all_reduce, ranks);
    (predicted == fallback->time(ranks, message) ? nccl : own).add(predicted, measured);
  }
  own.print(name, "vLLM's own kernels");
  nccl.print(name, "NCCL beyond them");
  CHECK(own.mean() < 2);   // the same table: it differs where an outlier above a larger message is lowered to it
  CHECK(nccl.mean() < 6);  // NCCL's is another measurement, of another release
}

TEST_CASE("each point of a link's table, predicted from its neighbours alone") {
  const auto name = GENERATE(as<std::string>{}, "h100-sxm", "h200", "b200", "a100-sxm", "l40s");
  for (const LinkTable& t : known_device(name).links.tables) {
    if (t.origin.kind != "measured") continue;
    Errors errors;
    for (std::size_t i = 1; i + 1 < t.points.size(); ++i) {
      const LinkPoint& p = t.points[i];
      if (t.points[i - 1].ranks != p.ranks || t.points[i + 1].ranks != p.ranks) continue;
      LinkTable others = t;
      others.points.erase(others.points.begin() + static_cast<std::ptrdiff_t>(i));
      errors.add(others.time(p.ranks, p.message), p.time);
    }
    if (errors.points() < 5) continue;  // nothing to judge by
    errors.print(name, t.library + " " + std::string(name_of(kCollectives, t.collective)));
    CHECK(errors.mean() < 7);
  }
}
