// SPDX-License-Identifier: Apache-2.0
#include "inputs/served_formats.h"

namespace draftline {

std::span<const ServedFormat> served_formats() {
  static const std::vector<ServedFormat> table{guidellm_benchmark(), llama_cpp_steps(),     latency_benchmark(),
                                               trtllm_bench(),       aiperf_export(),       aiperf_records(),
                                               llama_bench(),        llama_batched_bench(), serving_benchmark()};
  return table;
}

}  // namespace draftline
