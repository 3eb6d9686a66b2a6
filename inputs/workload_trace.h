// SPDX-License-Identifier: Apache-2.0
// Recorded requests from public traces and logs of servers.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "core/files.h"

namespace draftline {

inline constexpr int kPrefixBlockTokens = 512;  // size of the hashed blocks in Mooncake's traces

// A request of a recorded trace.
struct RecordedRequest {
  double arrival = 0;                    // seconds after the first request
  int prompt = 0, output = 0, line = 0;  // tokens; the line in the file, from 1, or 0 if there is none
};
// A recorded trace. The format is recognised by its columns or keys: Azure LLM 2023/2024 and BurstGPT (CSV),
// arrived_at/num_prefill_tokens/num_decode_tokens (CSV), JSON lines of several programs
// (inputs/formats/workload_lines), results of vLLM's serving benchmark and ShareGPT's conversations (JSON), a server's
// /metrics (.txt, .prom); also *.gz. read_workload_trace() throws InputErrors with file and line for unknown formats,
// requests without output, and arrivals that are negative or not ascending.
struct WorkloadTrace {
  std::filesystem::path file;
  std::vector<RecordedRequest> requests;
  std::vector<std::vector<int>> prefix_hashes;  // by request: hashes of its prefix blocks; empty: not recorded
  bool has_arrivals = true;                     // false for files that hold only lengths
  std::vector<std::string> notes;               // what is estimated, for users
};
WorkloadTrace read_workload_trace(const std::filesystem::path&, const Files& = disk());

}  // namespace draftline
