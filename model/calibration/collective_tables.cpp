// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/collective_tables.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/json_parse.h"
#include "model/calibration/table_cells.h"

namespace draftline {
namespace {

constexpr double kBytesPerElement = 2;
constexpr std::array<std::string_view, 3> kSixteenBits{"half", "float16", "bfloat16"};

// Tables by what is called, each with one time of a message among so many ranks.
class Collected {
 public:
  Collected(const Csv& t, std::string_view format)
      : table_(t),
        format_(t.column(format)),
        ranks_(t.column("num_gpus")),
        message_(t.column("message_size")),
        time_(t.column("latency")) {}

  // The row's point; false: it is left out.
  bool read(std::size_t row, LinkPoint& p, ExcludedRows& excluded) const {
    constexpr std::int64_t kMostRanks = 1024, kMostElements = std::int64_t{1} << 40;
    const std::int64_t ranks = table_.integer(row, ranks_), elements = table_.integer(row, message_);
    if (ranks < 2 || ranks > kMostRanks) table_.fail(row, "a group has 2 to 1024 GPUs");
    if (elements < 1 || elements > kMostElements) table_.fail(row, "a message size out of range");
    p.ranks = static_cast<int>(ranks);
    p.message = Bytes{kBytesPerElement * static_cast<double>(elements)};
    constexpr Seconds kMillisecond{1e-3};
    p.time = latency(table_, row, time_, kMillisecond);
    const std::string_view format = table_.text(row, format_);
    if (std::find(kSixteenBits.begin(), kSixteenBits.end(), format) != kSixteenBits.end()) return true;
    excluded.add("elements of " + printable(format, 60) + "; those of a step have 16 bits");
    return false;
  }

  void add(const std::string& library, Collective c, const LinkPoint& p, ExcludedRows& excluded) {
    if (!seen_.emplace(library, c, p.ranks, p.message.value).second)
      return excluded.add("a message among as many GPUs that stands before");
    points_[{c, library}].push_back(p);
  }

  std::vector<LinkTable> tables() const {
    std::vector<LinkTable> all;
    for (const auto& [what, points] : points_) {
      all.push_back({what.second, what.first, points, {}});
      std::sort(all.back().points.begin(), all.back().points.end(), [](const LinkPoint& a, const LinkPoint& b) {
        return std::pair(a.ranks, a.message) < std::pair(b.ranks, b.message);
      });
    }
    return all;
  }

 private:
  const Csv& table_;
  std::size_t format_, ranks_, message_, time_;
  std::set<std::tuple<std::string, Collective, int, double>> seen_;
  std::map<std::pair<Collective, std::string>, std::vector<LinkPoint>> points_;
};

}  // namespace

std::vector<LinkTable> read_nccl_table(const Csv& t, ExcludedRows& excluded) {
  const std::size_t op = t.column("op_name");
  Collected collected(t, "nccl_dtype");
  for (std::size_t i = 0; i < t.rows(); ++i) {
    LinkPoint p;
    const std::string_view word = t.text(i, op) == "alltoall" ? "all_to_all" : t.text(i, op);
    const auto collective = value_named(kCollectives, word);
    if (!collected.read(i, p, excluded)) continue;
    if (!collective) excluded.add(printable(word, 60) + ", which no step calls");
    else collected.add("nccl", *collective, p, excluded);
  }
  return collected.tables();
}

std::vector<LinkTable> read_custom_all_reduce_table(const Csv& t, const Links& links, const EngineLinks& rules,
                                                    ExcludedRows& excluded) {
  const std::size_t kernel = t.column("kernel_source");
  const bool said = links.switched || !links.compute_capability.empty();
  Collected collected(t, "allreduce_dtype");
  for (std::size_t i = 0; i < t.rows(); ++i) {
    LinkPoint p;
    if (!collected.read(i, p, excluded)) continue;
    const std::string_view called = t.text(i, kernel);
    if (called == "vLLM_custom_eager") {
      excluded.add("launched one by one, so that the host's time is in them");
      continue;
    }
    if (called.starts_with("TRTLLM")) {  // its own choice among its kernels, whichever
      collected.add("tensorrt_llm", Collective::all_reduce, p, excluded);
      continue;
    }
    if (called != "vLLM_custom_graph") {
      excluded.add(printable(called, 60) + ", of which no rule says which algorithm ran");
      continue;
    }
    if (!said) {
      excluded.add(
          "which algorithm ran depends on the links: say in the device's file, for one, "
          "\"links\": {\"switched\": true, \"compute_capability\": \"9.0\"}");
      continue;
    }
    const auto rule = std::find_if(rules.all_reduce.begin(), rules.all_reduce.end(),
                                   [&](const LinkRule& r) { return r.holds(links, p.ranks, p.message); });
    if (rule == rules.all_reduce.end() || rule->library == "nccl")
      excluded.add("sizes and groups for which vLLM calls NCCL");
    else collected.add(rule->library, Collective::all_reduce, p, excluded);
  }
  return collected.tables();
}

}  // namespace draftline
