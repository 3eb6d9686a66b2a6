// SPDX-License-Identifier: Apache-2.0
// The kinds of file from which acceptance is read (inputs/served_acceptance): one row and one file for each.
#pragma once
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/reader.h"
#include "inputs/served_acceptance.h"

namespace draftline {

// A file's text, and the values of its JSON: of a document one, of JSON lines one a line, of an array its elements.
struct AcceptanceFile {
  std::string_view text;
  std::vector<Reader> values;
};

// Each function returns none if the file is of another kind or contains no acceptance. Mistakes are noted.
struct AcceptanceFormat {
  std::string_view title;
  std::optional<ServedAcceptance> (*read)(const AcceptanceFile&);
};
std::span<const AcceptanceFormat> acceptance_formats();

std::optional<ServedAcceptance> acceptance_in_benchmark(const AcceptanceFile&);  // vLLM, SGLang
std::optional<ServedAcceptance> acceptance_in_trtllm_bench(const AcceptanceFile&);
std::optional<ServedAcceptance> acceptance_in_responses(const AcceptanceFile&);   // vLLM's per-request metrics
std::optional<ServedAcceptance> acceptance_in_prometheus(const AcceptanceFile&);  // answers of /api/v1/query
std::optional<ServedAcceptance> acceptance_in_metrics(const AcceptanceFile&);     // of a server's /metrics
std::optional<ServedAcceptance> acceptance_in_vllm_log(const AcceptanceFile&);
std::optional<ServedAcceptance> acceptance_in_sglang_log(const AcceptanceFile&);
std::optional<ServedAcceptance> acceptance_in_llama_cpp_log(const AcceptanceFile&);

}  // namespace draftline
