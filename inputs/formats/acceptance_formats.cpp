// SPDX-License-Identifier: Apache-2.0
#include "inputs/formats/acceptance_formats.h"

#include <array>

namespace draftline {

std::span<const AcceptanceFormat> acceptance_formats() {
  static constexpr std::array<AcceptanceFormat, 8> table{
      {{"results of vLLM's `bench serve` and SGLang's bench_serving", acceptance_in_benchmark},
       {"reports of trtllm-bench", acceptance_in_trtllm_bench},
       {"responses of vLLM with --per-request-spec-decode-metrics", acceptance_in_responses},
       {"results of Prometheus' /api/v1/query", acceptance_in_prometheus},
       {"/metrics of vLLM, SGLang and llama.cpp", acceptance_in_metrics},
       {"logs of vLLM", acceptance_in_vllm_log},
       {"logs of SGLang", acceptance_in_sglang_log},
       {"logs of llama-server", acceptance_in_llama_cpp_log}}};
  return table;
}

}  // namespace draftline
