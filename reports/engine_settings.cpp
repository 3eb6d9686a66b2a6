// SPDX-License-Identifier: Apache-2.0
#include "reports/engine_settings.h"

#include <algorithm>

#include "methods/drafting/feature_drafter.h"
#include "methods/entries.h"

namespace draftline {

namespace {

using methods::EngineNames;

// No engine has a drafter on a device of its own.
EngineNames names_of(const MethodSpec& m) { return m.has_drafter_device() ? EngineNames{} : m.entry().engines; }

bool is_tree(const MethodSpec& m) { return !m.draft_length() && (m.tree() || m.drafts_default_tree()); }

// What vLLM is told besides the lengths, where its own default would be another method than the one that was priced.
void add_vllm_parameters(nlohmann::ordered_json& settings, const MethodSpec& m, const EngineNames& names, int ranks) {
  const nlohmann::json parameters = m.parameters();
  if (names.parallel) settings["parallel_drafting"] = true;
  if (names.vllm == "ngram") {
    settings["prompt_lookup_max"] = m.value("max_ngram");
    settings["prompt_lookup_min"] = 1;
  }
  if (names.vllm == "suffix")
    for (const std::string key : {"max_tree_depth", "max_spec_factor", "min_token_prob", "max_cached_requests"})
      if (parameters.contains(key)) settings["suffix_decoding_" + key] = parameters.at(key);
  if (parameters.contains("rejection_sample_method"))
    settings["rejection_sample_method"] = parameters.at("rejection_sample_method");
  if (m.entry().draft_network && ranks > 1 && !m.shards_draft() && !m.shards_draft_if_possible())
    settings["draft_tensor_parallel_size"] = 1;
}

}  // namespace

std::optional<nlohmann::ordered_json> vllm_settings(const MethodSpec& method,
                                                    const std::vector<ScheduledLength>& schedule, int ranks) {
  const EngineNames names = names_of(method);
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
  const EngineNames names = names_of(method);
  const std::string_view name = names.sglang;
  int steps = method.draft_length().value_or(0), top_k = 1, drafts = steps;
  if (is_tree(method)) {
    const auto& lengths = method.entry().lengths;
    if (lengths.trees != TreeKind::grown || !lengths.tree_by_default) return std::nullopt;
    const auto shape = methods::draft_shape(method, methods::kMostCandidates);
    steps = shape.depth();
    top_k = shape.top_k;
    drafts = shape.nodes;
  }
  if (name.empty() || drafts < 1) return std::nullopt;
  const auto block = method.value("block_size"), window = method.value("window");
  const auto flag = [](const char* key, int value) {
    return std::string(" --speculative-") + key + " " + std::to_string(value);
  };
  std::string flags = "--speculative-algorithm " + std::string(name);
  if (name == "DSPARK") {
    if (block.is_number() && block != drafts) return std::nullopt;  // it verifies whole blocks
    flags += flag("dspark-block-size", drafts);
  } else if (name == "DFLASH") {
    if (block.is_number() && block < drafts + 1) return std::nullopt;  // its last row makes no draft
    if (block.is_number() && block != drafts + 1) flags += flag("dflash-block-size", block.get<int>());
    if (window.is_number()) flags += flag("dflash-draft-window-size", window.get<int>());
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
  if (name == "NGram") settings["max_matching_ngram_size"] = method.value("max_ngram");
  if (most_sequences) settings["max_concurrency"] = *most_sequences;
  return settings;
}

bool has_drafter_weights(const MethodSpec& method) {
  const EngineNames names = names_of(method);
  return !(names.vllm.empty() && names.sglang.empty()) && names.vllm != "ngram" && names.vllm != "suffix" &&
         !names.in_target;
}

std::optional<std::string> llama_cpp_flags(const MethodSpec& method) {
  const std::string_view name = names_of(method).llama_cpp;
  if (name.empty() || !method.draft_length()) return std::nullopt;
  return "--spec-type " + std::string(name) + " --spec-draft-n-max " + std::to_string(*method.draft_length());
}

const EngineOptions* options_of(const Engine& engine) {
  using Request = const SpeculationRequest&;
  using Settings = std::optional<nlohmann::ordered_json>;
  // Lengths by batch: vllm/config/speculative.py has them in the wheel of 0.24.0 and not in that of 0.23.0, and
  // vllm/config/vllm.py of 0.24.0 then replaces FULL_AND_PIECEWISE graphs by PIECEWISE ones.
  static const std::array all{
      EngineOptions{.family = "vllm",
                    .title = "vLLM",
                    .before = "--speculative-config '",
                    .after = "'",
                    .json_key = "vllm",
                    .weights = "model",
                    .settings = [](Request r) -> Settings { return vllm_settings(r.method, r.schedule, r.ranks); },
                    .command = vllm_command,
                    .lengths_since = "0.24",
                    .lengths_price = "Its price: vLLM then replays decode steps as piecewise CUDA graphs, not as whole "
                                     "ones. A published server fell from 59.6 to 50.0 tokens/s at batch 1, and stalled "
                                     "around the batch at which the length changes (vLLM issue 49548)."},
      EngineOptions{.family = "sglang",
                    .title = "SGLang",
                    .json_key = "sglang",
                    .weights = "--speculative-draft-model-path",
                    .settings = [](Request r) -> Settings { return sglang_flags(r.method, r.running); },
                    .command = sglang_command},
      EngineOptions{.family = "tensorrt-llm",
                    .title = "TensorRT-LLM",
                    .json_key = "tensorrt_llm",
                    .weights = "speculative_model",
                    .settings = [](Request r) -> Settings { return tensorrt_llm_settings(r.method, r.most_sequences); },
                    .command = tensorrt_llm_command},
      EngineOptions{.family = "llama.cpp",
                    .title = "llama.cpp",
                    .json_key = "llama_cpp",
                    .weights = "--spec-draft-model",
                    .settings = [](Request r) -> Settings { return llama_cpp_flags(r.method); },
                    .command = llama_cpp_command},
  };
  const auto found = std::ranges::find_if(all, [&](const EngineOptions& o) { return o.family == engine.family; });
  return found == all.end() ? nullptr : &*found;
}

}  // namespace draftline
