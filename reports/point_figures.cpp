// SPDX-License-Identifier: Apache-2.0
#include "reports/point_figures.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

namespace draftline {

namespace {

// Prompt or output tokens of a point: those of its workload, as a number where they are one, else the scenario's.
Reading lengths_of(const PointOf& p, int scenarios, std::string ServingChoice::*of_workload) {
  if (!p.scenario.serving) return scenarios;
  const std::string& own = p.scenario.serving->choices[p.point.serving].*of_workload;
  if (own.empty()) return scenarios;
  const auto parsed = nlohmann::json::parse(own, nullptr, false);
  return parsed.is_number_integer() ? Reading(parsed.get<std::int64_t>()) : Reading(own);
}

// Whether an acceptance is of a trace that a random target or drafter left.
bool traced_on_random_weights(const Scenario& s) {
  return std::ranges::any_of(s.methods, [](const MethodChoice& m) {
    const Trace* trace = m.acceptance.trace();
    return trace != nullptr && !trace->header().random_weights().empty();
  });
}

// Whether an acceptance was measured on another target than one of the scenario's.
bool borrows_acceptance(const Scenario& s) {
  return std::ranges::any_of(s.methods, [&](const MethodChoice& m) {
    return std::ranges::any_of(s.transformers,
                               [&](const auto& shape) { return m.acceptance.other_target(*shape).has_value(); });
  });
}

}  // namespace

bool differ_in_acceptance(const Scenario& s) {
  std::set<std::pair<std::string, std::optional<int>>> seen;
  return std::ranges::any_of(
      s.methods, [&](const MethodChoice& m) { return !seen.emplace(m.spec.label(), m.spec.draft_length()).second; });
}

Figures<PointOf> point_figures(const Scenario* of) {
  using P = const PointOf&;
  using S = const Scenario&;
  using Tree = nlohmann::json;
  const auto differ = [](auto field) {
    return [field](S s) {
      return std::ranges::any_of(s.parallel,
                                 [&](const Parallelism& one) { return one.*field != s.parallel.front().*field; });
    };
  };
  const auto replicated = [](S s) {
    return std::ranges::any_of(s.parallel, [](const auto& one) { return one.attention_replicas > 1; });
  };
  const auto has_whole_experts = [](S s) {
    return std::ranges::any_of(s.parallel, [](const auto& one) { return one.expert_parallel; });
  };
  const auto says_balancedness = [](S s) { return s.parallel.front().expert_balancedness > 0; };
  const auto several = [](auto list) { return [list](S s) { return (s.*list).size() > 1; }; };
  Figures<PointOf> all{
      // clang-format off
      {"device", "device", "device", "", {}, [](P p) { return p.scenario.devices[p.point.device]->name; },
       "GPU or CPU", {.show_if = several(&Scenario::devices)}},
      {"tensor_parallel", "tensor_parallel", "TP", "", {},
       [](P p) { return p.scenario.parallel[p.point.parallel].devices; },
       "devices that share each layer", {.show_if = differ(&Parallelism::devices)}},
      {"data_parallel_attention", "data_parallel_attention", "DP", "", {},
       [replicated](P p) {
         const int replicas = p.scenario.parallel[p.point.parallel].attention_replicas;
         return replicated(p.scenario) ? Reading(replicas) : Reading();
       },
       "groups of these devices that serve separate sequences, if the scenario has them",
       {.show_if = differ(&Parallelism::attention_replicas), .in_csv_if = replicated}},
      {"expert_parallel", "expert_parallel", "EP", "", {},
       [has_whole_experts](P p) {
         const Parallelism& one = p.scenario.parallel[p.point.parallel];
         if (!has_whole_experts(p.scenario)) return Reading();
         return one.expert_tensor > 1 ? Reading(one.expert_groups()) : Reading(one.expert_parallel);
       },
       "whether each device holds whole experts, or the number of groups that do, if the scenario states it",
       {.show_if = [=](S s) { return differ(&Parallelism::expert_parallel)(s) || differ(&Parallelism::expert_tensor)(s); },
        .in_csv_if = has_whole_experts}},
      {"expert_balancedness", "expert_balancedness", "balancedness", "", {},
       [](P p) {
         const double balanced = p.scenario.parallel[p.point.parallel].expert_balancedness;
         return balanced > 0 ? Reading(balanced) : Reading();
       },
       "mean over maximum of the rows per device, if the scenario states it",
       {.show_if = differ(&Parallelism::expert_balancedness), .in_csv_if = says_balancedness}},
      {"transformer", "transformer", "transformer", "", {},
       [](P p) { return p.scenario.transformers[p.point.transformer]->name; },
       "the target", {.show_if = several(&Scenario::transformers)}},
      {"precision", "precision", "precision", "", {},
       [](P p) { return precision_at(p.scenario, p.point).name; },
       "format of the weights, and other formats that the scenario "
       "states", {.show_if = several(&Scenario::precisions)}},
      {"engine", "engine", "engine", "", {}, [](P p) { return version_of(*p.scenario.engines[p.point.engine]); },
       "serving engine and its version", {.show_if = several(&Scenario::engines)}},
      {"", "method", "method", "", {}, [](P p) { return p.method().spec.label(); },
       "name and parameters of the method"},
      {"method", "", "", "", {}, [](P p) { return p.method().spec.name(); },
       "name of the method"},
      {"draft_length", "draft_length", "k", "", {},
       [](P p) { const auto k = p.method().spec.draft_length(); return k ? Reading(*k) : Reading(nullptr); },
       "draft length: tokens drafted per sequence and step; empty for a method with a tree or a block"},
      {"parameters", "", "", "", {},
       [](P p) {
         const Tree& own = p.method().spec.parameters();
         return own.empty() ? Reading() : Reading(std::make_shared<const Tree>(own));
       },
       "parameters of the method"},
      {"acceptance", "acceptance", "acceptance", "", {},
       [](P p) {
         const std::string& text = p.method().acceptance.text();
         return text.empty() ? Reading() : Reading(std::make_shared<const Tree>(Tree::parse(text)));
       },
       "the scenario's acceptance; tables show it if methods differ in nothing else",
       {.show_if = differ_in_acceptance}},
      {"random_weights", "random_weights", "random weights", "", {},
       [](P p) {
         const Trace* trace = p.method().acceptance.trace();
         const std::string which = trace ? trace->header().random_weights() : "";
         return which.empty() ? Reading() : Reading(which);
       },
       "networks that had random weights when the acceptance trace was recorded; absent without any",
       {.show_if = traced_on_random_weights, .in_csv_if = traced_on_random_weights}},
      {"borrowed_from", "borrowed_from", "acceptance of", "", {},
       [](P p) {
         const Acceptance& own = p.method().acceptance;
         return own.other_target(*p.scenario.transformers[p.point.transformer]) ? Reading(own.trace()->header().target)
                                                                                : Reading();
       },
       "the network on which the acceptance trace was recorded, if it is not the target; absent without any",
       {.show_if = borrows_acceptance, .in_csv_if = borrows_acceptance}},
      {"prompt_tokens", "prompt_tokens", "prompt", "", {},
       [](P p) { return lengths_of(p, p.scenario.prompt_tokens[p.point.prompt], &ServingChoice::prompt_lengths); },
       "tokens of the prompt, or the lengths of the workload if it has its own",
       {.show_if = several(&Scenario::prompt_tokens)}},
      {"output_tokens", "output_tokens", "output", "", {},
       [](P p) { return lengths_of(p, p.scenario.output_tokens[p.point.output], &ServingChoice::output_lengths); },
       "tokens of the output, or the lengths of the workload if it has its "
       "own", {.show_if = several(&Scenario::output_tokens)}},
      // clang-format on
  };
  // clang-format off
  if (!of || !of->serving) {
    all.push_back({"batch_size", "batch_size", "batch", "", {},
                   [](P p) { return p.scenario.batch_sizes[p.point.batch]; },
                   "sequences in one step; absent with a workload"});
    return all;
  }
  const std::vector<std::string>& axes = of->serving->axes;
  for (std::size_t i = 0; i < axes.size(); ++i)
    all.push_back({axes[i], axes[i], axes[i], "", {},
                   [i](P p) { return p.scenario.serving->choices[p.point.serving].varying[i]; },
                   "a value that varies in the workload, the scheduler or the policy"});
  // clang-format on
  return all;
}

}  // namespace draftline
