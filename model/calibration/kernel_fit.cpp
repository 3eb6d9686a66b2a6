// SPDX-License-Identifier: Apache-2.0
// Each coefficient is fitted as its logarithm (a softness as its logit), with a weak prior at its start: several are
// hardly identified alone though their sum is.
#include "model/calibration/kernel_fit.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <span>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "model/calibration/coefficient_fit.h"
#include "model/kernels/kernel_time.h"

namespace draftline {
namespace {

// The starts of the wave softness, the last coefficient of each form that has one.
constexpr std::array kSoftnessStarts{0.2, 0.6, 0.95};

Device without_fits(Device datasheet) {
  datasheet.model = GpuModel{};
  return datasheet;
}

// Reads rows of 16 bits and writes them in the activations' format.
Copy quantising_pass(const GemmPoint& p) {
  const double elements = 1.0 * p.rows * p.in;
  return {.read = bytes_of(DType::bf16, elements), .written = bytes_of(p.operands.activations, elements)};
}

// The KV cache of a server is never in L2: points whose cache fits there twice count little, the others most.
constexpr double kWeightInL2 = 0.15, kWeightInMemory = 2;

}  // namespace

Attention kernel_of(const AttentionPoint& p) {
  Attention k;
  k.sequences = p.sequences;
  k.rows = p.sequences * p.rows;
  k.widest = p.rows;
  k.heads = p.heads;
  k.kv_heads = p.kv_heads;
  k.head_dim = p.head_dim;
  k.value_dim = p.value_dim;
  k.latent = p.latent;
  k.expanded = p.value_dim > 0 && !p.latent;
  k.masked = p.masked;
  k.cache = p.format;
  return k;
}

Span span_of(const AttentionPoint& p) {
  const double rows = p.rows, context = p.context;
  return {p.sequences * (rows * context + (p.masked ? rows * rows : rows * (rows + 1) / 2)),
          p.sequences * (rows + context)};
}

Bytes cache_bytes(const AttentionPoint& p) { return bytes_of(p.format, kernel_of(p).key_columns() * span_of(p).keys); }

Seconds predicted(const Device& d, const GemmPoint& p) {
  const Gemm k{.rows = p.rows,
               .in = p.in,
               .out = p.out,
               .weights = p.operands.weights,
               .activations = p.operands.activations,
               .scaling = p.operands.scaling,
               .scale_bits = p.operands.scale_bits};
  const Bytes bytes_between = p.copies * weight_bytes(k.weights, 1.0 * p.in * p.out, k.scale_bits);
  const Seconds time = gpu_time(d, k, l2_share_left(d, k, bytes_between));
  return bits_of(k.activations) < 16 ? time + kernel_time(d, quantising_pass(p)) : time;
}

Seconds predicted(const Device& d, const AttentionPoint& p) {
  const Attention k = kernel_of(p);
  return gpu_time(d, attention_choice(d.gpu().attention, p.library, p.format, form_of(k)), k, span_of(p), p.cache);
}

Seconds predicted(const Device& d, const CopyPoint& p) {
  Copy k;
  k.read = p.bytes;
  if (p.op) k.op = *p.op;
  return kernel_time(d, k);
}

void put_gemm(Device& d, const Operands& operands, const GemmFit& fit) {
  if (const auto format = multiplied_in(d, operands)) d.gpu().narrow_gemm[*format] = fit;
  else d.gpu().gemm = fit;
}

GemmFit fit_gemm(const std::vector<GemmPoint>& points, const Device& datasheet, FitSpread* spread) {
  check(!points.empty(), "a fit needs points");
  constexpr double kHold = 0.01;
  std::vector<Coefficient> coefficients;
  add_coefficients(coefficients, GemmFit{}, kHold);
  const auto fit_of = [](const std::vector<double>& v, GemmTiles tiles) {
    GemmFit f = fit_of_values<GemmFit>(v);
    // However fast the chip was clocked, the largest tile (harmonic size 256/3) stays within the datasheet's peak.
    f.peak_share = std::min(f.peak_share, 1 + f.tile_half * 3 / 256);
    f.tiles = tiles;
    return f;
  };
  const Operands& operands = points.front().operands;
  Device d = without_fits(datasheet);
  d.gpu().copy = datasheet.gpu().copy;
  const auto size = std::ssize(points);
  GemmFit best;
  double least = std::numeric_limits<double>::infinity();
  const std::span tried = multiplied_in(d, operands) ? std::span(kGemmTiles) : std::span(kGemmTiles).first(1);
  for (const auto& choice : tried) {  // for narrow operands the fit finds the library's tiles
    const GemmTiles tiles = choice.value;
    const auto errors_of = [&](const std::vector<double>& v, Eigen::VectorXd& errors) {
      put_gemm(d, operands, fit_of(v, tiles));
      set_log_errors(errors, points, [&](const GemmPoint& p) { return predicted(d, p); });
    };
    const auto [values, spread_here] = fitted(coefficients, kSoftnessStarts, size, errors_of);
    Eigen::VectorXd errors(size);
    errors_of(values, errors);
    if (const double mean = errors.cwiseAbs().mean(); mean < least) {
      least = mean;
      best = fit_of(values, tiles);
      if (spread != nullptr) *spread = spread_here;
    }
  }
  return best;
}

namespace {

// Does a layout have this coefficient?
bool has_coefficient(HeadLayout layout, std::string_view name) {
  constexpr std::array<std::string_view, 4> kOfStacked{"prefill/per_stage", "prefill/per_tile_row",
                                                       "prefill/per_part_row", "prefill/per_part"};
  constexpr std::array<std::string_view, 7> kOfOthers{
      "decode/per_root_key",     "prefill/fixed",       "prefill/per_tile", "prefill/blend",
      "prefill/bandwidth_share", "prefill/write_share", "prefill/per_row"};
  const auto is_in = [&](const auto& names) { return std::find(names.begin(), names.end(), name) != names.end(); };
  if (name == "prefill/per_key") return layout == HeadLayout::swapped;
  return layout == HeadLayout::stacked ? !is_in(kOfOthers) : !is_in(kOfStacked);
}

template <class Fit>
void add_values(std::vector<double>& all, const Fit& fit) {
  for (const FitField<Fit>& f : fields_of(fit)) all.push_back(f.value(fit));
}

// The points' errors under one layout, and the coefficients that it has.
class AttentionErrors {
 public:
  AttentionErrors(const std::vector<AttentionPoint>& points, const Device& datasheet, HeadLayout layout)
      : points_(points), device_(without_fits(datasheet)), layout_(layout) {
    constexpr double kHold = 0.03;
    add_coefficients(coefficients_, DecodeAttentionFit{}, kHold, "decode/");
    of_decode_ = coefficients_.size();
    add_values(neutral_, DecodeAttentionFit{});
    add_values(neutral_, PrefillAttentionFit{});
    add_coefficients(coefficients_, PrefillAttentionFit{}, kHold, "prefill/");
    for (const Coefficient& c : coefficients_) fitted_.push_back(has_coefficient(layout, c.name));
    std::erase_if(coefficients_, [&](const Coefficient& c) { return !has_coefficient(layout, c.name); });
    weights_.resize(std::ssize(points));
    for (Eigen::Index i = 0; i < weights_.size(); ++i) {
      const AttentionPoint& p = points[at(i)];
      const bool in_l2 = p.cache == CacheState::repeated && cache_bytes(p) <= 2.0 * datasheet.l2;
      weights_[i] = p.context == 0 ? 1 : in_l2 ? kWeightInL2 : kWeightInMemory;
    }
  }

