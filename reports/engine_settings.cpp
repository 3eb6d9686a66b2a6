// SPDX-License-Identifier: Apache-2.0
#include "reports/engine_settings.h"

#include <algorithm>
#include <array>
#include <limits>

#include "methods/drafting/feature_drafter.h"
#include "methods/entries.h"

namespace draftline {

namespace {

struct Names {
  std::string_view method;
  std::string_view vllm = {}, sglang = {}, tensorrt_llm = {}, llama_cpp = {};  // "": the engine has none
  bool parallel = false;                                                       // vLLM: by "parallel_drafting"
  bool in_target = false;                                                      // the target's files hold its weights
  int tree_passes = 0;  // of the tree that is drafted where no draft length is given; 0: none that an engine takes
};
constexpr int kPasses2 = methods::kEagle2Passes, kPasses3 = methods::kEagle3Passes;
constexpr std::array kNames{
    Names{.method = "eagle1", .vllm = "eagle", .sglang = "EAGLE"},
    Names{.method = "eagle2", .vllm = "eagle", .sglang = "EAGLE", .tree_passes = kPasses2},
    Names{.method = "hass", .vllm = "eagle", .sglang = "EAGLE", .tree_passes = kPasses2},
    Names{.method = "eagle3",
          .vllm = "eagle3",
          .sglang = "EAGLE3",
          .tensorrt_llm = "Eagle3",
          .llama_cpp = "draft-eagle3",
          .tree_passes = kPasses3},
    Names{.method = "eagle3_1", .vllm = "eagle3", .sglang = "EAGLE3", .tree_passes = kPasses3},
    Names{.method = "p_eagle", .vllm = "eagle3", .parallel = true},
    Names{.method = "draft_model",
          .vllm = "draft_model",
          .sglang = "STANDALONE",
          .tensorrt_llm = "DraftTarget",
          .llama_cpp = "draft-simple"},
    Names{.method = "pard", .vllm = "draft_model", .tensorrt_llm = "PARD", .parallel = true},
    Names{.method = "dflash",
          .vllm = "dflash",
          .sglang = "DFLASH",
          .tensorrt_llm = "DFlash",
          .llama_cpp = "draft-dflash"},
    Names{.method = "dspark", .vllm = "dspark", .sglang = "DSPARK"},
    Names{.method = "dflash2", .vllm = "dflash", .sglang = "DFLASH"},
    Names{.method = "medusa", .vllm = "medusa"},
    Names{.method = "mtp_sequential",
          .vllm = "mtp",
          .sglang = "NEXTN",
          .tensorrt_llm = "MTP",
          .llama_cpp = "draft-mtp",
          .in_target = true},
    Names{.method = "gemma4_assistant", .vllm = "mtp", .llama_cpp = "draft-mtp"},
    Names{.method = "prompt_lookup", .vllm = "ngram", .sglang = "NGRAM", .tensorrt_llm = "NGram"},
    Names{.method = "suffix_decoding", .vllm = "suffix"},
};

// No engine has a drafter on a device of its own.
Names names_of(const MethodSpec& m) {
  if (m != m.without_drafter_device()) return {};
  const auto found = std::find_if(kNames.begin(), kNames.end(), [&](const Names& n) { return n.method == m.name(); });
  return found == kNames.end() ? Names{} : *found;
}

bool is_tree(const MethodSpec& m) { return !m.draft_length() && (m.in().has("tree") || m.drafts_default_tree()); }

// What vLLM is told besides the lengths, where its own default would be another method than the one that was priced.
void add_vllm_parameters(nlohmann::ordered_json& settings, const MethodSpec& m, const Names& names, int ranks) {
  if (names.parallel) settings["parallel_drafting"] = true;
  if (names.vllm == "ngram") {
    settings["prompt_lookup_max"] = methods::max_ngram(m.in());
    settings["prompt_lookup_min"] = 1;
  }
  if (names.vllm == "suffix")
    for (const std::string key : {"max_tree_depth", "max_spec_factor", "min_token_prob", "max_cached_requests"})
      for (const std::string& written : {key, "suffix_decoding_" + key})
        if (m.parameters().contains(written)) settings["suffix_decoding_" + key] = m.parameters().at(written);
  if (m.parameters().contains("rejection_sample_method"))
    settings["rejection_sample_method"] = m.parameters().at("rejection_sample_method");
  if (m.entry().draft_network && ranks > 1 && !m.shards_draft() && !m.shards_draft_if_possible())
    settings["draft_tensor_parallel_size"] = 1;
}

}  // namespace

std::optional<nlohmann::ordered_json> vllm_settings(const MethodSpec& method,
                                                    const std::vector<ScheduledLength>& schedule, int ranks) {
  const Names names = names_of(method);
  int most = schedule.empty() ? method.draft_length().value_or(0) : 0;
  for (const ScheduledLength& s : schedule) most = std::max(most, s.draft_length);
  const bool counted = schedule.empty() && !method.draft_length() && names.vllm == "suffix";  // by each match's length
  if (names.vllm.empty() || (most == 0 && !counted)) return std::nullopt;
  nlohmann::ordered_json settings{{"method", names.vllm}};
  if (most > 0) settings["num_speculative_tokens"] = most;
  add_vllm_parameters(settings, method, names, ranks);
  if (schedule.size() < 2) return settings;
  auto& ranges = settings["num_speculative_tokens_per_batch_size"];
  for (const ScheduledLength& s : schedule)
    ranges.push_back(nlohmann::ordered_json::array({s.from_batch, s.to_batch, s.draft_length}));
  return settings;
}

std::optional<std::string> sglang_flags(const MethodSpec& method, std::optional<int> running) {
  const Names names = names_of(method);
  const std::string_view name = names.sglang;
  int steps = method.draft_length().value_or(0), top_k = 1, drafts = steps;
  if (is_tree(method)) {
    if (names.tree_passes == 0) return std::nullopt;  // a tree of fixed shape
    const auto shape = methods::read_draft_shape(method, std::numeric_limits<int>::max(), names.tree_passes);
    steps = shape.depth();
    top_k = shape.top_k;
    drafts = shape.nodes;
  }
  if (name.empty() || drafts < 1) return std::nullopt;
  const auto block = method.in().find("block_size"), window = method.in().find("window");
  const auto flag = [](const char* key, int value) {
    return std::string(" --speculative-") + key + " " + std::to_string(value);
  };
  std::string flags = "--speculative-algorithm " + std::string(name);
  if (name == "DSPARK") {
    if (block && block->integer() != drafts) return std::nullopt;  // it verifies whole blocks
    flags += flag("dspark-block-size", drafts);
  } else if (name == "DFLASH") {
    if (block && block->integer() != drafts + 1) flags += flag("dflash-block-size", block->integer());
    if (window) flags += flag("dflash-draft-window-size", window->integer());
  } else if (name != "NGRAM") {  // the others draft in passes of their own
    flags += flag("num-steps", steps) + flag("eagle-topk", top_k);
  }
  flags += flag("num-draft-tokens", drafts + 1);  // the root included
  return running ? flags + " --max-running-requests " + std::to_string(*running) : flags;
}

std::optional<nlohmann::ordered_json> tensorrt_llm_settings(const MethodSpec& method,
                                                            std::optional<int> most_sequences) {
  const std::string_view name = names_of(method).tensorrt_llm;
  if (name.empty() || !method.draft_length()) return std::nullopt;
  nlohmann::ordered_json settings{{"decoding_type", name}};
  settings[name == "MTP" ? "num_nextn_predict_layers" : "max_draft_len"] = *method.draft_length();
  if (name == "NGram") settings["max_matching_ngram_size"] = methods::max_ngram(method.in());
  if (most_sequences) settings["max_concurrency"] = *most_sequences;
  return settings;
}

bool has_drafter_weights(const MethodSpec& method) {
  const Names names = names_of(method);
  return !names.vllm.empty() && names.vllm != "ngram" && names.vllm != "suffix" && !names.in_target;
}

std::optional<std::string> llama_cpp_flags(const MethodSpec& method) {
  const std::string_view name = names_of(method).llama_cpp;
  if (name.empty() || !method.draft_length()) return std::nullopt;
  return "--spec-type " + std::string(name) + " --spec-draft-n-max " + std::to_string(*method.draft_length());
}

const EngineOptions* options_of(const Engine& engine) {
  using Request = const SpeculationRequest&;
  using Settings = std::optional<nlohmann::ordered_json>;
  static const std::array all{
      EngineOptions{"vllm", "vLLM", "--speculative-config '", "'", "vllm", "\"model\"", "vLLM of May 2026 or later",
                    [](Request r) -> Settings { return vllm_settings(r.method, r.schedule, r.ranks); }},
      EngineOptions{"sglang", "SGLang", "", "", "sglang", "--speculative-draft-model-path", "",
                    [](Request r) -> Settings { return sglang_flags(r.method, r.running); }},
      EngineOptions{"tensorrt-llm", "TensorRT-LLM", "speculative_config: ", "", "tensorrt_llm", "\"speculative_model\"",
                    "", [](Request r) -> Settings { return tensorrt_llm_settings(r.method, r.most_sequences); }},
      EngineOptions{"llama.cpp", "llama.cpp", "", "", "llama_cpp", "--spec-draft-model", "",
                    [](Request r) -> Settings { return llama_cpp_flags(r.method); }},
  };
  const auto found =
      std::find_if(all.begin(), all.end(), [&](const EngineOptions& o) { return o.family == engine.family; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace draftline
