// SPDX-License-Identifier: Apache-2.0
// Rows of the tables of flags (launch_flags.h).
#pragma once
#include <algorithm>

#include "inputs/launch/launch_flags.h"

namespace draftline {

constexpr LaunchFlag used(std::string_view names, TakeFlag take) { return {names, FlagUse::used, true, take}; }
constexpr LaunchFlag used_switch(std::string_view names, TakeFlag take) { return {names, FlagUse::used, false, take}; }
constexpr LaunchFlag costs_nothing(std::string_view names) { return {names, FlagUse::free, true}; }
constexpr LaunchFlag costless_switch(std::string_view names) { return {names, FlagUse::free, false}; }
constexpr LaunchFlag left_out(std::string_view names, std::string_view why) {
  return {names, FlagUse::left_out, true, nullptr, why};
}
constexpr LaunchFlag left_out_switch(std::string_view names, std::string_view why) {
  return {names, FlagUse::left_out, false, nullptr, why};
}

// Takers of values that are the same in all engines.
inline std::string take_model(Launched& l, const std::string& v) {
  l.model = v;
  return "transformer";
}
inline std::string take_tensor(Launched& l, const std::string& v) {
  l.tensor = std::max(1, whole_number(v));
  return "tensor_parallel";
}
inline std::string take_memory(Launched& l, const std::string& v) {
  l.keys["gpu_memory_utilization"] = fraction(v);
  return "gpu_memory_utilization";
}
inline std::string take_sequences(Launched& l, const std::string& v) {
  l.scheduler["max_num_seqs"] = std::max(1, whole_number(v));
  return "scheduler/max_num_seqs";
}
inline std::string take_budget(Launched& l, const std::string& v) {
  l.scheduler["max_num_batched_tokens"] = std::max(1, whole_number(v));
  return "scheduler/max_num_batched_tokens";
}
inline std::string take_block(Launched& l, const std::string& v) {
  l.scheduler["block_size"] = std::max(1, whole_number(v));
  return "scheduler/block_size";
}
inline std::string take_stages(Launched& l, const std::string& v) {
  if (whole_number(v) > 1) l.keys["pipeline_parallel"] = whole_number(v);
  return "pipeline_parallel";
}
inline std::string take_dtype(Launched& l, const std::string& v) {
  if (v == "auto") return "the checkpoint's";
  l.precision["activations"] = v == "float16" ? "fp16" : v == "float32" ? "fp32" : v;
  return "precision/activations";
}
inline std::string take_cache(Launched& l, const std::string& v) {
  if (v == "auto") return "as activations";
  l.precision["kv_cache"] = v.starts_with("fp8") ? "fp8" : v == "f16" ? "fp16" : v;
  return "precision/kv_cache";
}
inline std::string take_quantization(Launched& l, const std::string& v) {
  if (v == "compressed-tensors" || v == "none") return "the checkpoint's format";
  std::string format = v;
  if (v.starts_with("awq")) format = "awq";
  if (v.starts_with("gptq")) format = "gptq";
  if (v == "modelopt" || v == "modelopt_fp8") format = "fp8-static";
  if (v == "modelopt_fp4") format = "nvfp4";
  if (v == "bitsandbytes") format = "int4";
  if (v == "w8a8_fp8") format = "fp8";
  if (v == "w8a8_int8") format = "int8-w8a8";
  l.precision["weights"] = format;
  return "precision/weights " + format;
}

}  // namespace draftline
