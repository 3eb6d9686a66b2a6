// SPDX-License-Identifier: Apache-2.0
#include "reports/engine_settings.h"

#include <algorithm>
#include <array>

namespace draftline {

namespace {

struct Names {
  std::string_view method, vllm, sglang;  // "": the engine has none
  bool parallel = false;                  // vLLM: by "parallel_drafting"
};
constexpr std::array<Names, 15> kNames{{{"eagle1", "eagle", "EAGLE"},
                                        {"eagle2", "eagle", "EAGLE"},
                                        {"hass", "eagle", "EAGLE"},
                                        {"eagle3", "eagle3", "EAGLE3"},
                                        {"eagle3_1", "eagle3", "EAGLE3"},
                                        {"p_eagle", "eagle3", "", true},
                                        {"draft_model", "draft_model", "STANDALONE"},
                                        {"pard", "draft_model", "", true},
                                        {"dflash", "dflash", "DFLASH"},
                                        {"dspark", "dspark", ""},
                                        {"dflash2", "dflash", "DFLASH"},
                                        {"medusa", "medusa", ""},
                                        {"mtp_sequential", "mtp", "NEXTN"},
                                        {"prompt_lookup", "ngram", "NGRAM"},
                                        {"suffix_decoding", "suffix", ""}}};

// Neither engine has a drafter on a device of its own.
Names names_of(const MethodSpec& m) {
  if (m != m.without_drafter_device()) return {};
  const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const Names& n) { return n.method == m.name(); });
  return found == kNames.end() ? Names{} : *found;
}

}  // namespace

std::optional<nlohmann::ordered_json> vllm_settings(const MethodSpec& method,
                                                    const std::vector<ScheduledLength>& schedule) {
  const Names names = names_of(method);
  int most = schedule.empty() ? method.draft_length().value_or(0) : 0;
  for (const ScheduledLength& s : schedule) most = std::max(most, s.draft_length);
  const bool counted = schedule.empty() && !method.draft_length() && names.vllm == "suffix";  // by each match's length
  if (names.vllm.empty() || (most == 0 && !counted)) return std::nullopt;
  nlohmann::ordered_json settings{{"method", names.vllm}};
  if (most > 0) settings["num_speculative_tokens"] = most;
  if (names.parallel) settings["parallel_drafting"] = true;
  if (schedule.size() < 2) return settings;
  auto& ranges = settings["num_speculative_tokens_per_batch_size"];
  for (const ScheduledLength& s : schedule)
    ranges[std::to_string(s.from_batch) + "-" + std::to_string(s.to_batch)] = s.draft_length;
  return settings;
}

std::optional<std::string> sglang_flags(const MethodSpec& method, std::optional<int> running) {
  const std::string_view name = names_of(method).sglang;
  const auto tree = method.in().find("tree");
  int steps = method.draft_length().value_or(0), top_k = 1, drafts = steps;
  if (tree && tree->is_object()) {
    steps = tree->at("passes").integer() + 1;  // the target's pass gives the first level
    top_k = tree->at("top_k").integer();
    drafts = tree->at("nodes").integer();
  }
  if (name.empty() || drafts < 1) return std::nullopt;
  std::string flags = "--speculative-algorithm " + std::string(name);
  if (name != "NGRAM" && name != "DFLASH")  // these draft in no passes of their own
    flags += " --speculative-num-steps " + std::to_string(steps) + " --speculative-eagle-topk " + std::to_string(top_k);
  if (const auto window = method.in().find("window"); window && name == "DFLASH")
    flags += " --speculative-dflash-draft-window-size " + std::to_string(window->integer());
  flags += " --speculative-num-draft-tokens " + std::to_string(drafts + 1);  // the root included
  return running ? flags + " --max-running-requests " + std::to_string(*running) : flags;
}

}  // namespace draftline
