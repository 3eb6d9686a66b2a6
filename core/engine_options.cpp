// SPDX-License-Identifier: Apache-2.0
#include "core/engine_options.h"

#include <algorithm>
#include <array>
#include <utility>

namespace draftline {

std::optional<std::string> key_of_option(std::string_view option, std::span<const std::string_view> known) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 24> kOurs{{
      {"tp", "tensor_parallel"},
      {"tp_size", "tensor_parallel"},
      {"tensor_parallel_size", "tensor_parallel"},
      {"pp", "pipeline_parallel"},
      {"pp_size", "pipeline_parallel"},
      {"pipeline_parallel_size", "pipeline_parallel"},
      {"ep", "expert_parallel"},
      {"ep_size", "expert_parallel"},
      {"gpu", "device"},
      {"hardware", "device"},
      {"model", "transformer"},
      {"network", "transformer"},
      {"dtype", "precision"},
      {"quantization", "precision"},
      {"k", "draft_length"},
      {"speculative_num_steps", "draft_length"},
      {"isl", "prompt_tokens"},
      {"input_len", "prompt_tokens"},
      {"osl", "output_tokens"},
      {"output_len", "output_tokens"},
      {"qps", "rate"},
      {"request_rate", "rate"},
      {"max_concurrency", "concurrency"},
      {"num_prompts", "requests"},
  }};
  for (const auto& [theirs, ours] : kOurs)
    if (theirs == option && std::ranges::find(known, ours) != known.end()) return std::string(ours);
  return std::nullopt;
}

}  // namespace draftline
