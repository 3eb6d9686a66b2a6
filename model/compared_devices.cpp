// SPDX-License-Identifier: Apache-2.0
#include "model/compared_devices.h"

#include <algorithm>
#include <cmath>

#include "core/errors.h"
#include "model/cpu_fit.h"
#include "model/gpu_calibration.h"
#include "model/kernel_time.h"
#include "model/measured_work.h"

namespace draftline {

namespace {

std::string kind_of(const MeasuredPoint& p) {
  constexpr int kMostVerified = 64;  // rows of a sequence
  if (p.op != "attention") return p.op;
  if (p.at("rows") == 1) return "attention, decode";
  return p.at("rows") <= kMostVerified && p.at("context") > 0 ? "attention, verify" : "attention, prefill";
}

std::optional<Seconds> predicted_by(const Device& d, const MeasuredPoint& p) {
  if (const CpuModel* cpu = d.cpu()) {
    if (p.op != "gemm" && p.op != "attention" && !element_op_named(p.op)) return {};
    return predicted(*cpu, p);
  }
  Measured one;
  one.points = {p};
  const KernelTimes k = kernel_times(one, d);
  if (!k.gemms.empty()) return predicted(d, k.gemms[0]);
  if (!k.attention.empty()) return predicted(d, k.attention[0]);
  if (!k.copies.empty()) return predicted(d, k.copies[0]);
  if (k.all_reduce.empty()) return {};
  const LinkPoint& a = k.all_reduce[0];
  const LinkTable* table = d.links.find("nccl", Collective::all_reduce, a.ranks);  // what probes call
  return table ? std::optional(table->time(a.ranks, a.message)) : std::nullopt;
}

ComparedKind summed_up(std::string kind, const std::vector<const ComparedPoint*>& points) {
  ComparedKind k{std::move(kind), static_cast<int>(points.size()), {}, {}, {}, 0, 1};
  const auto n = static_cast<double>(points.size());
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
