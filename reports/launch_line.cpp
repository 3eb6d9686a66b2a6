// SPDX-License-Identifier: Apache-2.0
#include "reports/launch_line.h"

#include <algorithm>

#include "core/quantity_text.h"

namespace draftline {

namespace {

std::string flag(const char* name, const std::string& value) { return std::string(" ") + name + " " + value; }
std::string flag(const char* name, int value) { return flag(name, std::to_string(value)); }

// vLLM and SGLang quantise a checkpoint of 16 bits to this format as they load it. Other formats are checkpoints' own.
bool quantised_at_start(const Launch& l) {
  return !l.transformer.checkpoint && l.precision.name.starts_with("fp8") &&
         l.precision.mlp == format_named("fp8")->layers;
}
bool fp8_cache(const Launch& l) { return bits_of(l.precision.kv_cache) == 8; }
bool has_experts_apart(const Launch& l) { return l.parallel.expert_parallel && l.parallel.devices > 1; }

}  // namespace

std::string vllm_command(const Launch& l, const std::string& settings) {
  std::string line = "vllm serve MODEL";
  if (l.parallel.tensor() > 1) line += flag("--tensor-parallel-size", l.parallel.tensor());
  if (l.parallel.attention_replicas > 1) line += flag("--data-parallel-size", l.parallel.attention_replicas);
  if (has_experts_apart(l)) line += " --enable-expert-parallel";
  if (quantised_at_start(l)) line += flag("--quantization", "fp8");
  if (fp8_cache(l)) line += flag("--kv-cache-dtype", "fp8");
  if (l.gpu_memory_utilization != kGpuMemoryUtilization)
    line += flag("--gpu-memory-utilization", significant(l.gpu_memory_utilization));
  if (l.sequences) line += flag("--max-num-seqs", *l.sequences);
  return line + flag("--speculative-config", "'" + settings + "'");
}

std::string sglang_command(const Launch& l, const std::string& settings) {
  std::string line = "python -m sglang.launch_server --model-path MODEL";
  if (l.parallel.devices > 1) line += flag("--tp-size", l.parallel.devices);
  if (l.parallel.attention_replicas > 1)
    line += flag("--dp-size", l.parallel.attention_replicas) + " --enable-dp-attention";
  if (has_experts_apart(l)) line += flag("--ep-size", l.parallel.devices);
  if (quantised_at_start(l)) line += flag("--quantization", "fp8");
  if (fp8_cache(l)) line += flag("--kv-cache-dtype", "fp8_e4m3");
  return line + " " + settings;  // which has the limit of sequences
}

std::string tensorrt_llm_command(const Launch& l, const std::string& settings) {
  std::string options = "{\"speculative_config\": " + settings;
  if (fp8_cache(l)) options += ", \"kv_cache_config\": {\"dtype\": \"fp8\"}";
  if (l.parallel.attention_replicas > 1) options += ", \"enable_attention_dp\": true";
  std::string line = "echo '" + options + "}' > options.yaml; trtllm-serve MODEL";
  if (l.parallel.devices > 1) line += flag("--tp_size", l.parallel.devices);
  if (has_experts_apart(l)) line += flag("--ep_size", l.parallel.devices);
  if (l.sequences) line += flag("--max_batch_size", *l.sequences);
  return line + flag("--extra_llm_api_options", "options.yaml");
}

std::string llama_cpp_command(const Launch& l, const std::string& settings) {
  std::string line = "llama-server -m MODEL.gguf -ngl 99";
  if (l.parallel.devices > 1) line += flag("--split-mode", "row");
  if (fp8_cache(l)) line += flag("--cache-type-k", "q8_0") + flag("--cache-type-v", "q8_0");
  if (l.sequences) line += flag("-np", *l.sequences);
  return line + " " + settings;
}

}  // namespace draftline
