// SPDX-License-Identifier: Apache-2.0
#include "sim/serving_checks.h"

#include <map>
#include <set>
#include <vector>

namespace draftline {

namespace {

// A combination that can't be simulated, and the place of the value that is in the way.
struct Refusal {
  Reader in;
  std::string why;
};
using Refusals = std::vector<Refusal>;

// Features that are not modelled with data-parallel attention, or with a drafter on its own device.
void refuse_features(const Scenario& s, const Point& p, Refusals& all) {
  const ServingChoice& c = s.serving->choices[p.serving];
  const Reader root = s.document.root();
  const bool parts = s.parallel[p.parallel].attention_replicas > 1, stages = c.fleet.stages > 1,
             apart = c.fleet.prefill_replicas > 0;
  if (parts) {
    const auto refuse = [&](const Reader& in) { all.push_back({in, "is not modelled with data_parallel_attention"}); };
    if (stages) refuse(root.at("pipeline_parallel"));
    else if (apart) refuse(root.at("disaggregation"));
    else if (c.policy.kind != DraftPolicy::Kind::fixed) refuse(root.at("policy"));
    else if (c.limits.batching == Batching::static_batching) refuse(root.at("scheduler").at("static_batching"));
  }
  const char* beside = parts    ? "data_parallel_attention"
                       : stages ? "pipeline_parallel"
                       : apart  ? "disaggregation"
                                : nullptr;
  if (beside != nullptr && s.method(p).drafter_device)
    all.push_back({root.at(beside), "is not modelled with a drafter on its own device: remove one of the two"});
}

void refuse_stages(const Scenario& s, const Point& p, Refusals& all) {
  const int stages = s.serving->choices[p.serving].fleet.stages;
  if (stages == 1) return;
  const Reader in = s.document.root().at("pipeline_parallel");
  const Device& device = *s.devices[p.device];
  const TransformerShape& transformer = *s.transformers[p.transformer];
  if (!device.links.connects(2))
    all.push_back({in, device.name + " has no link data; a device file may contain or transfer them: \"links\" "
                                     "(docs/recipes/your_gpu.md)"});
  if (stages > transformer.layers()) all.push_back({in, "more stages than " + transformer.name + " has layers"});
}

// `policy` chooses among the draft lengths of chains; `lengths` may be those of an acceptance trace.
void refuse_method(Sweep& sweep, const Point& p, Refusals& all) {
  const Scenario& s = sweep.scenario();
  const Reader root = s.document.root();
  const MethodChoice& m = s.method(p);
  if (const auto mistake = sweep.mistake(p)) return all.push_back({*m.in, mistake->text});
  Setup setup = sweep.setup(p);
  setup.parallel = {};
  const Method& built = sweep.recordings().method(setup, m);
  const int depth = built.usual_depth();
  const bool chain = sweep.recordings().chain_length(setup, m) && built.drafts_ahead() == 0;
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

Refusals refusals(Sweep& sweep, const Point& p) {
  Refusals all;
  refuse_features(sweep.scenario(), p, all);
  refuse_stages(sweep.scenario(), p, all);
  refuse_method(sweep, p, all);
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

// Calls visit(point) for one point of each combination on which a refusal may depend, until it returns false.
template <class Visit>
void each_combination(const Scenario& s, Visit visit) {
  Point p{};
  for (p.engine = 0; p.engine < s.engines.size(); ++p.engine)
    for (p.method = 0; p.method < s.methods.size(); ++p.method)
      for (p.device = 0; p.device < s.devices.size(); ++p.device)
        for (p.transformer = 0; p.transformer < s.transformers.size(); ++p.transformer)
          for (p.parallel = 0; p.parallel < s.parallel.size(); ++p.parallel)
            for (p.serving = 0; p.serving < s.serving->choices.size(); ++p.serving)
              if (!visit(p)) return;
}

// Notes why the combinations can't be simulated, if none can.
void check_combinations(Sweep& sweep) {
  std::map<std::string, Refusal> all;  // by text and place
  bool any = false;
  each_combination(sweep.scenario(), [&](const Point& p) {
    const Refusals why = refusals(sweep, p);
    any = why.empty();
    if (!any)
      for (const Refusal& r : why) all.try_emplace(r.in.place() + r.why, r);
    return !any;
  });
  if (any) return;
  for (const auto& [key, refusal] : all) refusal.in.fail(refusal.why);
}

}  // namespace

void check_serving(Sweep& sweep) {
  check_prices(sweep.scenario());
  check_combinations(sweep);
}

std::optional<std::string> refuses_serving(Sweep& sweep, const Point& p) {
  const Refusals all = refusals(sweep, p);
  if (all.empty()) return std::nullopt;
  const Reader root = sweep.scenario().document.root();
  const std::string place = all.front().in.place(), whole = root.place();
  const std::string key = place.starts_with(whole) ? place.substr(whole.size()) : place;
  return key + ": " + all.front().why;
}

}  // namespace draftline
