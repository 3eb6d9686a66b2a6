// SPDX-License-Identifier: Apache-2.0
// Two scenarios, and a folder whose files are edited between calls of the program.
#pragma once
#include "tests/cli/program.h"

namespace draftline {

inline constexpr const char* kScenario = R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
  "batch_size": [1, 8], "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rates": [0.8, 0.7, 0.6]}}})";
inline constexpr const char* kServed = R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
  "method": [{"name": "autoregressive"}, {"name": "eagle3", "draft_length": 2, "acceptance": {"rate": 0.7}}],
  "slo": {"ttft_p99": "1 s"},
  "workload": {"arrivals": {"process": "poisson", "rate": "4 /s"}, "requests": 30}})";

struct EditedFolder : Program {
  void replace(const std::string& name, const std::string& before, const std::string& after) const {
    std::string text = read(name);
    const auto at = text.find(before);
    REQUIRE(at != std::string::npos);
    write(name, text.replace(at, before.size(), after));
  }
};

}  // namespace draftline
