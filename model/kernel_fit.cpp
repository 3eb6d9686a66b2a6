// SPDX-License-Identifier: Apache-2.0
// Each coefficient is fitted as its logarithm (a softness as its logit), with a weak prior at its start: several are hardly
// identified alone though their sum is.
#include "model/kernel_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <span>

#include "core/errors.h"
#include "model/kernel_time.h"
#include "model/least_squares.h"

namespace draftline {
namespace {

// A coefficient: where it starts, how tightly its prior holds (0.05 of a data point's weight per factor e), its bounds.
struct Coefficient {
  const char* name;
  double start, hold, least, most;
};

// Between the bounds, whatever the unknown: a logistic curve over the logarithm.
double value_of(const Coefficient& c, double unknown) {
  const double low = std::log(c.least), high = std::log(c.most);
  return std::exp(low + (high - low) / (1 + std::exp(-unknown)));
}
double unknown_of(const Coefficient& c) {
  const double share = std::log(c.start / c.least) / std::log(c.most / c.least);
  return std::log(share / (1 - share));
}

// Fits from several starts of the last coefficient, and keeps the best; no starts: from its own.
constexpr std::array kSoftnessStarts{0.2, 0.6, 0.95};
struct Best {
  std::vector<double> values;
  FitSpread spread;
};
Best best_of(std::span<const Coefficient> coefficients, std::span<const double> starts, Eigen::Index points,
             const std::function<void(const std::vector<double>&, Eigen::VectorXd&)>& log_errors) {
  const Eigen::Index n = static_cast<Eigen::Index>(coefficients.size());
  const auto values = [&](const Eigen::VectorXd& unknowns) {
    std::vector<double> v;
    for (Eigen::Index i = 0; i < n; ++i) v.push_back(value_of(coefficients[static_cast<std::size_t>(i)], unknowns[i]));
    return v;
  };
  Eigen::VectorXd start(n);
  for (Eigen::Index i = 0; i < n; ++i) start[i] = unknown_of(coefficients[static_cast<std::size_t>(i)]);
  LeastSquaresResult best;
  best.loss = std::numeric_limits<double>::infinity();
  for (std::size_t s = 0; s < std::max<std::size_t>(starts.size(), 1); ++s) {
    Eigen::VectorXd here = start;
    Coefficient last = coefficients.back();
    if (!starts.empty()) last.start = starts[s];
    here[n - 1] = unknown_of(last);
    const auto result = least_squares(
        [&](const Eigen::VectorXd& unknowns) {
          Residuals r{Eigen::VectorXd(points), Eigen::VectorXd(n)};
          log_errors(values(unknowns), r.data);
          for (Eigen::Index i = 0; i < n; ++i)
            r.prior[i] = coefficients[static_cast<std::size_t>(i)].hold * (unknowns[i] - start[i]);
          return r;
        },
        here);
    if (result.loss < best.loss) best = result;
  }
  // From the unknowns to the logarithms of the coefficients: the slope of the logistic curve.
  Best b{values(best.at), {}};
  const auto slope = [&](Eigen::Index i) {
    const Coefficient& c = coefficients[static_cast<std::size_t>(i)];
    const double share = 1 / (1 + std::exp(-best.at[i]));
    return std::log(c.most / c.least) * share * (1 - share);
  };
  for (Eigen::Index i = 0; i < n; ++i) {
    b.spread.names.emplace_back(coefficients[static_cast<std::size_t>(i)].name);
    b.spread.covariance.emplace_back();
    for (Eigen::Index j = 0; j < n; ++j)
      b.spread.covariance.back().push_back(slope(i) * slope(j) * best.covariance(i, j));
  }
  return b;
}

constexpr double us = 1e-6;

// A cache that fits twice into L2 says little about serving, where it never is there; one that doesn't says most.
constexpr double kHotWeight = 0.15, kColdWeight = 2;

}  // namespace

Attention kernel_of(const AttentionPoint& p) {
  Attention k;
  k.sequences = p.sequences;
  k.rows = p.sequences * p.rows;
  k.widest = p.rows;
  k.heads = p.heads;
  k.kv_heads = p.kv_heads;
  k.head_dim = p.head_dim;
  k.masked = p.masked;
  return k;
}

Span span_of(const AttentionPoint& p) {
  const double rows = p.rows, context = p.context;
  return {p.sequences * (rows * context + (p.masked ? rows * rows : rows * (rows + 1) / 2)),
          p.sequences * (rows + context)};
}

Bytes cache_bytes(const AttentionPoint& p) {
  return bytes_of(DType::bf16, 2.0 * p.kv_heads * p.head_dim * span_of(p).keys);
}

Seconds predicted(const Device& d, const GemmPoint& p) {
  const Bytes met = p.copies * weight_bytes(DType::bf16, static_cast<double>(p.in) * p.out);
  return kernel_time(d, Gemm{p.rows, p.in, p.out}, l2_share_left(d, met));
}

Seconds predicted(const Device& d, const AttentionPoint& p) {
  return attention_time(d, kernel_of(p), span_of(p), p.cache);
}

Seconds predicted(const Device& d, const CopyPoint& p) {
  Copy k;
  k.read = p.bytes;
  return kernel_time(d, k);
}

GemmFit fit_gemm(const std::vector<GemmPoint>& points, const Device& datasheet, FitSpread* spread) {
  check(!points.empty(), "a fit needs points");
  constexpr double kHold = 0.01;
  const std::vector<Coefficient> coefficients{{"fixed", 2 * us, kHold, 0.01 * us, 50 * us},
                                              {"peak_share", 0.9, kHold, 0.05, 2},
                                              {"bandwidth_share", 0.8, kHold, 0.1, 1.2},
                                              {"blend", 3, kHold, 1, 20},
                                              {"k_loop", 3 * us, kHold, 0.1 * us, 50 * us},
                                              {"l2_speed", 2, kHold, 1, 8},
                                              {"l2_share", 0.7, kHold, 0.2, 1.01},
                                              {"split", 2 * us, kHold, 0.05 * us, 50 * us},
                                              {"tile_half", 10, kHold, 0.05, 200},
                                              {"output_cost", 1, kHold, 0.05, 5},
                                              {"latency", 0.1 * us, kHold, 0.001 * us, 5 * us},
                                              {"wave_softness", 0.5, kHold, 0.01, 1}};
  const auto fit_of = [](const std::vector<double>& v) {
    GemmFit f;
    f.fixed = Seconds{v[0]};
    // However fast the chip was clocked, the largest tile (harmonic size 256/3) stays within the datasheet's peak.
    f.peak_share = std::min(v[1], 1 + v[8] * 3 / 256);
    f.bandwidth_share = v[2];
    f.blend = v[3];
    f.k_loop = Seconds{v[4]};
    f.l2_speed = v[5];
    f.l2_share = v[6];
    f.split = Seconds{v[7]};
    f.tile_half = v[8];
    f.output_cost = v[9];
    f.latency = Seconds{v[10]};
    f.wave_softness = v[11];
    return f;
  };
  Device d = datasheet;
  const Best best = best_of(coefficients, kSoftnessStarts, static_cast<Eigen::Index>(points.size()),
                            [&](const std::vector<double>& v, Eigen::VectorXd& errors) {
                              d.fits.gemm = fit_of(v);
                              for (std::size_t i = 0; i < points.size(); ++i)
                                errors[static_cast<Eigen::Index>(i)] =
                                    std::log(predicted(d, points[i]) / points[i].time);
                            });
  if (spread != nullptr) *spread = best.spread;
  return fit_of(best.values);
}

AttentionFits fit_attention(const std::vector<AttentionPoint>& points, const Device& datasheet, FitSpread* spread) {
  check(!points.empty(), "a fit needs points");
  constexpr double kHold = 0.03;
  const std::vector<Coefficient> coefficients{{"decode/fixed", 12 * us, kHold, 0.5 * us, 100 * us},
                                              {"decode/per_unit", 3 * us, kHold, 0.05 * us, 50 * us},
                                              {"decode/per_root_key", 0.1 * us, kHold, 0.001 * us, 2 * us},
                                              {"decode/bandwidth_share", 0.85, kHold, 0.1, 1},
                                              {"decode/l2_speed", 3, kHold, 1, 8},
                                              {"decode/l2_share", 0.7, kHold, 0.2, 1.5},
                                              {"decode/blend", 2, kHold, 0.6, 20},
                                              {"prefill/fixed", 10 * us, kHold, 0.5 * us, 100 * us},
                                              {"prefill/peak_share", 0.6, kHold, 0.05, 1.2},
                                              {"prefill/bandwidth_share", 1, kHold, 0.1, 3},
                                              {"prefill/blend", 1, kHold, 0.5, 5},
                                              {"prefill/write_share", 0.7, kHold, 0.1, 1},
                                              {"prefill/per_row", 0.05 * us, kHold, 1e-4 * us, 2 * us},
                                              {"decode/join", 3 * us, kHold, 0.01 * us, 50 * us},
                                              {"prefill/per_tile", 3 * us, kHold, 0.01 * us, 50 * us},
                                              {"prefill/wave_softness", 0.5, kHold, 0.01, 1}};
  const auto fits_of = [](const std::vector<double>& v, bool packed) {
    AttentionFits f;
    f.decode.fixed = Seconds{v[0]};
    f.decode.per_unit = Seconds{v[1]};
    f.decode.per_root_key = Seconds{v[2]};
    f.decode.bandwidth_share = v[3];
    f.decode.l2_speed = v[4];
    f.decode.l2_share = v[5];
    f.prefill.blend = v[10];
    f.decode.blend = std::max(v[6], v[10]);
    f.prefill.fixed = Seconds{std::min(v[7], v[0])};
    f.prefill.peak_share = v[8];
    f.prefill.bandwidth_share = v[9];
    f.prefill.write_share = v[11];
    f.prefill.per_row = Seconds{v[12]};
    f.decode.join = Seconds{v[13]};
    f.prefill.per_tile = Seconds{v[14]};
    f.prefill.wave_softness = v[15];
    f.prefill.packed = packed;
    return f;
  };
  std::vector<double> weights;
  for (const AttentionPoint& p : points)
    weights.push_back(p.context == 0                                                            ? 1
                      : p.cache == CacheState::repeated && cache_bytes(p) <= 2.0 * datasheet.l2 ? kHotWeight
                                                                                                : kColdWeight);

  // Whether a group's heads share a tile is the kernel's habit: the data decide.
  AttentionFits best;
  double least = std::numeric_limits<double>::infinity();
  for (const bool packed : {false, true}) {
    Device d = datasheet;
    const auto errors_of = [&](const std::vector<double>& v, Eigen::VectorXd& errors) {
      const AttentionFits f = fits_of(v, packed);
      d.fits.decode = f.decode;
      d.fits.prefill = f.prefill;
      for (std::size_t i = 0; i < points.size(); ++i)
        errors[static_cast<Eigen::Index>(i)] = weights[i] * std::log(predicted(d, points[i]) / points[i].time);
    };
    const auto [values, spread_here] =
        best_of(coefficients, kSoftnessStarts, static_cast<Eigen::Index>(points.size()), errors_of);
    Eigen::VectorXd errors(static_cast<Eigen::Index>(points.size()));
    errors_of(values, errors);
    if (const double mean = errors.cwiseAbs().mean(); mean < least) {
      least = mean;
      best = fits_of(values, packed);
      if (spread != nullptr) *spread = spread_here;
    }
  }
  return best;
}

CopyFit fit_copy(const std::vector<CopyPoint>& points, const Device& datasheet, FitSpread* spread) {
  check(!points.empty(), "a fit needs points");
  constexpr double kHold = 0.01;
  const std::vector<Coefficient> coefficients{{"fixed", 2 * us, kHold, 0.05 * us, 50 * us},
                                              {"bandwidth_share", 0.85, kHold, 0.05, 1}};
  Device d = datasheet;
  const Best best = best_of(coefficients, {}, static_cast<Eigen::Index>(points.size()),
                            [&](const std::vector<double>& v, Eigen::VectorXd& errors) {
                              d.fits.copy.fixed = Seconds{v[0]};
                              d.fits.copy.bandwidth_share = v[1];
                              for (std::size_t i = 0; i < points.size(); ++i)
                                errors[static_cast<Eigen::Index>(i)] =
                                    std::log(predicted(d, points[i]) / points[i].time);
                            });
  if (spread != nullptr) *spread = best.spread;
  CopyFit f;
  f.fixed = Seconds{best.values[0]};
  f.bandwidth_share = best.values[1];
  return f;
}

}  // namespace draftline