  AttentionFit fit_of(const std::vector<double>& fitted) const {
    std::vector<double> values = neutral_;
    for (std::size_t i = 0, next = 0; i < values.size(); ++i)
      if (fitted_[i]) values[i] = fitted[next++];
    const AttentionPoint& kernel = points_.front();
    AttentionFit f{kernel.library, kernel.format, form_of(kernel_of(kernel)), fit_of_values<DecodeAttentionFit>(values),
                   fit_of_values<PrefillAttentionFit>(values, of_decode_)};
    f.decode.blend = std::max(f.decode.blend, f.prefill.blend);
    f.prefill.layout = layout_;
    return f;
  }

  void operator()(const std::vector<double>& values, Eigen::VectorXd& errors) {
    device_.gpu().attention.fits.front() = fit_of(values);
    set_log_errors(errors, points_, [&](const AttentionPoint& p) { return predicted(device_, p); });
    errors.array() *= weights_.array();
  }

  FittedValues best(std::span<const double> starts) {
    return fitted(coefficients_, starts, std::ssize(points_), std::ref(*this));
  }
  double mean(const FittedValues& at) {
    Eigen::VectorXd errors(std::ssize(points_));
    (*this)(at.values, errors);
    return errors.cwiseAbs().mean();
  }

 private:
  const std::vector<AttentionPoint>& points_;
  Device device_;
  HeadLayout layout_;
  std::vector<Coefficient> coefficients_;
  std::size_t of_decode_ = 0;
  std::vector<double> neutral_;  // of every coefficient: what one that is not fitted has
  std::vector<bool> fitted_;
  Eigen::VectorXd weights_;
};

// The data decide, by a fit from one start each. What explains them hardly better than a plainer layout is chance.
HeadLayout layout_of(const std::vector<AttentionPoint>& points, const Device& datasheet) {
  constexpr double kPlainly = 0.98;
  HeadLayout best = HeadLayout::packed;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [name, layout] : kHeadLayouts) {
    if (layout == HeadLayout::stacked && !points.front().library.empty()) continue;  // our own kernels alone do that
    AttentionErrors errors(points, datasheet, layout);
    if (const double mean = errors.mean(errors.best(std::span(kSoftnessStarts).subspan(1, 1))); mean < kPlainly * least)
      least = mean, best = layout;
  }
  return best;
}

}  // namespace

