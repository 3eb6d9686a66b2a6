// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/expert_tables.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/int_indexed.h"
#include "model/calibration/gemm_tables.h"
#include "model/calibration/table_cells.h"

namespace draftline {
namespace {

constexpr int kMostOfLayer = 1 << 24;  // of any count; memory is taken for each expert

struct ExpertColumns {
  explicit ExpertColumns(const Csv& t)
      : type(t.column("moe_dtype")),
        rows(t.column("num_tokens")),
        hidden(t.column("hidden_size")),
        inner(t.column("inter_size")),
        per_token(t.column("topk")),
        experts(t.column("num_experts")),
        ranks(t.column("moe_tp_size")),
        owners(t.column("moe_ep_size")),
        distribution(t.column("distribution")),
        time(t.column("latency")),
        library(t.has("kernel_source") ? std::optional(t.column("kernel_source")) : std::nullopt) {}
  std::size_t type, rows, hidden, inner, per_token, experts, ranks, owners, distribution, time;
  std::optional<std::size_t> library;  // none: it is one, whichever
};

// None: a format that has no fit of its own.
std::optional<Operands> operands_named(std::string_view text) {
  if (is_called({}, text)) return Operands{};
  for (const NarrowFormat f : kNarrowFormats)
    if (is_called(f, text)) return operands_of(f);
  return {};
}

bool may_be(std::optional<NarrowFormat> format, std::string_view called) {
  return is_called(format, called) || (format == NarrowFormat::fp8_static && is_called(NarrowFormat::fp8, called));
}

// Are these kernels of ModelOpt's checkpoints alone, whose inputs have one static scale? Triton's and TensorRT-LLM's
// bear ModelOpt's name in the tables too, but stand for fp8 in general.
bool of_static_scales(std::string_view kernels) {
  return kernels.find("modelopt") != std::string_view::npos &&
         kernels.find("flashinfer_cutlass") != std::string_view::npos;
}

struct NamedDistribution {
  ExpertDistribution distribution;
  double exponent;
};
NamedDistribution distribution_named(const Csv& t, std::size_t row, std::size_t column) {
  constexpr std::string_view kPowerLaw = "power_law_";
  const std::string_view name = t.text(row, column);
  if (name == "balanced") return {ExpertDistribution::balanced, 0};
  double exponent = 0;
  const std::string_view digits = name.starts_with(kPowerLaw) ? name.substr(kPowerLaw.size()) : "";
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (digits.empty() || read.ec != std::errc{} || read.ptr != digits.data() + digits.size() || exponent <= 0 ||
      exponent > 10 || exponent == 1)
    t.fail(row, "a distribution is \"balanced\" or \"power_law_\" and an exponent other than 1");
  return {ExpertDistribution::power_law, exponent};
}

// A row's point, but for its load.
ExpertPoint read_layer(const Csv& t, std::size_t row, const ExpertColumns& columns, const Operands& operands) {
  constexpr Seconds kMillisecond{1e-3};
  const auto positive = [&](std::size_t column) { return count(t, row, column, 1, kMostOfLayer); };
  ExpertPoint p;
  p.operands = operands;
  p.rows = positive(columns.rows);
  p.hidden = positive(columns.hidden);
  p.whole = positive(columns.inner);
  p.experts = positive(columns.experts);
  p.per_token = positive(columns.per_token);
  p.intermediate = p.whole / positive(columns.ranks);
  if (p.per_token > p.experts) t.fail(row, "a row chooses more experts than there are");
  total(t, row, std::int64_t{p.rows} * p.per_token);  // A load counts them one by one.
  p.time = latency(t, row, columns.time, kMillisecond);
  return p;
}

bool is_aligned(const ExpertPoint& p) {
  constexpr int kAligned = 16;
  return p.intermediate % kAligned == 0 && p.intermediate > 0;
}

// Rows that choose alike share a load, which takes long to make.
class SharedLoads {
 public:
  const ExpertLoad& of(const ExpertPoint& p, const NamedDistribution& named) {
    const auto [load, fresh] = loads_.try_emplace({p.rows, p.experts, p.per_token, named.exponent});
    if (fresh)
      load->second = load_of(rows_of_experts(named.distribution, p.rows, p.experts, p.per_token, named.exponent));
    return load->second;
  }

