// SPDX-License-Identifier: Apache-2.0
#include "core/engine_options.h"

#include <algorithm>
#include <array>
#include <utility>

namespace draftline {

std::optional<std::string> key_of_option(std::string_view option, std::span<const std::string_view> known) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 41> kOurs{{
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
      {"data_parallel_size", "data_parallel_attention"},
      {"dp_size", "data_parallel_attention"},
      {"enable_expert_parallel", "expert_parallel"},
      {"max_running_requests", "max_num_seqs"},
      {"chunked_prefill_size", "max_num_batched_tokens"},
      {"max_num_tokens", "max_num_batched_tokens"},
      {"enable_chunked_prefill", "chunked_prefill"},
      {"enable_prefix_caching", "prefix_caching"},
      {"disable_cuda_graph", "enforce_eager"},
      {"max_draft_len", "draft_length"},
      {"draft_max", "draft_length"},
      {"spec_draft_n_max", "draft_length"},
      {"speculative_num_draft_tokens", "num_draft_tokens"},
      {"speculative_eagle_topk", "eagle_topk"},
      {"speculative_draft_model_path", "checkpoint"},
      {"acceptance_rate", "rate"},
      {"acceptance_length", "mean_length"},
  }};
  for (const auto& [theirs, ours] : kOurs)
    if (theirs == option && std::ranges::find(known, ours) != known.end()) return std::string(ours);
  return std::nullopt;
}

std::optional<std::string_view> advice_on_option(std::string_view option) {
  static constexpr std::string_view kLongest =
                                        "a longest text costs nothing by itself: leave it out; lengths are "
                                        "\"prompt_tokens\" and \"output_tokens\", or those "
                                        "of a \"workload\"",
                                    kSequences =
                                        "it is \"max_num_seqs\" of \"scheduler\", which needs a \"workload\"; without "
                                        "one, \"batch_size\" is the number of "
                                        "sequences",
                                    kBudget =
                                        "it is \"max_num_batched_tokens\" of \"scheduler\", which needs a \"workload\"",
                                    kStatic =
                                        "it is the share of memory for weights and KV pool alone; "
                                        "\"gpu_memory_utilization\" is the share of all that the "
                                        "engine uses, some 0.05 to 0.1 more",
                                    kFree =
                                        "it is the share of the memory that weights leave; \"gpu_memory_utilization\" "
                                        "is the share of all that the engine "
                                        "uses",
                                    kDraft =
                                        "\"shard_draft\": false keeps the draft network whole on each device, as a "
                                        "size of 1; true divides it among the "
                                        "target's devices";
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 17> kAdvice{{
      {"max_model_len", kLongest},
      {"context_length", kLongest},
      {"max_seq_len", kLongest},
      {"ctx_size", kLongest},
      {"n_ctx", kLongest},
      {"max_num_seqs", kSequences},
      {"max_running_requests", kSequences},
      {"max_batch_size", kSequences},
      {"max_num_batched_tokens", kBudget},
      {"chunked_prefill_size", kBudget},
      {"max_num_tokens", kBudget},
      {"mem_fraction_static", kStatic},
      {"kv_cache_free_gpu_memory_fraction", kFree},
      {"free_gpu_memory_fraction", kFree},
      {"draft_tensor_parallel_size", kDraft},
      {"speculative_draft_tensor_parallel_size", kDraft},
      {"draft_tp", kDraft},
  }};
  const auto found = std::ranges::find(kAdvice, option, &std::pair<std::string_view, std::string_view>::first);
  return found == kAdvice.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace draftline
