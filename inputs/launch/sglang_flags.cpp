// SPDX-License-Identifier: Apache-2.0
// SGLang: `python -m sglang.launch_server`.
#include <algorithm>
#include <array>

#include "inputs/launch/flag_values.h"

namespace draftline {

namespace sglang_serve {

std::string take_replicas(Launched& l, const std::string& v) {
  l.replicas = std::max(1, whole_number(v));
  return "data_parallel_attention with --enable-dp-attention, else replicas";
}
std::string take_dp_attention(Launched& l, const std::string&) {
  l.attention_replicas = true;
  return "data_parallel_attention";
}
std::string take_experts(Launched& l, const std::string& v) {
  l.experts_apart = whole_number(v) > 1;
  l.expert_groups = std::max(1, whole_number(v));
  return "expert_parallel";
}
std::string take_mixed(Launched& l, const std::string&) {
  l.scheduler["chunked_prefill"] = true;
  return "scheduler/chunked_prefill";
}
std::string take_no_prefixes(Launched& l, const std::string&) {
  l.scheduler["prefix_caching"] = false;
  return "scheduler/prefix_caching";
}
std::string take_no_overlap(Launched& l, const std::string&) {
  l.keys["disable_overlap_schedule"] = true;
  return "disable_overlap_schedule";
}
std::string take_receiving(Launched& l, const std::string& v) {
  l.scheduler["scheduler_recv_interval"] = std::max(1, whole_number(v));
  return "scheduler/scheduler_recv_interval";
}
std::string take_algorithm(Launched& l, const std::string& v) {
  l.speculation["algorithm"] = v;
  return "method";
}
std::string take_draft(Launched& l, const std::string& v) {
  l.speculation["draft"] = v;
  return "method, its drafter";
}
std::string take_steps(Launched& l, const std::string& v) {
  l.speculation["num_steps"] = whole_number(v);
  return "method/draft_length, or tree/num_steps";
}
std::string take_top_k(Launched& l, const std::string& v) {
  l.speculation["eagle_topk"] = whole_number(v);
  return "method/tree/eagle_topk, if above 1";
}
std::string take_tokens(Launched& l, const std::string& v) {
  l.speculation["num_draft_tokens"] = whole_number(v);
  return "method/tree/num_draft_tokens";
}

constexpr auto kFlags = std::to_array<LaunchFlag>({
    used("--model-path --model", take_model),
    used("--tp-size --tp --tensor-parallel-size", take_tensor),
    used("--dp-size --dp --data-parallel-size", take_replicas),
    used_switch("--enable-dp-attention", take_dp_attention),
    used("--ep-size --ep --expert-parallel-size", take_experts),
    used("--pp-size --pp --pipeline-parallel-size", take_stages),
    used("--quantization", take_quantization),
    used("--dtype", take_dtype),
    used("--kv-cache-dtype", take_cache),
    used("--max-running-requests", take_sequences),
    used("--chunked-prefill-size", take_budget),
    used_switch("--enable-mixed-chunk", take_mixed),
    used_switch("--disable-radix-cache", take_no_prefixes),
    used("--page-size", take_block),
    used_switch("--disable-overlap-schedule", take_no_overlap),
    used("--scheduler-recv-interval", take_receiving),
    used("--speculative-algorithm --speculative-algo", take_algorithm),
    used("--speculative-draft-model-path --speculative-draft-model", take_draft),
    used("--speculative-num-steps", take_steps),
    used("--speculative-eagle-topk", take_top_k),
    used("--speculative-num-draft-tokens", take_tokens),
    costs_nothing(
        "--host --port --api-key --tokenizer-path --tokenizer-mode --tokenizer-worker-num --load-format "
        "--served-model-name --chat-template --revision --download-dir --log-level --log-level-http --random-seed "
        "--tool-call-parser --reasoning-parser --context-length --watchdog-timeout --decode-log-interval "
        "--stream-interval "
        "--crash-dump-folder --model-loader-extra-config --base-gpu-id --collect-tokens-histogram"),
    costless_switch(
        "--trust-remote-code --enable-metrics --enable-cache-report --skip-tokenizer-init --skip-server-warmup "
        "--log-requests"),
    left_out_switch("--disable-custom-all-reduce", "all-reduces are priced with the kernels of the profile"),
    left_out("--mem-fraction-static --mem-fraction",
             "it covers weights and KV pool alone; \"gpu_memory_utilization\" is some 0.05 to 0.1 more"),
    left_out("--attention-backend --prefill-attention-backend --decode-attention-backend --moe-runner-backend "
             "--moe-a2a-backend --sampling-backend --fp8-gemm-backend",
             "the engine's profile and the device choose kernels"),
    left_out("--cuda-graph-max-bs --cuda-graph-bs --max-prefill-tokens --max-total-tokens --schedule-conservativeness "
             "--schedule-policy --num-continuous-decode-steps --max-queued-requests",
             "is not modelled"),
    left_out_switch("--disable-cuda-graph", "graphs of SGLang can't be turned off here"),
    left_out("--nnodes --node-rank --dist-init-addr",
             "links between nodes are not modelled: all devices are of one node"),
    left_out("--speculative-token-map", "give \"draft_vocabulary\" of the method"),
    left_out("--speculative-attention-mode --speculative-accept-threshold-single --speculative-accept-threshold-acc",
             "is not modelled"),
    left_out("--lora-paths --max-loras-per-batch", "adapters are not modelled: each step costs more"),
    left_out("--grammar-backend", "grammars are not modelled"),
    left_out("--disaggregation-mode --disaggregation-transfer-backend",
             "prompts on other servers are \"disaggregation\""),
    left_out_switch("--enable-hierarchical-cache --enable-two-batch-overlap --enable-eplb --enable-lora "
                    "--enable-torch-compile",
                    "is not modelled"),
});

Launched::Json sglang_method(const Launched& l, std::vector<LaunchNote>& notes) {
  const Launched::Json& given = l.speculation;
  if (!given.contains("algorithm")) return nullptr;
  std::string theirs = given["algorithm"].get<std::string>();
  const bool own = !given.contains("draft");
  if (own && (theirs == "EAGLE" || theirs == "eagle")) theirs = "NEXTN";  // the layers that a target predicts with
  const int steps = given.value("num_steps", 0), top_k = given.value("eagle_topk", 1);
  std::string ours = method_of_engine("sglang", theirs);
  if (ours == "eagle1" && top_k > 1) ours = "eagle2";  // a tree that grows with the text
  if (ours.empty()) {
    notes.push_back({"--speculative-algorithm", FlagUse::left_out,
                     "\"" + theirs + "\" is not modelled; `draftline list methods` has those that are"});
    return nullptr;
  }
  Launched::Json method{{"name", ours}};
  if (top_k > 1)
    method["tree"] = {{"eagle_topk", top_k},
                      {"num_steps", std::max(1, steps)},
                      {"num_draft_tokens", given.value("num_draft_tokens", 1 + top_k * std::max(1, steps))}};
  else if (steps > 0) method["draft_length"] = steps;
  else if (given.contains("num_draft_tokens"))
    method["draft_length"] = std::max(1, given.value("num_draft_tokens", 2) - 1);
  if (ours == "draft_model") method["draft"] = given.value("draft", std::string());
  else if (!own)
    notes.push_back(
        {"--speculative-draft-model-path", FlagUse::left_out,
         "the drafter has the usual widths; for its own give the folder of its config.json as \"checkpoint\""});
  return method;
}

}  // namespace sglang_serve

ServedEngine sglang_server() {
  return {"sglang", "sglang.launch_server", "sglang", false, sglang_serve::kFlags, sglang_serve::sglang_method};
}

}  // namespace draftline
