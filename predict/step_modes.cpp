// SPDX-License-Identifier: Apache-2.0
#include "predict/step_modes.h"

#include "inputs/server_options.h"

namespace draftline {

namespace {

constexpr double kNoted = 0.01;  // share of a step; less is not worth a sentence

std::string in_graphs(Graphs g) {
  return g == Graphs::piecewise ? "in piecewise CUDA graphs"
         : g == Graphs::none    ? "without CUDA graphs"
                                : "in one CUDA graph";
}

std::string because(const ModeRule* rule) {
  return rule == nullptr || rule->because.empty() ? "" : " (" + rule->because + ")";
}

}  // namespace

ModeFacts mode_facts(const Setup& s, const MethodSpec& m) {
  const bool ordinary = !shares_keys(*s.transformer);
  return {.method = std::string(engine_name(m, *s.engine)),
          .attention = ordinary ? attention_library(s.engine->attention, s.device->links.compute_capability,
                                                    s.precision.kv_cache)
                                : "",
          .speculating = !m.is_plain(),
          .recurrent = s.transformer->states().has_value(),
          .experts = s.transformer->experts() != nullptr};
}

std::vector<std::string> mode_warnings(const Setup& s, const MethodSpec& m, PricedMethod& method,
                                       const DraftCounts& drafts) {
  if (m.is_plain() || !s.engine->graphs) return {};
  const int sequences = s.replica_sequences(), hits = method.uniform(drafts) ? sequences : sequences / 2;
  const double length = s.prompt_tokens + s.output_tokens / 2.0;
  const Engine& e = *s.engine;
  const ModeFacts facts = method.mode_facts(sequences, hits);
  ModeFacts of_plain = mode_facts(s, MethodSpec());
  of_plain.sequences = of_plain.rows = sequences;
  const StepMode plain = mode_of(e, of_plain), mode = mode_of(e, facts);
  std::vector<std::string> all;
  const auto add = [&](const std::string& what, const ModeRule* rule, StepMode better) {
    const Seconds time = method.time_in(mode, sequences, length),
                  cost = time - method.time_in(better, sequences, length);
    if (cost > kNoted * time)
      all.push_back(e.name + " " + e.version + " " + what + because(rule) + ": " + to_text(cost) + " of a step");
  };
  StepMode better = mode;
  if (mode.target < plain.target) {
    better.target = plain.target;
    if (!is_captured(e, facts.sequences, facts.rows)) {
      add("verifies more rows than the largest graph has, " + std::to_string(e.graph_sizes.back()), nullptr, better);
    } else {
      const ModeRule* rule = first_rule(facts.uniform ? e.modes.target : e.modes.mixed, facts, e.options);
      add("verifies " + in_graphs(mode.target) +
              (facts.uniform ? "" : " where sequences have different numbers of drafts"),
          rule, better);
    }
  }
  if (mode.drafter == Graphs::none && mode.target != Graphs::none) {
    better = mode;
    better.drafter = plain.target;
    add("drafts " + in_graphs(mode.drafter),
        e.options.eager_drafter ? nullptr : first_rule(e.modes.drafter, facts, e.options), better);
  }
  if (!mode.overlapped && plain.overlapped) {
    better = mode;
    better.overlapped = true;
    add("does not schedule the next step while the device computes", first_rule(e.modes.scheduling, facts, e.options),
        better);
  }
  return all;
}

}  // namespace draftline
