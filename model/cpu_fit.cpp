// SPDX-License-Identifier: Apache-2.0
#include "model/cpu_fit.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/fingerprint.h"
#include "model/least_squares.h"

namespace draftline {
namespace {

constexpr double kNanosecond = 1e-9;
constexpr double kHold = 0.02;  // of a prior, in points of one per factor e

struct Coefficient {
  const char* name;
  double start;
};

struct Fitted {
  std::vector<double> values;
  Eigen::MatrixXd covariance;
};

using Predict = std::function<double(const std::vector<double>&, const MeasuredPoint&)>;

// Coefficients are positive: their logarithms are fitted.
Fitted fit(const std::vector<Coefficient>& coefficients, const std::vector<MeasuredPoint>& points,
           const Predict& predict) {
  const auto n = static_cast<Eigen::Index>(coefficients.size());
  Eigen::VectorXd start(n);
  for (Eigen::Index i = 0; i < n; ++i) start[i] = std::log(coefficients[static_cast<std::size_t>(i)].start);
  const auto values_of = [&](const Eigen::VectorXd& logs) {
    std::vector<double> values;
    for (const double x : logs) values.push_back(std::exp(std::clamp(x, -50.0, 20.0)));
    return values;
  };
  const auto result = least_squares(
      [&](const Eigen::VectorXd& logs) {
        Residuals r{Eigen::VectorXd(static_cast<Eigen::Index>(points.size())), kHold * (logs - start)};
        const auto values = values_of(logs);
        for (std::size_t i = 0; i < points.size(); ++i)
          r.data[static_cast<Eigen::Index>(i)] = std::log(predict(values, points[i]) / points[i].median.value);
        return r;
      },
      start, {0.05, 80, 1e-7});
  return {values_of(result.at), result.covariance};
}

// Whole shapes are left out: what may differ within a fold's group is not part of the hash.
int fold_of(const MeasuredPoint& p, const std::vector<const char*>& group) {
  Fingerprint f;
  for (const char* name : group) f.add(p.at(name));
  return static_cast<int>(f.value() % kFitFolds);
}

FitQuality judge(const std::string& op, const std::vector<Coefficient>& coefficients,
                 const std::vector<MeasuredPoint>& points, const Predict& predict,
                 const std::vector<const char*>& group, const Fitted& whole) {
  std::vector<std::vector<double>> log_ratio(kFitFolds);
  for (int fold = 0; fold < kFitFolds; ++fold) {
    std::vector<MeasuredPoint> seen, unseen;
    for (const auto& p : points) (fold_of(p, group) == fold ? unseen : seen).push_back(p);
    if (seen.empty() || unseen.empty()) continue;
    const Fitted f = fit(coefficients, seen, predict);
    for (const auto& p : unseen)
      log_ratio[static_cast<std::size_t>(fold)].push_back(std::log(p.median.value / predict(f.values, p)));
  }
  FitQuality q = judged(op, log_ratio);
  q.points = static_cast<int>(points.size());
  FitSpread spread;
  for (std::size_t i = 0; i < coefficients.size(); ++i) {
    spread.names.emplace_back(coefficients[i].name);
    spread.covariance.emplace_back();
    for (Eigen::Index j = 0; j < whole.covariance.cols(); ++j)
      spread.covariance.back().push_back(whole.covariance(static_cast<Eigen::Index>(i), j));
  }
  note_spread(q, std::move(spread));
  return q;
}

CpuGemmFit gemm_of(const std::vector<double>& v) {
  return {Seconds{v[0]}, Seconds{v[1]}, {Seconds{v[2]}, Seconds{v[3]}, Seconds{v[4]}, Seconds{v[5]}},
          Seconds{v[6]}, Seconds{v[7]}, v[8],
          1 + v[9]};
}
CpuAttentionFit attention_of(const std::vector<double>& v) {
  return {Seconds{v[0]}, Seconds{v[1]}, Seconds{v[2]},
          Seconds{v[3]}, v[8],          {Seconds{v[4]}, Seconds{v[5]}, Seconds{v[6]}},
          v[7]};
}

std::vector<MeasuredPoint> points_of(const Measured& m, const std::string& op) {
  std::vector<MeasuredPoint> points;
  for (const auto& p : m.points)
    if (p.op == op && p.skipped.empty()) points.push_back(p);
  return points;
}

}  // namespace

double share_in_last_cache(const CpuFit& f, Bytes footprint) {
  const double x = footprint / (f.gemm.cache_share * f.caches.back());
  return 1 / (1 + x * x * x * x);
}

Seconds predicted(const CpuFit& fit, const MeasuredPoint& p) {
  if (p.op == "gemm") {
    const Gemm k{p.at("rows"), p.at("in"), p.at("out"), DType::fp32, DType::fp32};
    const Bytes footprint{4.0 * k.in * k.out * p.at("copies")};
    return cpu_time(fit, k, share_in_last_cache(fit, footprint));
  }
  Attention k;
  k.sequences = p.at("sequences");
  k.widest = p.at("rows");
  k.rows = k.sequences * k.widest;
  k.heads = p.at("heads");
  k.kv_heads = p.at("kv_heads");
  k.head_dim = p.at("head_dim");
  k.cache = k.activations = DType::fp32;
  k.masked = p.at("tree") != 0;
  const double rows = k.widest, context = p.at("context");
  return cpu_time(fit, k,
                  {k.sequences * (rows * context + (k.masked ? rows * rows : rows * (rows + 1) / 2)),
                   k.sequences * (context + rows)},
                  false);
}

CpuCalibration calibrate_cpu(const Measured& m) {
  const double last_cache = m.of_machine("last_cache");
  const auto gemms = points_of(m, "gemm"), attentions = points_of(m, "attention");
  if (gemms.empty() || attentions.empty())
    throw InputErrors(m.file.string() + "#/points: a CPU device needs measured points of gemm and of attention");
  CpuCalibration c;
  c.fit.caches = {Bytes{m.of_machine("first_cache")}, Bytes{m.of_machine("second_cache")}, Bytes{last_cache}};
  for (const auto& p : points_of(m, "read"))
    if (const double bytes = 1024.0 * p.at("kib"); bytes > 2 * last_cache)
      c.read_bandwidth = std::max(c.read_bandwidth, bytes / p.median.value);
  if (c.read_bandwidth <= 0)
    throw InputErrors(m.file.string() + "#/points: a CPU device needs a point of read past the last cache");
  for (const auto& p : gemms) {
    const double flops = 2.0 * p.at("rows") * p.at("in") * p.at("out");
    c.peak = std::max(c.peak, flops / p.median.value);
  }

  const std::vector<Coefficient> of_gemm{{"fixed", 200 * kNanosecond},
                                         {"tile", 20 * kNanosecond},
                                         {"step_1", 10 * kNanosecond},
                                         {"step_2", 15 * kNanosecond},
                                         {"step_3", 20 * kNanosecond},
                                         {"step_4", 25 * kNanosecond},
                                         {"memory_byte", 1 / c.read_bandwidth},
                                         {"cache_byte", 0.3 / c.read_bandwidth},
                                         {"cache_share", 0.7},
                                         {"blend", 2}};
  const Predict gemm = [&caches = c.fit.caches](const std::vector<double>& v, const MeasuredPoint& p) {
    CpuFit f;
    f.caches = caches;
    f.gemm = gemm_of(v);
    return predicted(f, p).value;
  };
  const Fitted g = fit(of_gemm, gemms, gemm);
  c.fit.gemm = gemm_of(g.values);
  c.quality.push_back(judge("gemm", of_gemm, gemms, gemm, {"in", "out"}, g));

  const std::vector<Coefficient> of_attention{{"fixed", 200 * kNanosecond},
                                              {"row", 100 * kNanosecond},
                                              {"pair", 10 * kNanosecond},
                                              {"pair_column", 1 * kNanosecond},
                                              {"beyond_first_byte", 0.02 * kNanosecond},
                                              {"beyond_second_byte", 0.05 * kNanosecond},
                                              {"beyond_last_byte", 0.1 * kNanosecond},
                                              {"cache_share", 0.7},
                                              {"overlap", 20}};
  const Predict attention = [&caches = c.fit.caches](const std::vector<double>& v, const MeasuredPoint& p) {
    CpuFit f;
    f.caches = caches;
    f.attention = attention_of(v);
    return predicted(f, p).value;
  };
  const Fitted a = fit(of_attention, attentions, attention);
  c.fit.attention = attention_of(a.values);
  c.quality.push_back(judge("attention", of_attention, attentions, attention, {"sequences", "rows", "context"}, a));

  for (const char* op : {"add", "silu_mul", "rms_norm"}) {
    std::vector<double> rates;
    for (const auto& p : points_of(m, op)) {
      const double operands = std::string(op) == "rms_norm" ? 2 : 3;
      rates.push_back(p.median.value / (operands * 4 * p.at("rows") * p.at("columns")));
    }
    if (!rates.empty()) c.fit.byte_of_op[op] = Seconds{quantile(rates, 0.5)};
  }
  return c;
}

}  // namespace draftline
