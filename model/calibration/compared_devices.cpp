// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/compared_devices.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "model/calibration/cpu_fit.h"
#include "model/calibration/measured_work.h"
#include "model/kernels/kernel_time.h"

namespace draftline {

namespace {

std::string kind_of(const MeasuredPoint& p) {
  constexpr int kMostVerified = 64;  // rows of a sequence
  if (p.op != "attention") return p.op;
  if (p.at("rows") == 1) return "attention, decode";
  return p.at("rows") <= kMostVerified && p.at("context") > 0 ? "attention, verify" : "attention, prefill";
}

// The prediction by the device's table of the same library.
std::optional<Seconds> predicted_by(const Device& d, const LinkTable& measured, const LinkPoint& p) {
  const LinkTable* table = d.links.find(measured.library, measured.collective, p.ranks);
  return table ? std::optional(d.links.time(*table, p.ranks, p.message)) : std::nullopt;
}

std::optional<Seconds> predicted_by(const Device& d, const MeasuredPoint& p) {
  if (const CpuModel* cpu = d.cpu()) {
    if (p.op != "gemm" && p.op != "attention" && !value_named(kElementOps, p.op)) return {};
    return predicted(*cpu, p);
  }
  Measured one;
  one.points = {p};
  const KernelTimes k = kernel_times(one, d);
  if (!k.gemms.empty()) return predicted(d, k.gemms[0]);
  if (!k.attention.empty()) return predicted(d, k.attention[0]);
  if (!k.copies.empty()) return predicted(d, k.copies[0]);
  if (k.links.empty()) return {};
  return predicted_by(d, k.links[0], k.links[0].points[0]);
}

MeasuredPoint point(const char* op, std::map<std::string, int> shape, Seconds time) {
  return {op, std::move(shape), time, time, time, 1, 0, {}};
}
MeasuredPoint described(const GemmPoint& p) {
  return point("gemm", {{"rows", p.rows}, {"in", p.in}, {"out", p.out}, {"copies", p.copies}}, p.time);
}
MeasuredPoint described(const AttentionPoint& p) {
  return point("attention",
               {{"sequences", p.sequences},
                {"rows", p.rows},
                {"context", p.context},
                {"heads", p.heads},
                {"kv_heads", p.kv_heads},
                {"head_dim", p.head_dim},
                {"tree", p.masked ? 1 : 0}},
               p.time);
}
MeasuredPoint described(const ExpertPoint& p) {
  return point("experts",
               {{"rows", p.rows},
                {"hidden", p.hidden},
                {"columns", p.intermediate},
                {"experts", p.experts},
                {"per_token", p.per_token}},
               p.time);
}
MeasuredPoint described(const CausalConvolution& k, Seconds time) {
  return point(k.prompts ? "convolution, prompts" : "convolution, a step",
               {{"sequences", k.sequences}, {"rows", k.rows}, {"columns", k.columns}}, time);
}
MeasuredPoint described(const DeltaRule& k, Seconds time) {
  return point(
      k.prompts ? "delta rule, prompts" : "delta rule, a step",
      {{"sequences", k.sequences}, {"rows", k.rows}, {"key_heads", k.key_heads}, {"value_heads", k.value_heads}}, time);
}
MeasuredPoint described(const DeltaNetPoint& p) {
  return std::visit([&](const auto& k) { return described(k, p.time); }, p.kernel);
}
MeasuredPoint described(const StateSpacePoint& p) { return described(p.kernel, p.time); }
MeasuredPoint described(const StreamMixPoint& p) {
  return point(p.kernel.spreads ? "residual streams, spread" : "residual streams, joined",
               {{"rows", p.kernel.rows}, {"hidden", p.kernel.hidden}, {"streams", p.kernel.streams}}, p.time);
}
MeasuredPoint described(const LinkTable& table, const LinkPoint& p) {
  const auto bytes = static_cast<int>(std::min(p.message.value, double{1 << 30}));
  return point(table.collective == Collective::all_reduce ? "all_reduce" : "all_gather",
               {{"ranks", p.ranks}, {"bytes", bytes}}, p.time);
}

// The points that both devices predict, one by one.
class Compared {
 public:
  Compared(const Device& first, const Device& second) : first_(first), second_(second) {}

  template <class Points>
  void add(const Points& points, const std::string& more = {}) {
    for (const auto& p : points) add(described(p), more, predicted(first_, p), predicted(second_, p));
  }
  void add(const LinkTable& table) {
    for (const LinkPoint& p : table.points) {
      const auto a = predicted_by(first_, table, p), b = predicted_by(second_, table, p);
      if (a && b) add(described(table, p), table.library == "nccl" ? "" : ", " + table.library, *a, *b);
    }
  }
  std::vector<ComparedPoint> all;

