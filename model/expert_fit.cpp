// SPDX-License-Identifier: Apache-2.0
#include "model/expert_fit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>

#include "core/csv.h"
#include "core/errors.h"
#include "model/coefficient_fit.h"
#include "model/device.h"

namespace draftline {
namespace {

ExpertMlp kernel_of(const ExpertPoint& p) { return {p.rows, p.hidden, p.intermediate, p.experts, p.per_token}; }

struct NamedRouting {
  Routing routing;
  double exponent;
};
NamedRouting routing_named(const Csv& t, std::size_t row, std::size_t column) {
  constexpr std::string_view kPowerLaw = "power_law_";
  const std::string_view name = t.text(row, column);
  if (name == "balanced") return {Routing::balanced, 0};
  double exponent = 0;
  const std::string_view digits = name.starts_with(kPowerLaw) ? name.substr(kPowerLaw.size()) : "";
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
  if (digits.empty() || read.ec != std::errc{} || read.ptr != digits.data() + digits.size() || exponent <= 0 ||
      exponent > 10 || exponent == 1)
    t.fail(row, "a distribution is \"balanced\" or \"power_law_\" and an exponent other than 1");
  return {Routing::power_law, exponent};
}

}  // namespace

Seconds predicted(const ExpertFit& f, const Device& d, const ExpertPoint& p) {
  const ExpertMlp k = kernel_of(p);
  return expert_time(f, d, k, p.load, expert_hot_share(f, d, k, p.load));
}

Seconds predicted(const Device& d, const ExpertPoint& p) { return predicted(*d.gpu().experts, d, p); }

Bytes touched_weights(const ExpertPoint& p) {
  return weight_bytes(DType::bf16, p.load.touched * 3.0 * p.hidden * p.intermediate);
}

bool is_cold(const ExpertPoint& p, const Device& d) { return touched_weights(p) > 2 * d.l2; }

ExpertFit fit_experts(const std::vector<ExpertPoint>& points, const Device& datasheet, FitSpread* spread) {
  check(!points.empty(), "a fit needs points");
  constexpr double kHold = 0.01;
  std::vector<Coefficient> coefficients;
  add_coefficients(coefficients, ExpertFit{}, kHold);
  const FittedValues best = fitted(coefficients, {}, static_cast<Eigen::Index>(points.size()),
                                   [&](const std::vector<double>& values, Eigen::VectorXd& errors) {
                                     const ExpertFit f = fit_of_values<ExpertFit>(values);
                                     for (std::size_t i = 0; i < points.size(); ++i)
                                       errors[static_cast<Eigen::Index>(i)] =
                                           std::log(predicted(f, datasheet, points[i]) / points[i].time);
                                   });
  if (spread != nullptr) *spread = best.spread;
  return fit_of_values<ExpertFit>(best.values);
}

ExpertTable read_expert_table(const std::filesystem::path& file, const Device& d) {
  constexpr double kMillisecond = 1e-3;
  constexpr int kMost = 1 << 24, kAligned = 16;
  const Csv t = Csv::from_file(file);
  const auto format = t.column("moe_dtype"), rows = t.column("num_tokens"), hidden = t.column("hidden_size"),
             inner = t.column("inter_size"), per_token = t.column("topk"), experts = t.column("num_experts"),
             ranks = t.column("moe_tp_size"), owners = t.column("moe_ep_size"), routing = t.column("distribution"),
             time = t.column("latency");
  const auto count = [&](std::size_t row, std::size_t column) {
    const auto value = t.integer(row, column);
    if (value < 1 || value > kMost) t.fail(row, "a count out of range");
    return static_cast<int>(value);
  };
  ExpertTable table;
  using Layer = std::tuple<int, int, int, int>;
  std::map<Layer, double> fastest;  // of the time that reading three matrices takes at the datasheet's rate
  for (std::size_t i = 0; i < t.rows(); ++i) {
    if (t.text(i, format) != "bfloat16") {
      ++table.other_formats;
      continue;
    }
    if (count(i, owners) > 1) {
      ++table.expert_parallel;
      continue;
    }
    ExpertPoint p;
    p.rows = count(i, rows);
    p.hidden = count(i, hidden);
    p.whole = count(i, inner);
    p.experts = count(i, experts);
    p.per_token = count(i, per_token);
    p.intermediate = p.whole / count(i, ranks);
    if (p.per_token > p.experts) t.fail(i, "a row chooses more experts than there are");
    p.time = Seconds{kMillisecond * t.number(i, time)};
    if (p.time.value <= 0) t.fail(i, "a latency must be above 0");
    const NamedRouting named = routing_named(t, i, routing);
    if (p.intermediate % kAligned != 0 || p.intermediate == 0) {
      ++table.unaligned;
      continue;
    }
    p.load = load_of(rows_of_experts(named.routing, p.rows, p.experts, p.per_token, named.exponent));
    if (is_cold(p, d)) {
      double& share = fastest[{p.hidden, p.whole, p.experts, p.per_token}];
      share = std::max(share, touched_weights(p) / d.bandwidth / p.time);
    }
    table.points.push_back(p);
  }
  table.not_gated = static_cast<int>(std::erase_if(table.points, [&](const ExpertPoint& p) {
    const auto found = fastest.find({p.hidden, p.whole, p.experts, p.per_token});
    return found != fastest.end() && found->second > 1;
  }));
  return table;
}

}  // namespace draftline
