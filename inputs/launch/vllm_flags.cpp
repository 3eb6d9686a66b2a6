// SPDX-License-Identifier: Apache-2.0
// vLLM: `vllm serve MODEL` and its older form `python -m vllm.entrypoints.openai.api_server`.
#include <algorithm>
#include <array>

#include "core/errors.h"
#include "inputs/launch/flag_values.h"

namespace draftline {

namespace vllm_serve {

std::string take_speculation(Launched& l, const std::string& v) {
  const Launched::Json given = json_value(v);
  if (!given.is_object()) throw InputErrors("must be an object of JSON");
  for (const auto& [key, value] : given.items()) l.speculation[key] = value;
  if (given.value("enforce_eager", Launched::Json(false)) != true) return "method";
  l.keys["eager_drafter"] = true;
  return "method, eager_drafter";
}

std::string take_largest_graph(Launched& l, const std::string& v) {
  const int rows = whole_number(v);
  if (rows > 0) l.keys["max_cudagraph_capture_size"] = rows;
  else l.keys["cudagraph_mode"] = "NONE";
  return rows > 0 ? "max_cudagraph_capture_size" : "cudagraph_mode";
}

std::string take_compilation(Launched& l, const std::string& v) {
  const bool object = v.starts_with('{');
  if (!object) return "no key: a level changes nothing here";
  const Launched::Json given = json_value(v);
  std::string keys;
  if (const auto mode = given.find("cudagraph_mode"); mode != given.end() && mode->is_string()) {
    l.keys["cudagraph_mode"] = *mode;
    keys = "cudagraph_mode";
  }
  if (const auto rows = given.find("max_cudagraph_capture_size"); rows != given.end() && rows->is_number())
    keys += (keys.empty() ? "" : ", ") + take_largest_graph(l, rows->dump());
  return keys.empty() ? "no key: only \"cudagraph_mode\" and \"max_cudagraph_capture_size\" have one" : keys;
}

template <bool on>
std::string take_async(Launched& l, const std::string&) {
  l.keys["async_scheduling"] = on;
  return "async_scheduling";
}
template <bool on>
std::string take_chunks(Launched& l, const std::string&) {
  l.scheduler["chunked_prefill"] = on;
  return "scheduler/chunked_prefill";
}
template <bool on>
std::string take_prefixes(Launched& l, const std::string&) {
  l.scheduler["prefix_caching"] = on;
  return "scheduler/prefix_caching";
}
std::string take_moe_backend(Launched& l, const std::string& v) {
  if (v != "auto" && v != "triton") return "no key: its experts have no times of their own";
  l.keys["moe_backend"] = v;
  return "moe_backend";
}
std::string take_eager(Launched& l, const std::string&) {
  l.keys["enforce_eager"] = true;
  return "enforce_eager";
}
std::string take_replicas(Launched& l, const std::string& v) {
  l.replicas = std::max(1, whole_number(v));
  l.attention_replicas = l.replicas > 1;
  return "data_parallel_attention";
}
std::string take_experts(Launched& l, const std::string&) {
  l.experts_apart = true;
  return "expert_parallel";
}
std::string take_blocks(Launched& l, const std::string& v) {
  l.scheduler["kv_blocks"] = whole_number(v);
  return "scheduler/kv_blocks";
}

constexpr auto kFlags = std::to_array<LaunchFlag>({
    used("--model", take_model),
    used("--tensor-parallel-size -tp", take_tensor),
    used("--data-parallel-size -dp", take_replicas),
    used("--pipeline-parallel-size -pp", take_stages),
    used_switch("--enable-expert-parallel -ep", take_experts),
    used("--quantization -q", take_quantization),
    used("--dtype", take_dtype),
    used("--kv-cache-dtype", take_cache),
    used("--gpu-memory-utilization", take_memory),
    used("--max-num-seqs", take_sequences),
    used("--max-num-batched-tokens", take_budget),
    used("--block-size", take_block),
    used("--num-gpu-blocks-override", take_blocks),
    used_switch("--enable-chunked-prefill", take_chunks<true>),
    used_switch("--no-enable-chunked-prefill", take_chunks<false>),
    used_switch("--enable-prefix-caching", take_prefixes<true>),
    used_switch("--no-enable-prefix-caching", take_prefixes<false>),
    used_switch("--enforce-eager", take_eager),
    used_switch("--async-scheduling", take_async<true>),
    used_switch("--no-async-scheduling", take_async<false>),
    used("--compilation-config -O -cc", take_compilation),
    used("--max-cudagraph-capture-size", take_largest_graph),
    used("--moe-backend", take_moe_backend),
    used("--speculative-config -sc", take_speculation),
    costs_nothing(
        "--host --port --api-key --uds --root-path --served-model-name --revision --tokenizer --tokenizer-mode "
        "--tokenizer-revision --hf-token --hf-config-path --config-format --download-dir --load-format "
        "--chat-template --chat-template-content-format --generation-config --override-generation-config "
        "--tool-call-parser --reasoning-parser --seed --uvicorn-log-level --allowed-origins --ssl-keyfile "
        "--ssl-certfile --max-log-len --max-model-len --distributed-executor-backend --limit-mm-per-prompt "
        "--response-role --task --runner --allowed-local-media-path --safetensors-load-strategy --middleware "
        "--data-parallel-backend --data-parallel-address --data-parallel-rpc-port --stream-interval"),
    costless_switch("--trust-remote-code --enable-auto-tool-choice --disable-log-requests --enable-log-requests "
                    "--disable-log-stats --disable-uvicorn-access-log --enable-server-load-tracking "
                    "--enable-reasoning --disable-fastapi-docs"),
    left_out_switch("--disable-custom-all-reduce", "all-reduces are priced with the kernels of the profile"),
    left_out("--cpu-offload-gb --kv-offloading-size --swap-space", "memory of the host is not modelled"),
    left_out("--max-loras --max-lora-rank --lora-modules", "adapters are not modelled: each step costs more"),
    left_out_switch("--enable-lora", "adapters are not modelled: each step costs more"),
    left_out("--kv-transfer-config", "prompts on other servers are \"disaggregation\""),
    left_out("--attention-backend --all2all-backend", "the engine's profile and the device choose kernels"),
    left_out("--decode-context-parallel-size -dcp --prefill-context-parallel-size", "is not modelled"),
    left_out("--data-parallel-size-local --data-parallel-rank --nnodes --node-rank --master-addr --master-port -n -r",
             "links between nodes are not modelled: all devices are of one node"),
    left_out("--max-logprobs", "log-probabilities are not modelled"),
    left_out("--structured-outputs-config --guided-decoding-backend", "grammars are not modelled"),
    left_out("--scheduling-policy", "requests are served first come, first served"),
    left_out("--hf-overrides --rope-scaling", "a changed config.json is given by its path"),
    left_out_switch("--enable-eplb --enable-dbo", "is not modelled"),
    left_out("--api-server-count", "the front end is the profile's"),
});

// The method of --speculative-config, whose keys are vllm/config/speculative.py's.
Launched::Json vllm_method(const Launched& l, std::vector<LaunchNote>& notes) {
  const Launched::Json& given = l.speculation;
  if (given.empty()) return nullptr;
  const auto text = [&](const char* key) {
    const auto found = given.find(key);
    return found != given.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  std::string theirs = text("method");
  if (theirs.empty() && text("model") == "ngram") theirs = "ngram";
  if (theirs.empty()) theirs = "draft_model";
  if (theirs.ends_with("_mtp")) theirs = "mtp";  // as older versions have one for each network
  const bool parallel = given.value("parallel_drafting", false);
  const std::string ours = method_of_engine("vllm", theirs, parallel);
  if (ours.empty()) {
    notes.push_back({"--speculative-config method", FlagUse::left_out,
                     "\"" + theirs + "\" is not modelled; `draftline list methods` has those that are"});
    return nullptr;
  }
  Launched::Json method{{"name", ours}};
  if (given.contains("num_speculative_tokens")) method["draft_length"] = given["num_speculative_tokens"];
  if (theirs == "draft_model" && !text("model").empty()) method["draft"] = text("model");
  if (theirs == "draft_model" && given.contains("draft_tensor_parallel_size"))
    method["shard_draft"] = given["draft_tensor_parallel_size"] != 1;
  if (theirs != "draft_model" && theirs != "ngram" && theirs != "mtp" && !text("model").empty())
    notes.push_back(
        {"--speculative-config model", FlagUse::left_out,
         "the drafter has the usual widths; for its own give the folder of its config.json as \"checkpoint\""});
  for (const auto& [key, value] : given.items())
    if (key != "method" && key != "model" && key != "num_speculative_tokens" && key != "draft_tensor_parallel_size" &&
        key != "parallel_drafting" && key != "enforce_eager")
      notes.push_back({"--speculative-config " + key, FlagUse::left_out, "has no key here"});
  return method;
}

}  // namespace vllm_serve

ServedEngine vllm_server() {
  return {"vllm", "serve", "vllm-openai", true, vllm_serve::kFlags, vllm_serve::vllm_method};
}

}  // namespace draftline
