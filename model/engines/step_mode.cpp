// SPDX-License-Identifier: Apache-2.0
#include "model/engines/step_mode.h"

#include <algorithm>

#include "model/devices/origin.h"
#include "model/engines/engine_fields.h"

namespace draftline {

namespace {

std::vector<ModeRule> read_rules(const Reader& in, std::string_view list, std::vector<std::string>& guesses) {
  std::vector<ModeRule> rules;
  for (const Reader& row : in.items()) {
    ModeRule rule;
    read_row(mode_rule_fields(), row, rule);
    const Reader mode = row.at("mode");
    if (list == "cudagraph_mode") mode.value_in(kCudagraphModes);
    else if (list == "scheduling") mode.word(kScheduling);
    else mode.value_in(kGraphs);
    if (read_profile_origin(row)) guesses.push_back("modes/" + std::string(list));
    if (const auto because = row.find("because")) rule.because = because->text();
    row.done();
    rules.push_back(std::move(rule));
  }
  return rules;
}

bool same(const std::optional<bool>& wanted, bool is) { return !wanted || *wanted == is; }
bool among(const std::vector<std::string>& names, const std::string& name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

std::string_view text(Graphs g) { return kGraphs[static_cast<std::size_t>(g)].name; }
std::string_view text(const CudagraphMode& mode) {
  return std::find_if(kCudagraphModes.begin(), kCudagraphModes.end(), [&](const auto& m) { return m.value == mode; })
      ->name;
}

bool ModeRule::holds(const ModeFacts& f, const ModeOptions& o) const {
  return among(methods, f.method) && among(attention, f.attention) && same(speculating, f.speculating) &&
         same(looks_up, f.looks_up) && same(recurrent, f.recurrent) && same(experts, f.experts) &&
         same(lengths_by_batch, o.lengths_by_batch) && (!requested || o.overlap == requested);
}

const ModeRule* first_rule(const std::vector<ModeRule>& rules, const ModeFacts& facts, const ModeOptions& options) {
  const auto rule =
      std::find_if(rules.begin(), rules.end(), [&](const ModeRule& r) { return r.holds(facts, options); });
  return rule == rules.end() ? nullptr : &*rule;
}

Graphs graphs_of(const ModeRule* rule) {
  return rule == nullptr ? Graphs::full : value_named(kGraphs, rule->mode).value_or(Graphs::full);
}

EngineModes read_engine_modes(const Reader& in, std::vector<std::string>& guesses) {
  EngineModes modes;
  const auto read = [&](std::string_view list, std::vector<ModeRule>& to) {
    if (const auto rows = in.find(list)) to = read_rules(*rows, list, guesses);
  };
  read("cudagraph_mode", modes.cudagraph_mode);
  read("target", modes.target);
  read("mixed", modes.mixed);
  read("drafter", modes.drafter);
  read("scheduling", modes.scheduling);
  in.done();
  return modes;
}

}  // namespace draftline
