// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/gpu_calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>
#include <map>
#include <string>
#include <tuple>
#include <utility>

#include "core/fingerprint.h"
#include "core/int_indexed.h"
#include "model/calibration/measured_work.h"
#include "model/kernels/kernel_time.h"

namespace draftline {
namespace {

// More points cost time and change nothing.
constexpr std::size_t kMostGemms = 2500, kMostAttention = 4000, kMostExperts = 2500, kMostInFold = 1500;

template <class... Numbers>
int fold_of(Numbers... n) {
  Fingerprint f;
  (f.add(n), ...);
  return static_cast<int>(f.value() % kFitFolds);
}
// Left out together: weights of one shape, layouts of heads, whole layers of experts, and of elementwise work what
// moves as many bytes.
int fold_of(const GemmPoint& p) { return fold_of(p.out, p.in); }
int fold_of(const AttentionPoint& p) { return fold_of(p.heads, p.kv_heads); }
int fold_of(const ExpertPoint& p) { return fold_of(p.hidden, p.whole, p.experts, p.per_token); }
int fold_of(const DeltaNetPoint& p) { return fold_of(p.key_heads, p.value_heads); }
int fold_of(const StateSpacePoint& p) { return fold_of(p.kernel.columns); }
int fold_of(const StreamMixPoint& p) { return fold_of(p.kernel.hidden, p.kernel.streams); }
int fold_of(const CopyPoint& p) { return fold_of(p.bytes.value); }

// Fits four fifths and judges the rest, five times. `fit` puts what it finds into the device.
template <class Point, class Fit>
FitQuality quality_of(const std::string& op, const std::vector<Point>& all, const Device& datasheet, Fit fit) {
  std::vector<std::vector<double>> log_ratio(kFitFolds);
  for (int fold = 0; fold < kFitFolds; ++fold) {
    std::vector<Point> seen, unseen;
    for (const Point& p : all) (fold_of(p) == fold ? unseen : seen).push_back(p);
    if (seen.empty() || unseen.empty()) continue;
    Device d = datasheet;
    fit(d, thinned(seen, kMostInFold), nullptr);
    for (const Point& p : unseen) log_ratio[at(fold)].push_back(std::log(p.time / predicted(d, p)));
  }
  FitQuality q = judged(op, log_ratio);
  q.points = count(all);
  return q;
}

void put_gemm(Device& d, const std::vector<GemmPoint>& points, FitSpread* spread) {
  put_gemm(d, points.front().operands, fit_gemm(points, d, spread));
}
void put_copy(Device& d, const std::vector<CopyPoint>& points, FitSpread* spread) {
  d.gpu().copy = fit_copy(points, d, spread);
}

void put_experts(Device& d, const std::vector<ExpertPoint>& points, FitSpread* spread) {
  put_experts(d, points.front().operands, fit_experts(points, d, spread));
}

void put_delta_net(Device& d, const std::vector<DeltaNetPoint>& points, FitSpread* spread) {
  d.gpu().delta_net = fit_delta_net(points, d, spread);
}

void put_state_space(Device& d, const std::vector<StateSpacePoint>& points, FitSpread* spread) {
  d.gpu().state_space = fit_state_space(points, d, spread);
}

void put_residual_streams(Device& d, const std::vector<StreamMixPoint>& points, FitSpread* spread) {
  d.gpu().residual_streams = fit_residual_streams(points, d, spread);
}

// What attention is asked for, by which its errors are told apart.
enum class AttentionUse { decode_from_memory, decode_from_l2, verify, prompt, chunk };
constexpr std::array<const char*, 5> kUseNames{"cache over twice L2", "cache within twice L2",
                                               "up to 64 rows over a context", "prompts", "chunks of prompts"};
AttentionUse use_of(const AttentionPoint& p, const Device& d) {
  constexpr int kMostVerified = 64;
  if (p.rows == 1) {
    const bool memory = p.cache == CacheState::in_memory || cache_bytes(p) > 2 * d.l2;
    return memory ? AttentionUse::decode_from_memory : AttentionUse::decode_from_l2;
  }
  if (p.context == 0) return AttentionUse::prompt;
  return p.rows <= kMostVerified ? AttentionUse::verify : AttentionUse::chunk;
}

// Logarithms of measured over predicted of the points that were left out, by fold.
struct UseErrors {
  int points = 0;
  std::vector<std::vector<double>> log_ratio = std::vector<std::vector<double>>(kFitFolds);
};
using ErrorsByUse = std::map<AttentionUse, UseErrors>;

// The quality over all of `uses` together. Each of them that has points is added to `regimes`.
FitQuality quality_of_uses(const std::string& op, std::initializer_list<AttentionUse> uses, const ErrorsByUse& errors,
                           std::vector<FitQuality>& regimes) {
  UseErrors all;
  for (const AttentionUse use : uses) {
    const auto found = errors.find(use);
    if (found == errors.end()) continue;
    all.points += found->second.points;
    for (std::size_t fold = 0; fold < kFitFolds; ++fold) {
      const std::vector<double>& more = found->second.log_ratio[fold];
      all.log_ratio[fold].insert(all.log_ratio[fold].end(), more.begin(), more.end());
    }
    regimes.push_back(judged(op + ", " + kUseNames[at(use)], found->second.log_ratio));
    regimes.back().points = found->second.points;
  }
  FitQuality q = judged(op, all.log_ratio);
  q.points = all.points;
  return q;
}

// Points of one library over a cache of one format. A library's layout does not depend on the cache, so where it is
// known it is kept.
AttentionCalibration calibrated(const std::vector<AttentionPoint>& all, const Device& datasheet,
                                std::optional<HeadLayout> layout) {
  Device d = datasheet;
  AttentionCalibration c;
  ErrorsByUse of_use;
  for (const AttentionPoint& p : all) ++of_use[use_of(p, datasheet)].points;
  for (int fold = 0; fold < kFitFolds; ++fold) {
    std::vector<AttentionPoint> seen, unseen;
    for (const AttentionPoint& p : all) (fold_of(p) == fold ? unseen : seen).push_back(p);
    if (seen.empty() || unseen.empty()) continue;
    d.gpu().attention.fits = {fit_attention(thinned(seen, kMostInFold), datasheet, nullptr, layout)};
    for (const AttentionPoint& p : unseen)
      of_use[use_of(p, datasheet)].log_ratio[at(fold)].push_back(std::log(p.time / predicted(d, p)));
  }
  const auto named = [&](const char* use) {
    const auto& [library, format] = std::pair(all.front().library, all.front().format);
    const AttentionForm form = form_of(kernel_of(all.front()));
    const std::string_view called = name_of(kAttentionForms, form);
    const std::string of_latent = form == AttentionForm::ordinary ? "" : " (latent, " + std::string(called) + ")";
    return use + of_latent + (library.empty() ? "" : " of " + library) + " over " + std::string(name(format));
  };
  c.of_decode = quality_of_uses(named("decode attention"),
                                {AttentionUse::decode_from_memory, AttentionUse::decode_from_l2}, of_use, c.regimes);
  c.of_prefill = quality_of_uses(named("prefill attention"),
                                 {AttentionUse::verify, AttentionUse::prompt, AttentionUse::chunk}, of_use, c.regimes);
  FitSpread spread;
  c.fit = fit_attention(thinned(all, kMostAttention), datasheet, &spread, layout);
  note_spread(c.of_decode, spread);
  return c;
}

// Points are interpolated, not fitted: each between two others of its ranks is left out in its turn.
FitQuality quality_of(const LinkTable& table) {
  const std::vector<LinkPoint>& all = table.points;
  std::vector<std::vector<double>> log_ratio(kFitFolds);
  for (std::size_t i = 1; i + 1 < all.size(); ++i) {
    if (all[i - 1].ranks != all[i].ranks || all[i + 1].ranks != all[i].ranks) continue;
    LinkTable others = table;
    others.points.erase(others.points.begin() + static_cast<std::ptrdiff_t>(i));
    log_ratio[i % kFitFolds].push_back(std::log(all[i].time / others.time(all[i].ranks, all[i].message)));
  }
  FitQuality q = judged(std::string(name_of(kCollectives, table.collective)) + " of " + table.library, log_ratio);
  q.points = count(all);
  return q;
}

// Fits a kernel by its points, into `d`, and judges the fit.
template <class Point, class Put>
FitQuality put_judged(Device& d, const std::string& op, const std::vector<Point>& points, std::size_t most,
                      const Device& datasheet, Put put) {
  FitSpread spread;
  FitQuality quality = quality_of(op, points, datasheet, put);
  put(d, thinned(points, most), &spread);
  note_spread(quality, spread);
  return quality;
}

// Fits each format of narrow operands that has points, by itself.
template <class Fit, class Point, class Put, class Get>
std::vector<NarrowCalibration<Fit>> narrow_fits(const std::string& op,
                                                const std::array<std::vector<Point>, kNarrowFormats.size()>& points,
                                                std::size_t most, const Device& datasheet, Put put, Get get) {
  std::vector<NarrowCalibration<Fit>> all;
  for (const NarrowFormat format : kNarrowFormats) {
    const std::vector<Point>& here = points[at(format)];
    if (here.empty()) continue;
    Device d = datasheet;
    FitQuality quality = put_judged(d, op + ", " + std::string(name(format)), here, most, datasheet, put);
    all.push_back({format, *get(d.gpu())[format], std::move(quality)});
  }
  return all;
}

// The ops whose time is that of the bytes they move; drawing tokens is another matter.
bool moves_bytes(ElementOp op) { return op != ElementOp::sample; }

// What noise chooses is nearly even.
ExpertPoint expert_point(const MeasuredPoint& p, const Device& datasheet) {
  ExpertPoint e{.rows = p.at("rows"),
                .hidden = p.at("hidden"),
                .intermediate = p.at("intermediate"),
                .experts = p.at("experts"),
                .per_token = p.at("per_token"),
                .time = p.median,
                .whole = p.at("intermediate"),
                .routed = true};
  e.load = expected_load({.rows = e.rows,
                          .hidden = e.hidden,
                          .intermediate = e.intermediate,
                          .experts = e.experts,
                          .per_token = e.per_token});
  if (p.at("copies") > 1 && p.at("copies") * touched_weights(e) > 2 * datasheet.l2) e.state = CacheState::in_memory;
  return e;
}

}  // namespace

KernelTimes kernel_times(const Measured& m, const Device& datasheet) {
  constexpr DType kFormat = DType::bf16;
  constexpr std::ptrdiff_t kLeastApart = 8;  // fewer layers of experts, or latents, are no fit of their own
  KernelTimes times;
  LinkTable nccl{"nccl", Collective::all_reduce, {}, {}};
  for (const MeasuredPoint& p : m.points) {
    if (!p.skipped.empty()) continue;
    if (p.op == "gemm") {
      times.gemms.push_back({p.at("rows"), p.at("in"), p.at("out"), p.median, p.at("copies")});
    } else if (p.op == "attention") {
      AttentionPoint a{p.at("sequences"), p.at("rows"),     p.at("context"), p.at("heads"),
                       p.at("kv_heads"),  p.at("head_dim"), p.median,        p.at("tree") != 0};
      if (p.at("copies", 1) * cache_bytes(a) > 2 * datasheet.l2 && p.at("copies", 1) > 1)
        a.cache = CacheState::in_memory;
      times.attention.push_back(a);
    } else if (p.op == "latent_attention") {
      AttentionPoint a{p.at("sequences"),           p.at("rows"), p.at("context"), p.at("heads"), 1,
                       p.at("rank") + p.at("rope"), p.median};
      a.value_dim = p.at("rank");
      a.latent = true;
      if (p.at("copies") * cache_bytes(a) > 2 * datasheet.l2 && p.at("copies") > 1) a.cache = CacheState::in_memory;
      times.attention.push_back(a);
    } else if (p.op == "experts") {
      times.experts.push_back(expert_point(p, datasheet));
    } else if (p.op == "all_reduce") {
      nccl.points.push_back({p.at("ranks"), Bytes{1024.0 * p.at("kib")}, p.median});
    } else if (const auto op = value_named(kElementOps, p.op); op && moves_bytes(*op)) {
      times.copies.push_back({work(copy_of(*op, p, kFormat)).bytes(), p.median, *op});
    } else if (p.op == "copy") {
      times.copies.push_back({Bytes{2 * 1024.0 * p.at("kib")}, p.median});
    }
  }
  const auto is_latent = [](const AttentionPoint& a) { return a.latent; };
  if (std::count_if(times.attention.begin(), times.attention.end(), is_latent) < kLeastApart)
    std::erase_if(times.attention, is_latent);
  if (std::ssize(times.experts) < kLeastApart) times.experts.clear();
  std::sort(nccl.points.begin(), nccl.points.end(), [](const LinkPoint& a, const LinkPoint& b) {
    return std::pair(a.ranks, a.message) < std::pair(b.ranks, b.message);
  });
  if (!nccl.points.empty()) times.links.push_back(std::move(nccl));
  return times;
}

GpuCalibration calibrate_gpu(const KernelTimes& times, const Device& datasheet, const std::string& from) {
  const auto none = [](const auto& points) { return points.empty(); };
  if (times.gemms.empty() && times.attention.empty() && times.copies.empty() && times.links.empty() &&
      times.experts.empty() && times.delta_nets.empty() && times.state_spaces.empty() &&
      times.residual_streams.empty() && std::all_of(times.narrow_gemms.begin(), times.narrow_gemms.end(), none) &&
      std::all_of(times.narrow_experts.begin(), times.narrow_experts.end(), none))
    throw InputErrors(from + ": has no times of a GPU's kernels in the model's domain");
  GpuCalibration c;
  Device d = datasheet;
  const auto gemm_of = [](Device& at, const std::vector<GemmPoint>& p, FitSpread* s) { put_gemm(at, p, s); };
  const auto experts_of = [](Device& at, const std::vector<ExpertPoint>& p, FitSpread* s) { put_experts(at, p, s); };
  if (!times.gemms.empty()) {
    c.of_gemm = put_judged(d, "gemm", times.gemms, kMostGemms, datasheet, gemm_of);
    c.gemm = d.gpu().gemm;
  }
  std::map<std::tuple<AttentionForm, int, std::string>, std::vector<AttentionPoint>> by_kernel;
  for (const AttentionPoint& p : times.attention)
    by_kernel[{form_of(kernel_of(p)), -bits_of(p.format), p.library}].push_back(p);
  std::map<std::pair<std::string, AttentionForm>, HeadLayout> layouts;
  for (const auto& [kernel, points] : by_kernel) {
    const std::pair kernel_of_library{std::get<std::string>(kernel), std::get<AttentionForm>(kernel)};
    const auto known = layouts.find(kernel_of_library);
    c.attention.push_back(
        calibrated(points, datasheet, known == layouts.end() ? std::nullopt : std::optional(known->second)));
    layouts.emplace(kernel_of_library, c.attention.back().fit.prefill.layout);
  }
  for (const LinkTable& table : times.links) c.links.push_back({table, quality_of(table)});
  if (!times.experts.empty()) {
    c.of_experts = put_judged(d, "experts", times.experts, kMostExperts, datasheet, experts_of);
    c.experts = d.gpu().experts;
  }
  if (!times.delta_nets.empty()) {
    c.of_delta_net =
        put_judged(d, "delta networks", times.delta_nets, times.delta_nets.size(), datasheet, put_delta_net);
    c.delta_net = d.gpu().delta_net;
  }
  if (!times.state_spaces.empty()) {
    c.of_state_space =
        put_judged(d, "state spaces", times.state_spaces, times.state_spaces.size(), datasheet, put_state_space);
    c.state_space = d.gpu().state_space;
  }
  if (!times.residual_streams.empty()) {
    c.of_residual_streams = put_judged(d, "residual streams", times.residual_streams, times.residual_streams.size(),
                                       datasheet, put_residual_streams);
    c.residual_streams = d.gpu().residual_streams;
  }
  c.narrow_gemms = narrow_fits<GemmFit>(
      "gemm", times.narrow_gemms, kMostGemms, datasheet, gemm_of, [](GpuModel & g) -> auto& { return g.narrow_gemm; });
  c.narrow_experts = narrow_fits<ExpertFit>(
      "experts", times.narrow_experts, kMostExperts, datasheet, experts_of,
      [](GpuModel & g) -> auto& { return g.narrow_experts; });
  if (times.copies.empty()) return c;
  c.of_copy = put_judged(d, "elementwise", times.copies, times.copies.size(), datasheet, put_copy);
  c.copy = d.gpu().copy;
  return c;
}

}  // namespace draftline
