// SPDX-License-Identifier: Apache-2.0
#include "sim/serving_checks.h"

#include <set>
#include <vector>

namespace draftline {

namespace {

// What is in the way of a combination, with the places of the values.
using Mistakes = std::vector<PlacedMistake>;

// Features that are not modelled with data-parallel attention, or with a drafter on its own device.
void refuse_features(const Scenario& s, const Point& p, Mistakes& all) {
  const ServingChoice& c = s.serving->choices[p.serving];
  const Reader root = s.document.root();
  const bool parts = s.parallel[p.parallel].attention_replicas > 1, stages = c.fleet.stages > 1,
             apart = c.fleet.prefill_replicas > 0;
  if (parts) {
    const auto refuse = [&](const Reader& in) { all.push_back({in, "is not modelled with data_parallel_attention"}); };
    if (stages) refuse(root.at("pipeline_parallel"));
    else if (c.policy.kind != DraftPolicy::Kind::fixed) refuse(root.at("policy"));
    else if (c.limits.batching == Batching::static_batching) refuse(root.at("scheduler").at("static_batching"));
    else if (c.limits.receive_interval > 1) refuse(root.at("scheduler").at("scheduler_recv_interval"));
    else if (c.limits.prompt_wait.steps > 0) refuse(root.at("scheduler").at("batch_wait_timeout_iters"));
  }
  if (!parts && c.limits.attention_dp_timeout > 0)
    all.push_back({root.at("scheduler").at("attention_dp_timeout_iters"), "needs data_parallel_attention"});
  const char* beside = parts    ? "data_parallel_attention"
                       : stages ? "pipeline_parallel"
                       : apart  ? "disaggregation"
                                : nullptr;
  if (beside != nullptr && s.method(p).drafter_device)
    all.push_back({root.at(beside), "is not modelled with a drafter on its own device: remove one of the two"});
}

void refuse_stages(const Scenario& s, const Point& p, Mistakes& all) {
  const int stages = s.serving->choices[p.serving].fleet.stages;
  if (stages == 1) return;
  const Reader in = s.document.root().at("pipeline_parallel");
  const Device& device = *s.devices[p.device];
  const TransformerShape& transformer = *s.transformers[p.transformer];
  if (!device.links.connects(2))
    all.push_back({in, device.name + " has no link data; a device file may contain or transfer them: \"links\" "
                                     "(docs/recipes/your_gpu.md)"});
  if (stages > transformer.layers()) all.push_back({in, "has more stages than " + transformer.name + " has layers"});
}

// Of a method that its network can have. `policy` chooses among the draft lengths of chains; `lengths` may be those of
// an acceptance trace.
void refuse_method(Sweep& sweep, const Point& p, Mistakes& all) {
  const Scenario& s = sweep.scenario();
  const Reader root = s.document.root();
  const MethodChoice& m = s.method(p);
  Setup setup = sweep.setup(p);
  setup.parallel = {};
  const Method& built = sweep.recordings().method(setup, m);
  const int depth = built.usual_depth();
  const bool chain = sweep.recordings().chain_length(setup, m) && built.window() == 0;
  const bool by_length = m.acceptance.table() != nullptr && m.acceptance.table()->by_length();
  const ServingChoice& c = s.serving->choices[p.serving];
  if (depth > 0)
    for (const PlacedMistake& mistake : mistakes_of_drafts(c.policy, depth, chain))
      all.push_back({mistake.in, mistake.text});
  if (c.policy.kind == DraftPolicy::Kind::oracle && by_length)
    all.push_back({root.at("policy"),
                   "an oracle needs outcomes that do not depend on the draft length, unlike those of this \"table\""});
  if (c.policy.kind == DraftPolicy::Kind::confidence && m.acceptance.table() != nullptr)
    all.push_back({*c.policy.place, "confidences require rates or a trace, not a \"table\""});
  if (c.workload.lengths_of_acceptance && m.acceptance.trace() == nullptr)
    all.push_back({root.at("workload").at("lengths"), "requires an acceptance trace for every method"});
}

Mistakes refusals(Sweep& sweep, const Point& p) {
  Mistakes all = sweep.refusals(p);
  refuse_features(sweep.scenario(), p, all);
  refuse_stages(sweep.scenario(), p, all);
  if (!sweep.mistake(p)) refuse_method(sweep, p, all);
  return all;
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

}  // namespace

void check_serving(Sweep& sweep) {
  const Scenario& s = sweep.scenario();
  check_prices(s);
  note_unless_some_run(s, s.serving->choices.size(), [&](const Point& p) { return refusals(sweep, p); });
}

std::optional<std::string> refuses_serving(Sweep& sweep, const Point& p) {
  const Mistakes all = refusals(sweep, p);
  if (all.empty()) return std::nullopt;
  const Reader root = sweep.scenario().document.root();
  const std::string place = all.front().in.place(), whole = root.place();
  const std::string key = place.starts_with(whole) ? place.substr(whole.size()) : place;
  return key + ": " + all.front().text;
}

}  // namespace draftline
