// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/expert_fit.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <string_view>
#include <tuple>

#include "core/errors.h"
#include "model/calibration/coefficient_fit.h"
#include "model/calibration/gemm_tables.h"
#include "model/devices/device.h"

namespace draftline {
namespace {

ExpertMlp kernel_of(const ExpertPoint& p) {
  return {.rows = p.rows,
          .hidden = p.hidden,
          .intermediate = p.intermediate,
          .experts = p.experts,
          .per_token = p.per_token,
          .weights = p.operands.weights,
          .activations = p.operands.activations,
          .scale_bits = p.operands.scale_bits,
          .scaling = p.operands.scaling};
}

using Layer = std::tuple<int, int, int, int>;
Layer layer_of(const ExpertPoint& p) { return {p.hidden, p.whole, p.experts, p.per_token}; }

// None: a format that has no fit of its own.
std::optional<Operands> operands_named(std::string_view text) {
  if (is_called({}, text)) return Operands{};
  for (const NarrowFormat f : kNarrowFormats)
    if (is_called(f, text)) return operands_of(f);
  return {};
}

// Are these kernels of ModelOpt's checkpoints alone, whose inputs have one static scale? Triton's and TensorRT-LLM's
// bear ModelOpt's name in the tables too, but stand for fp8 in general.
bool of_static_scales(std::string_view kernels) {
  return kernels.find("modelopt") != std::string_view::npos &&
         kernels.find("flashinfer_cutlass") != std::string_view::npos;
}

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

Seconds predicted(const Device& d, const ExpertPoint& p) { return predicted(*expert_fit(d, p.operands).fit, d, p); }

Bytes touched_weights(const ExpertPoint& p) {
  return weight_bytes(p.operands.weights, p.load.touched * 3.0 * p.hidden * p.intermediate, p.operands.scale_bits);
}

bool is_cold(const ExpertPoint& p, const Device& d) { return touched_weights(p) > 2 * d.l2; }

void put_experts(Device& d, const Operands& operands, const ExpertFit& fit) {
  if (const auto format = multiplied_in(d, operands)) d.gpu().narrow_experts[*format] = fit;
  else d.gpu().experts = fit;
}

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

ExpertTable read_expert_table(const Csv& t, const Device& d, std::optional<NarrowFormat> format) {
  constexpr double kMillisecond = 1e-3;
  constexpr int kMost = 1 << 24, kAligned = 16;
  const auto type = t.column("moe_dtype"), rows = t.column("num_tokens"), hidden = t.column("hidden_size"),
             inner = t.column("inter_size"), per_token = t.column("topk"), experts = t.column("num_experts"),
             ranks = t.column("moe_tp_size"), owners = t.column("moe_ep_size"), routing = t.column("distribution"),
             time = t.column("latency");
  const auto count = [&](std::size_t row, std::size_t column) {
    const auto value = t.integer(row, column);
    if (value < 1 || value > kMost) t.fail(row, "a count out of range");
    return static_cast<int>(value);
  };
  const bool says = t.has("kernel_source");
  const std::size_t library = says ? t.column("kernel_source") : 0;
  ExpertTable table;
  std::map<Layer, double> fastest;  // of the time that reading three matrices takes at the datasheet's rate, any format
  std::map<std::string_view, std::vector<ExpertPoint>> by_library;
  std::map<std::tuple<int, int, int, double>, ExpertLoad> loads;
  for (std::size_t i = 0; i < t.rows(); ++i) {
    const std::string_view called = t.text(i, type);
    const bool ours =
        is_called(format, called) || (format == NarrowFormat::fp8_static && is_called(NarrowFormat::fp8, called));
    if (!ours) ++table.other_formats;
    const std::optional<Operands> operands = operands_named(called);
    if (!operands) continue;
    if (count(i, owners) > 1) {
      table.expert_parallel += ours;
      continue;
    }
    ExpertPoint p;
    p.operands = *operands;
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
      table.unaligned += ours;
      continue;
    }
    const auto [load, fresh] = loads.try_emplace({p.rows, p.experts, p.per_token, named.exponent});
    if (fresh) load->second = load_of(rows_of_experts(named.routing, p.rows, p.experts, p.per_token, named.exponent));
    p.load = load->second;
    if (is_cold(p, d)) {
      double& share = fastest[layer_of(p)];
      share = std::max(share, touched_weights(p) / d.bandwidth / p.time);
    }
    if (ours) by_library[says ? t.text(i, library) : ""].push_back(p);
  }
  for (auto& [name, points] : by_library) {
    table.other_libraries += static_cast<int>(points.size());
    if (points.size() <= table.points.size()) continue;
    table.library = name;
    table.points = std::move(points);
  }
  table.other_libraries -= static_cast<int>(table.points.size());
  if (format == NarrowFormat::fp8 || format == NarrowFormat::fp8_static) {  // what is called fp8 may be either
    const bool known = of_static_scales(table.library);
    if (known)
      for (ExpertPoint& p : table.points) p.operands = operands_of(NarrowFormat::fp8_static);
    std::erase_if(table.points, [&](const ExpertPoint& p) { return p.operands != operands_of(*format); });
    if (table.points.empty() && known != (format == NarrowFormat::fp8_static)) {
      ExpertTable none;  // they are the other's, which counts what is left out
      none.other_formats = static_cast<int>(t.rows());
      return none;
    }
  }
  table.not_gated = static_cast<int>(std::erase_if(table.points, [&](const ExpertPoint& p) {
    const auto found = fastest.find(layer_of(p));
    return found != fastest.end() && found->second > 1;
  }));
  return table;
}

}  // namespace draftline
