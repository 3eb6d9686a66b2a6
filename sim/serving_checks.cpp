// SPDX-License-Identifier: Apache-2.0
#include "sim/serving_checks.h"

#include <algorithm>
#include <set>

namespace draftline {

namespace {

bool has_parts(const Scenario& s) {
  return std::ranges::any_of(s.parallel, [](const auto& p) { return p.attention_replicas > 1; });
}

// Notes features that are not modelled with data-parallel attention.
void check_parts(const Scenario& s) {
  if (!has_parts(s)) return;
  const Reader root = s.document.root();
  const auto refuse = [](const Reader& in) { in.fail("is not modelled with data_parallel_attention"); };
  for (const ServingChoice& c : s.serving->choices) {
    if (c.fleet.stages > 1) return refuse(root.at("pipeline_parallel"));
    if (c.fleet.prefill_replicas > 0) return refuse(root.at("disaggregation"));
    if (c.policy.kind != DraftPolicy::Kind::fixed) return refuse(root.at("policy"));
    if (c.limits.batching == Batching::static_batching) return refuse(root.at("scheduler").at("static_batching"));
  }
}

void check_prices(const Scenario& s) {
  const auto& prices = s.serving->prices.per_hour;
  if (prices.empty()) return;
  std::set<std::string> wanted;
  for (const auto& device : s.devices) wanted.insert(device->name);
  for (const MethodChoice& m : s.methods)
    if (m.drafter_device) wanted.insert(m.drafter_device->device->name);
  for (const std::string& device : wanted)
    if (!prices.contains(device)) s.document.root().at("prices").fail("lacks the price of " + device);
}

void check_stages(const Scenario& s) {
  for (const ServingChoice& c : s.serving->choices) {
    if (c.fleet.stages == 1) continue;
    const Reader at = s.document.root().at("pipeline_parallel");
    for (const auto& device : s.devices)
      if (!device->links.connects(2))
        at.fail(device->name +
                " has no link data; a device file may contain or transfer them: \"links\" (docs/recipes/your_gpu.md)");
    for (const auto& transformer : s.transformers)
      if (c.fleet.stages > transformer->layers()) at.fail("more stages than " + transformer->name + " has layers");
  }
}

void check_drafter_devices(const Scenario& s) {
  if (std::ranges::none_of(s.methods, [](const MethodChoice& m) { return m.drafter_device != nullptr; })) return;
  for (const ServingChoice& c : s.serving->choices) {
    const char* beside = has_parts(s)                   ? "data_parallel_attention"
                         : c.fleet.stages > 1           ? "pipeline_parallel"
                         : c.fleet.prefill_replicas > 0 ? "disaggregation"
                                                        : nullptr;
    if (beside == nullptr) continue;
    s.document.root().at(beside).fail("is not modelled with a drafter on its own device: remove one of the two");
    return;
  }
}

// `policy` chooses among the draft lengths of chains; `lengths` may be those of an acceptance trace.
void check_method(Sweep& sweep, const Point& p) {
  const Scenario& s = sweep.scenario();
  const Reader root = s.document.root();
  const MethodChoice& m = s.method(p);
  const Method& built = sweep.recordings().method(sweep.setup(p), m);
  const int depth = built.usual_depth();
  const bool chain = sweep.recordings().chain_length(sweep.setup(p), m) && built.drafts_ahead() == 0;
  const bool by_length = m.acceptance.table() != nullptr && m.acceptance.table()->by_length();
  for (const ServingChoice& c : s.serving->choices) {
    if (depth > 0) check_drafts(c.policy, depth, chain);
    if (c.policy.kind == DraftPolicy::Kind::oracle && by_length)
      root.at("policy").fail(
          "an oracle needs outcomes that do not depend on the draft length, unlike those of this \"table\"");
    if (c.policy.kind == DraftPolicy::Kind::confidence && m.acceptance.table() != nullptr)
      c.policy.place->fail("confidences require rates or a trace, not a \"table\"");
    if (c.workload.lengths_of_acceptance && m.acceptance.trace() == nullptr)
      root.at("workload").at("lengths").fail("requires an acceptance trace for every method");
  }
}

}  // namespace

void check_serving(Sweep& sweep) {
  const Scenario& s = sweep.scenario();
  check_parts(s);
  check_prices(s);
  check_stages(s);
  check_drafter_devices(s);
  Point p{};
  for (p.engine = 0; p.engine < s.engines.size(); ++p.engine)
    for (p.method = 0; p.method < s.methods.size(); ++p.method) check_method(sweep, p);
}

}  // namespace draftline
