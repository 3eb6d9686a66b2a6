// SPDX-License-Identifier: Apache-2.0
// Tables and rules of links against public measurements: what vLLM called at each size, and each point from its
// neighbours. The figures stand in docs/accuracy.md.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "core/csv.h"
#include "model/fit_quality.h"
#include "model/link_rule.h"
#include "tests/catch.h"
#include "tests/model/known_device.h"

using namespace draftline;

namespace {

std::filesystem::path reference(const std::string& folder) {
  return std::filesystem::path(DRAFTLINE_REFERENCE_DATA) / "kernels" / folder / "custom_allreduce.csv.gz";
}
std::string obstacle(const std::string& folder) {
  if (std::string(DRAFTLINE_REFERENCE_DATA).empty()) return "DRAFTLINE_REFERENCE_DATA is not set";
  return std::filesystem::exists(reference(folder)) ? "" : "DRAFTLINE_REFERENCE_DATA has no all-reduce of " + folder;
}

struct Errors {
  std::vector<double> all;
  void add(Seconds predicted, Seconds measured) { all.push_back(predicted / measured - 1); }
  double mean() const {
    double sum = 0;
    for (const double e : all) sum += std::abs(e);
    return sum / static_cast<double>(all.size());
  }
  double p90() const {
    std::vector<double> absolute;
    for (const double e : all) absolute.push_back(std::abs(e));
    return quantile(absolute, 0.9);
  }
  double bias() const {
    double sum = 0;
    for (const double e : all) sum += e;
    return sum / static_cast<double>(all.size());
  }
  void print(const std::string& what) const {
    std::printf("%-32s %4zu points, mean %4.1f %%, P90 %4.1f %%, bias %+4.1f %%\n", what.c_str(), all.size(),
                100 * mean(), 100 * p90(), 100 * bias());
  }
};

}  // namespace

TEST_CASE(
    "vLLM's all-reduce as it was measured at every size: its rule picks the library, the library's table the time") {
  const auto [name, folder] = GENERATE(table<std::string, std::string>(
      {{"h100-sxm", "h100_sxm"}, {"h200", "h200_sxm"}, {"b200", "b200_sxm"}, {"a100-sxm", "a100_sxm"}}));
  if (const auto why = obstacle(folder); !why.empty()) SKIP_TEST(why);
  const Device d = known_device(name);
  EngineLinks rules = known_engine("vllm-0.19").links;
  rules.rank_skew = {};  // the measurement calls back to back
  const Csv t = Csv::from_file(reference(folder));
  Errors own, nccl;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, "backend") != "vllm_graph") continue;
    const int ranks = static_cast<int>(t.integer(i, "num_gpus"));
    const Bytes message{2.0 * t.number(i, "message_size")};
    const Seconds predicted = collective_time(d.links, rules, Collective::all_reduce, ranks, message, name),
                  measured{1e-3 * t.number(i, "latency")};
    const LinkTable* fallback = d.links.find("nccl", Collective::all_reduce, ranks);
    (predicted == fallback->time(ranks, message) ? nccl : own).add(predicted, measured);
  }
  own.print(name + ", vLLM's own kernels");
  nccl.print(name + ", NCCL beyond them");
  CHECK(own.mean() < 0.02);   // the same table: it differs where an outlier above a larger message is lowered to it
  CHECK(nccl.mean() < 0.06);  // NCCL's is another measurement, of another release
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
    if (errors.all.size() < 5) continue;  // nothing to judge by
    errors.print(name + ", " + t.library + " " + std::string(kCollectiveNames[static_cast<std::size_t>(t.collective)]));
    CHECK(errors.mean() < 0.07);
  }
}