 private:
  void add(const MeasuredPoint& p, const std::string& more, Seconds first, Seconds second) {
    all.push_back({kind_of(p) + more, p, {first, second}});
  }
  const Device &first_, &second_;
};

ComparedKind summed_up(std::string kind, const std::vector<const ComparedPoint*>& points) {
  ComparedKind k{std::move(kind), count(points), {}, {}, {}, 0, 1};
  const double n = count(points);
  for (std::size_t d = 0; d < 2; ++d) {
    std::vector<double> errors;
    double logs = 0;
    for (const ComparedPoint* p : points) {
      const double ratio = p->predicted[d] / p->point.median;
      errors.push_back(std::abs(ratio - 1));
      logs += std::log(ratio) / n;
    }
    k.median[d] = quantile(errors, 0.5);
    k.p90[d] = quantile(errors, 0.9);
    k.bias[d] = std::exp(logs);
  }
  std::vector<double> apart;
  for (const ComparedPoint* p : points) apart.push_back(std::abs(p->predicted[0] / p->predicted[1] - 1));
  k.apart = quantile(apart, 0.5);
  k.ratio = k.bias[0] / k.bias[1];
  return k;
}

}  // namespace

std::vector<ComparedPoint> compare_devices(const Measured& m, const Device& first, const Device& second) {
  for (const Device* d : {&first, &second})
    if ((d->cpu() != nullptr) != (m.device == "cpu"))
      throw InputErrors(m.file.string() + ": was measured on a " + (m.device == "cpu" ? "CPU" : "GPU") + ", and " +
                        d->name + " is none");
  std::vector<ComparedPoint> all;
  for (const MeasuredPoint& p : m.points) {
    if (!p.skipped.empty()) continue;
    const auto a = predicted_by(first, p), b = predicted_by(second, p);
    if (a && b) all.push_back({kind_of(p), p, {*a, *b}});
  }
  return all;
}

std::vector<ComparedPoint> compare_devices(const KernelTimes& times, const std::filesystem::path& from,
                                           const Device& first, const Device& second) {
  for (const Device* d : {&first, &second})
    if (d->cpu() != nullptr) throw InputErrors(from.string() + ": holds times of a GPU, and " + d->name + " is a CPU");
  Compared compared(first, second);
  compared.add(times.gemms);
  std::map<DType, std::vector<AttentionPoint>> by_cache;
  for (const AttentionPoint& p : times.attention) by_cache[p.format].push_back(p);
  for (const auto& [cache, points] : by_cache)
    compared.add(points, cache == DType::bf16 ? "" : ", cache in " + std::string(name(cache)));
  const auto both_have = [&](const Operands& o) {
    return expert_fit(first, o).fit != nullptr && expert_fit(second, o).fit != nullptr;
  };
  if (both_have({})) compared.add(times.experts);
  for (const NarrowFormat format : kNarrowFormats) {
    const std::string more = ", " + std::string(name(format));
    compared.add(times.narrow_gemms[at(format)], more);
    if (both_have(operands_of(format))) compared.add(times.narrow_experts[at(format)], more);
  }
  const auto both = [&](const auto& has) { return has(first.gpu()) && has(second.gpu()); };
  if (both([](const GpuModel& g) { return g.delta_net.has_value(); })) compared.add(times.delta_nets);
  if (both([](const GpuModel& g) { return g.state_space || g.delta_net; }))
    compared.add(times.state_spaces, " of state spaces");
  if (both([](const GpuModel& g) { return g.residual_streams.has_value(); })) compared.add(times.residual_streams);
  for (const LinkTable& table : times.links) compared.add(table);
  return std::move(compared.all);
}

std::vector<ComparedKind> by_kind(const std::vector<ComparedPoint>& points) {
  std::vector<std::pair<std::string, std::vector<const ComparedPoint*>>> kinds;
  std::vector<const ComparedPoint*> whole;
  for (const ComparedPoint& p : points) {
    auto it = std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.first == p.kind; });
    if (it == kinds.end()) it = kinds.insert(kinds.end(), {p.kind, {}});
    it->second.push_back(&p);
    whole.push_back(&p);
  }
  std::vector<ComparedKind> all;
  for (const auto& [kind, of_kind] : kinds) all.push_back(summed_up(kind, of_kind));
  if (kinds.size() > 1) all.push_back(summed_up("all", whole));
  return all;
}

}  // namespace draftline
