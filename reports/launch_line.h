// SPDX-License-Identifier: Apache-2.0
// The command that starts a server with a method: how many devices, which formats, which speculation. MODEL and DRAFTER
// stand for the user's own checkpoints. Flags as in vLLM's vllm/engine/arg_utils.py (0.19), SGLang's
// srt/server_args.py (0.5.4), TensorRT-LLM's commands/serve.py and llama.cpp's common/arg.cpp.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "inputs/scenario.h"

namespace draftline {

struct Launch {
  const TransformerShape& transformer;
  const Precision& precision;
  const Parallelism& parallel;
  double gpu_memory_utilization;
  std::optional<int> sequences;  // at once, where the engine's default is too low
};

// Each ends with the settings of the speculation, as reports/engine_settings writes them.
std::string vllm_command(const Launch&, const std::string& settings);
std::string sglang_command(const Launch&, const std::string& settings);
std::string tensorrt_llm_command(const Launch&, const std::string& settings);
std::string llama_cpp_command(const Launch&, const std::string& settings);

}  // namespace draftline
