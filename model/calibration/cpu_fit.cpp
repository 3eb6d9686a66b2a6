// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/cpu_fit.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "core/fingerprint.h"
#include "core/int_indexed.h"
#include "model/calibration/coefficient_fit.h"
#include "model/calibration/least_squares.h"
#include "model/calibration/measured_work.h"
#include "model/calibration/memory_drift.h"
#include "model/devices/fit_fields.h"

namespace draftline {
namespace {

constexpr double kNanosecond = 1e-9, kGiga = 1e9;
constexpr double kHold = 0.02;  // of a prior, in points of one per factor e

// Fitted as x: least + e^x, or, below a bound, least + (most - least) / (1 + e^-x).
struct CpuCoefficient {
  std::string name;
  double start, least = 0, most = INFINITY;
  bool bounded() const { return std::isfinite(most); }
  double at(double x) const {
    const double e = std::exp(std::clamp(x, -50.0, 20.0));
    return least + (bounded() ? (most - least) * e / (1 + e) : e);
  }
  double place() const { return std::log(start - least) - (bounded() ? std::log(most - start) : 0); }
  double log_slope(double value) const {  // of the value's logarithm, by x
    return (value - least) / value * (bounded() ? (most - value) / (most - least) : 1);
  }
};

struct Fitted {
  std::vector<double> values;
  Eigen::MatrixXd covariance;  // of the values' logarithms
};

using Predict = std::function<double(const std::vector<double>&, const MeasuredPoint&)>;

Fitted fit(const std::vector<CpuCoefficient>& coefficients, const std::vector<MeasuredPoint>& points,
           const Predict& predict) {
  const auto n = std::ssize(coefficients);
  Eigen::VectorXd start(n);
  for (Eigen::Index i = 0; i < n; ++i) start[i] = coefficients[draftline::at(i)].place();
  const auto values_of = [&](const Eigen::VectorXd& logs) {
    std::vector<double> values;
    for (Eigen::Index i = 0; i < n; ++i) values.push_back(coefficients[draftline::at(i)].at(logs[i]));
    return values;
  };
  const auto result = least_squares(
      [&](const Eigen::VectorXd& logs) {
        Residuals r{Eigen::VectorXd(std::ssize(points)), kHold * (logs - start)};
        const auto values = values_of(logs);
        for (Eigen::Index i = 0; i < r.data.size(); ++i) {
          const MeasuredPoint& p = points[draftline::at(i)];
          r.data[i] = std::log(predict(values, p) / p.median.value);
        }
        return r;
      },
      start, {0.05, 80, 1e-7});
  const auto values = values_of(result.at);
  Eigen::VectorXd slopes(n);
  for (Eigen::Index i = 0; i < n; ++i) slopes[i] = coefficients[draftline::at(i)].log_slope(values[draftline::at(i)]);
  return {values, slopes.asDiagonal() * result.covariance * slopes.asDiagonal()};
}

// Whole shapes are left out: what may differ within a fold's group is not part of the hash.
using Group = std::vector<const char*>;
Group group_of(const MeasuredPoint& p) {
  if (p.op == "gemm") return {"in", "out"};
  if (p.op == "attention") return {"sequences", "rows", "context"};
  if (p.op == "rope_append") return {"rows", "heads", "head_dim"};
  return {"rows", "columns"};
}
std::size_t fold_of(const MeasuredPoint& p) {
  Fingerprint f;
  for (const char* name : group_of(p)) f.add(p.at(name));
  return f.value() % kFitFolds;
}

// Logarithms of measured over predicted, of the points of each op that each fold left out.
using LogRatios = std::map<std::string, std::vector<std::vector<double>>>;
LogRatios left_out(const std::vector<CpuCoefficient>& coefficients, const std::vector<MeasuredPoint>& points,
                   const Predict& predict) {
  LogRatios log_ratio;
  for (const auto& p : points) log_ratio[p.op].resize(kFitFolds);
  for (std::size_t fold = 0; fold < kFitFolds; ++fold) {
    std::vector<MeasuredPoint> seen, unseen;
    for (const auto& p : points) (fold_of(p) == fold ? unseen : seen).push_back(p);
    if (seen.empty() || unseen.empty()) continue;
    const Fitted f = fit(coefficients, seen, predict);
    for (const auto& p : unseen) log_ratio[p.op][fold].push_back(std::log(p.median.value / predict(f.values, p)));
  }
  return log_ratio;
}

FitSpread spread_of(const std::vector<CpuCoefficient>& coefficients, const Fitted& whole) {
  FitSpread spread;
  for (Eigen::Index i = 0; i < whole.covariance.rows(); ++i) {
    spread.names.push_back(coefficients[draftline::at(i)].name);
    const Eigen::VectorXd row = whole.covariance.row(i);
    spread.covariance.emplace_back(row.begin(), row.end());
  }
  return spread;
}

FitQuality judge(const std::vector<CpuCoefficient>& coefficients, const std::vector<MeasuredPoint>& points,
                 const Predict& predict, const Fitted& whole) {
  const std::string& op = points.front().op;
  FitQuality q = judged(op, left_out(coefficients, points, predict).at(op));
  q.points = count(points);
  note_spread(q, spread_of(coefficients, whole));
  return q;
}

template <class Fit>
std::vector<CpuCoefficient> coefficients_of(const Fit& fit) {
  std::vector<CpuCoefficient> all;
  for (const FitField<Fit>& f : fields_of(fit)) all.push_back({f.name, f.start, f.low, f.high});
  return all;
}
std::vector<MeasuredPoint> points_of(const Measured& m, const std::string& op) {
  std::vector<MeasuredPoint> points;
  for (const auto& p : m.points)
    if (p.op == op && p.skipped.empty()) points.push_back(p);
  return points;
}

}  // namespace

Seconds predicted(const CpuModel& fit, const MeasuredPoint& p) {
  if (p.op == "gemm") {
    const Gemm k = gemm_of(p, DType::fp32);
    const double copies = p.at("copies");
    const Bytes ours{4.0 * k.in * k.out * copies};
    const Seconds pause{1e-6 * p.at("pause_us", 0)},
        round = pause + copies * cpu_time(fit, k, {ours, fit.co_runner_traffic * pause});
    return cpu_time(fit, k, {ours, fit.co_runner_traffic * round});
  }
  if (const auto op = value_named(kElementOps, p.op)) {
    const Copy k = copy_of(*op, p, DType::fp32);
    return cpu_time(fit, k, {p.at("copies", 1) * k.old_lines + Bytes{1024.0 * p.at("reuse_kib", 0)}, {}});
  }
  const Attention k = attention_of(p, DType::fp32);
  const Span span = span_of(p);
  return cpu_time(fit, k, span,
                  {p.at("copies", 1) * cpu_cache_bytes(k, span) + Bytes{1024.0 * p.at("reuse_kib", 0)}, {}});
}

// The machine as it was beside a point, `usual` being what the memory reference read in the median.
static CpuModel beside(const CpuModel& fit, const MeasuredPoint& p, const std::optional<MemoryTimes>& usual) {
  return p.memory && usual ? drifted(fit, drift(*p.memory, *usual)) : fit;
}

// All ops in one fit, as they share what a byte costs and the clock; each is judged by itself, the interval is of all.
static void fit_elements(const Measured& m, CpuCalibration& c) {
  constexpr double kMillisecond = 1e-3;
  std::vector<CpuCoefficient> coefficients{{"byte", 0},
                                           {"beyond_l1_byte", 0},
                                           {"beyond_l2_byte", 0},
                                           {"slow_for", 0.5 * kMillisecond},
                                           {"slow_clock", 1.1, 1, 2},
                                           {"line_l2_byte", 0.01 * kNanosecond},
                                           {"line_llc_byte", 0.05 * kNanosecond},
                                           {"line_memory_byte", 0.15 * kNanosecond}};
  EnumArray<ElementOp, std::size_t, kElementOps.size()> first{};  // of an op's coefficients; 0: it was not probed
  std::vector<MeasuredPoint> points;
  for (const auto& [called, op] : kElementOps) {
    const std::string name(called);
    const auto of_op = points_of(m, name);
    if (of_op.empty() && may_be_unprobed(op)) continue;
    if (of_op.empty()) throw InputErrors(m.file.string() + "#/points: a CPU device needs measured points of " + name);
    std::vector<double> rates;
    for (const auto& p : of_op) {
      const Copy k = copy_of(op, p, DType::fp32);
      rates.push_back(p.median.value / (op == ElementOp::add ? (k.read + k.written).value : k.elements));
    }
    first[op] = coefficients.size();
    coefficients.push_back({name + "_fixed", 50 * kNanosecond});
    if (op == ElementOp::add)
      for (std::size_t i = 0; i < 3; ++i) coefficients[i].start = quantile(rates, 0.5);
    else coefficients.push_back({name + "_element", quantile(rates, 0.5)});
    points.insert(points.end(), of_op.begin(), of_op.end());
  }
  const auto elements_of = [&](const std::vector<double>& v) {
    CpuElementFit e{.byte = Seconds{v[0]},
                    .beyond_l1_byte = Seconds{v[1]},
                    .beyond_l2_byte = Seconds{v[2]},
                    .slow_for = Seconds{v[3]},
                    .slow_clock = v[4],
                    .lines = c.fit.attention.reach};
    e.lines.byte = {Seconds{v[5]}, Seconds{v[6]}, Seconds{v[7]}};
    for (const auto& [called, op] : kElementOps)
      if (const std::size_t at = first[op]; at == 0) e.of[op] = e.of[ElementOp::silu_mul];
      else e.of[op] = {Seconds{v[at]}, op == ElementOp::add ? Seconds{} : Seconds{v[at + 1]}};
    return e;
  };
  const Predict predict = [&, usual = memory_times(m)](const std::vector<double>& v, const MeasuredPoint& p) {
    CpuModel f;
    f.caches = c.fit.caches;
    f.elements = elements_of(v);
    return predicted(beside(f, p, usual), p).value;
  };
  const Fitted whole = fit(coefficients, points, predict);
  c.fit.elements = elements_of(whole.values);
  const FitSpread spread = spread_of(coefficients, whole);
  const LogRatios log_ratio = left_out(coefficients, points, predict);
  std::vector<std::vector<double>> all(kFitFolds);
  for (const auto& [called, op] : kElementOps) {
    if (first[op] == 0) continue;
    const std::string name(called);
    const auto& own = log_ratio.at(name);
    for (std::size_t fold = 0; fold < all.size(); ++fold)
      all[fold].insert(all[fold].end(), own[fold].begin(), own[fold].end());
    FitQuality& q = c.quality.emplace_back(judged(name, own));
    FitSpread of_op;  // the op's own
    const std::size_t begin = first[op], size = op == ElementOp::add ? 1 : 2;
    for (std::size_t i = begin; i < begin + size; ++i) {
      const auto row = std::span(spread.covariance[i]).subspan(begin, size);
      of_op.names.push_back(spread.names[i].substr(name.size() + 1));
      of_op.covariance.emplace_back(row.begin(), row.end());
    }
    note_spread(q, of_op);
  }
  c.elements = judged("elementwise", all);
  c.elements.spread = spread;
}

CpuCalibration calibrate_cpu(const Measured& measured) {
  Measured m = measured;
  take_out_bursts(m.points);
  const auto usual = memory_times(m);
  const double llc = m.of_machine("last_level_cache");
  const auto gemms = points_of(m, "gemm"), attentions = points_of(m, "attention");
  if (gemms.empty() || attentions.empty())
    throw InputErrors(m.file.string() + "#/points: a CPU device needs measured points of gemm and of attention");
  CpuCalibration c;
  c.fit.caches = {Bytes{m.of_machine("l1_cache")}, Bytes{m.of_machine("l2_cache")}, Bytes{llc}};
  for (const auto& p : points_of(m, "read"))
    if (const double bytes = 1024.0 * p.at("kib"); bytes > 2 * llc)
      c.read_bandwidth = std::max(c.read_bandwidth, bytes / p.median.value);
  if (c.read_bandwidth <= 0)
    throw InputErrors(m.file.string() + "#/points: a CPU device needs a point of read past the last-level cache");
  for (const auto& p : gemms) {
    const double flops = 2.0 * p.at("rows") * p.at("in") * p.at("out");
    c.peak = std::max(c.peak, flops / p.median.value);
  }

  std::vector<CpuCoefficient> of_gemm = coefficients_of(CpuGemmFit{});
  for (CpuCoefficient& k : of_gemm) {  // memory streams at the bandwidth that was read
    if (k.name == "llc_byte") k.start = 0.3 / c.read_bandwidth;
    if (k.name == "memory_byte") k.start = 1.0 / c.read_bandwidth;
  }
  of_gemm.push_back({"co_runner_traffic", 0.1 * c.read_bandwidth / kGiga});
  const Predict gemm = [&caches = c.fit.caches, &usual](const std::vector<double>& v, const MeasuredPoint& p) {
    CpuModel f;
    f.caches = caches;
    f.gemm = fit_of_values<CpuGemmFit>(v);
    f.co_runner_traffic = BytesPerSecond{kGiga * v.back()};
    return predicted(beside(f, p, usual), p).value;
  };
  const Fitted g = fit(of_gemm, gemms, gemm);
  c.fit.gemm = fit_of_values<CpuGemmFit>(g.values);
  c.fit.co_runner_traffic = BytesPerSecond{kGiga * g.values.back()};
  c.quality.push_back(judge(of_gemm, gemms, gemm, g));

  const std::vector<CpuCoefficient> of_attention = coefficients_of(CpuAttentionFit{});
  const Predict attention = [&caches = c.fit.caches, &usual](const std::vector<double>& v, const MeasuredPoint& p) {
    CpuModel f;
    f.caches = caches;
    f.attention = fit_of_values<CpuAttentionFit>(v);
    return predicted(beside(f, p, usual), p).value;
  };
  const Fitted a = fit(of_attention, attentions, attention);
  c.fit.attention = fit_of_values<CpuAttentionFit>(a.values);
  c.quality.push_back(judge(of_attention, attentions, attention, a));
  fit_elements(m, c);

  return c;
}

}  // namespace draftline