AttentionFit fit_attention(const std::vector<AttentionPoint>& points, const Device& datasheet, FitSpread* spread,
                           std::optional<HeadLayout> layout) {
  check(!points.empty(), "a fit needs points");
  AttentionErrors errors(points, datasheet, layout ? *layout : layout_of(points, datasheet));
  const FittedValues best = errors.best(kSoftnessStarts);
  if (spread != nullptr) *spread = best.spread;
  return errors.fit_of(best.values);
}

namespace {

// The ops of which there are enough points to fit them by themselves.
std::vector<ElementOp> fitted_apart(const std::vector<CopyPoint>& points) {
  constexpr int kLeast = 4;
  std::vector<ElementOp> ops;
  for (const auto& [name, op] : kElementOps)
    if (std::ranges::count(points, op, &CopyPoint::op) >= kLeast) ops.push_back(op);
  return ops;
}

}  // namespace

CopyFit fit_copy(const std::vector<CopyPoint>& points, const Device& datasheet, FitSpread* spread) {
  check(!points.empty(), "a fit needs points");
  constexpr double kHold = 0.01;
  const std::vector<ElementOp> apart = fitted_apart(points);
  std::vector<Coefficient> coefficients;
  add_coefficients(coefficients, CopyFit{}, kHold);
  // Without ops of their own nothing is said of L2; with them one more launch costs what the cheapest of them does.
  if (apart.empty()) coefficients.pop_back();
  else coefficients.erase(coefficients.begin());
  for (const ElementOp op : apart)
    add_coefficients(coefficients, ElementwiseFit{}, kHold, std::string(name_of(kElementOps, op)) + "/");
  const auto fit_of = [&](std::vector<double> values) {
    if (apart.empty()) values.push_back(0);
    else values.insert(values.begin(), std::numeric_limits<double>::infinity());
    CopyFit f = fit_of_values<CopyFit>(values);
    const std::size_t shared = fields_of(f).size(), own = fields_of(ElementwiseFit{}).size();
    double fastest = 0;
    for (std::size_t i = 0; i < apart.size(); ++i) {
      const auto of_op = fit_of_values<ElementwiseFit>(values, shared + own * i);
      f.of[apart[i]] = of_op;
      f.fixed = std::min(f.fixed, of_op.fixed);
      fastest = std::max(fastest, of_op.l2_speed);
    }
    if (!apart.empty()) f.bandwidth_share = std::min(f.bandwidth_share, fastest);  // beyond which it moves no time
    return f;
  };
  Device d = without_fits(datasheet);
  const FittedValues best =
      fitted(coefficients, {}, std::ssize(points), [&](const std::vector<double>& v, Eigen::VectorXd& errors) {
        d.gpu().copy = fit_of(v);
        set_log_errors(errors, points, [&](const CopyPoint& p) { return predicted(d, p); });
      });
  if (spread != nullptr) *spread = best.spread;
  return fit_of(best.values);
}

}  // namespace draftline