 private:
  std::map<std::tuple<int, int, int, double>, ExpertLoad> loads_;
};

// Tells layers without a gate by their fastest call, in any format: three matrices take longer to read.
class Gates {
 public:
  explicit Gates(const Device& datasheet) : datasheet_(datasheet) {}
  void see(const ExpertPoint& p) {
    if (!from_memory(p, datasheet_)) return;
    double& share = fastest_[layer_of(p)];
    share = std::max(share, touched_weights(p) / datasheet_.bandwidth / p.time);
  }
  bool missing(const ExpertPoint& p) const {
    const auto found = fastest_.find(layer_of(p));
    return found != fastest_.end() && found->second > 1;
  }

 private:
  using Layer = std::tuple<int, int, int, int>;
  static Layer layer_of(const ExpertPoint& p) { return {p.hidden, p.whole, p.experts, p.per_token}; }
  const Device& datasheet_;
  std::map<Layer, double> fastest_;  // of the time that reading three matrices takes at the datasheet's rate
};

using PointsByLibrary = std::map<std::string_view, std::vector<ExpertPoint>>;

// Counts what it leaves out, and returns the points by library.
PointsByLibrary read_layers(const Csv& t, std::optional<NarrowFormat> format, ExpertTable& table, Gates& gates) {
  const ExpertColumns columns(t);
  PointsByLibrary by_library;
  SharedLoads loads;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const std::string_view called = t.text(i, columns.type);
    const bool ours = may_be(format, called);
    if (!ours) ++table.other_formats;
    const std::optional<Operands> operands = operands_named(called);
    if (!operands) continue;
    if (count(t, i, columns.owners, 1, kMostOfLayer) > 1) {
      table.expert_parallel += ours;
      continue;
    }
    ExpertPoint p = read_layer(t, i, columns, *operands);
    const NamedDistribution distribution = distribution_named(t, i, columns.distribution);
    if (!is_aligned(p)) {
      table.unaligned += ours;
      continue;
    }
    p.load = loads.of(p, distribution);
    gates.see(p);
    if (ours) by_library[columns.library ? t.text(i, *columns.library) : ""].push_back(p);
  }
  return by_library;
}

void keep_largest(PointsByLibrary by_library, ExpertTable& table) {
  for (auto& [name, points] : by_library) {
    table.other_libraries += count(points);
    if (points.size() <= table.points.size()) continue;
    table.library = name;
    table.points = std::move(points);
  }
  table.other_libraries -= count(table.points);
}

// Keeps those of the points called fp8, whose scales may be either, that have this format's scales. Returns false if
// all rows are of the other format.
bool keep_scales(NarrowFormat format, ExpertTable& table) {
  const bool known = of_static_scales(table.library);
  if (known)
    for (ExpertPoint& p : table.points) p.operands = operands_of(NarrowFormat::fp8_static);
  std::erase_if(table.points, [&](const ExpertPoint& p) { return p.operands != operands_of(format); });
  return !table.points.empty() || known == (format == NarrowFormat::fp8_static);
}

}  // namespace

ExpertTable read_expert_table(const Csv& t, const Device& d, std::optional<NarrowFormat> format) {
  ExpertTable table;
  Gates gates(d);
  keep_largest(read_layers(t, format, table, gates), table);
  const bool either = format == NarrowFormat::fp8 || format == NarrowFormat::fp8_static;
  if (either && !keep_scales(*format, table)) {
    ExpertTable none;  // The other format's table counts what is left out.
    none.other_formats = static_cast<int>(t.rows());
    return none;
  }
  table.not_gated =
      static_cast<int>(std::erase_if(table.points, [&](const ExpertPoint& p) { return gates.missing(p); }));
  return table;
}

}  // namespace draftline
