// SPDX-License-Identifier: Apache-2.0
// TensorRT-LLM: `trtllm-serve MODEL`. Its options file is YAML, which is not read; a word that is an object of JSON, as
// `draftline advise` prints it, is.
#include <algorithm>
#include <array>

#include "inputs/launch/flag_values.h"

namespace draftline {

namespace trtllm_serve {

std::string take_experts(Launched& l, const std::string& v) {
  l.experts_apart = whole_number(v) > 1;
  l.expert_groups = std::max(1, whole_number(v));
  return "expert_parallel";
}

bool is_on(const Launched::Json& options, const char* key) {
  const auto value = options.find(key);
  if (value == options.end()) return false;
  if (!value->is_boolean()) throw InputErrors(std::string(key) + ": must be true or false");
  return value->get<bool>();
}

// The keys of the options file, {"speculative_config": {..}, "kv_cache_config": {"dtype": "fp8"}, ..}.
std::string take_options(Launched& l, const std::string& v) {
  const Launched::Json given = json_value(v);
  if (const auto speculation = given.find("speculative_config"); speculation != given.end() && speculation->is_object())
    l.speculation = *speculation;
  if (const auto cache = given.find("kv_cache_config"); cache != given.end() && cache->is_object())
    if (const auto dtype = cache->find("dtype"); dtype != cache->end() && dtype->is_string())
      take_cache(l, dtype->get<std::string>());
  if (is_on(given, "enable_attention_dp")) {
    l.attention_replicas = true;
    l.replicas = l.tensor;
    if (const auto balance = given.find("attention_dp_config"); balance != given.end() && balance->is_object())
      if (is_on(*balance, "enable_balance"))
        l.scheduler["attention_dp_timeout_iters"] = balance->value("timeout_iters", Launched::Json(50));
  }
  constexpr const char *kSteps = "batch_wait_timeout_iters", *kShare = "batch_wait_max_tokens_ratio";
  if (given.contains(kSteps) || given.contains(kShare)) {
    l.scheduler[kSteps] = given.value(kSteps, Launched::Json(0));
    l.scheduler[kShare] = given.value(kShare, Launched::Json(0));
  }
  return "method, precision/kv_cache, data_parallel_attention, scheduler";
}

constexpr auto kFlags = std::to_array<LaunchFlag>({
    used("--tp-size", take_tensor),
    used("--ep-size", take_experts),
    used("--pp-size", take_stages),
    used("--max-batch-size", take_sequences),
    used("--max-num-tokens", take_budget),
    used("--kv-cache-dtype", take_cache),
    used("--options", take_options),
    costs_nothing("--host --port --tokenizer --max-seq-len --log-level --revision "
                  "--reasoning-parser --tool-parser --metadata-server-config-file --served-model-name"),
    costless_switch("--trust-remote-code"),
    left_out("--kv-cache-free-gpu-memory-fraction --free-gpu-memory-fraction",
             "it is the share of the memory that weights leave; \"gpu_memory_utilization\" is the share of all"),
    left_out("--extra-llm-api-options --config", "YAML is not read: add its keys to the line as JSON"),
    left_out("--max-beam-width", "beams are not modelled: each is a sequence more"),
    left_out("--backend", "the profile is of the PyTorch backend"),
    left_out("--gpus-per-node --cluster-size", "all devices are of one node"),
});

Launched::Json tensorrt_llm_method(const Launched& l, std::vector<LaunchNote>& notes) {
  const Launched::Json& given = l.speculation;
  if (given.empty()) return nullptr;
  const std::string theirs = given.value("decoding_type", std::string());
  const std::string ours = method_of_engine("tensorrt-llm", theirs);
  if (ours.empty()) {
    notes.push_back({"speculative_config", FlagUse::left_out,
                     "\"" + theirs + "\" is not modelled; `draftline list methods` has those that are"});
    return nullptr;
  }
  Launched::Json method{{"name", ours}};
  for (const char* key : {"max_draft_len", "num_nextn_predict_layers"})
    if (given.contains(key)) method["draft_length"] = given[key];
  for (const char* key : {"speculative_model", "speculative_model_dir"})
    if (given.contains(key) && ours == "draft_model") method["draft"] = given[key];
  return method;
}

}  // namespace trtllm_serve

ServedEngine tensorrt_llm_server() {
  return {"tensorrt-llm", "trtllm-serve",       "tensorrt-llm",
          true,           trtllm_serve::kFlags, trtllm_serve::tensorrt_llm_method};
}

}  // namespace draftline
