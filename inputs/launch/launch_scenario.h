// SPDX-License-Identifier: Apache-2.0
// A scenario from the line that starts a server of vLLM, SGLang, TensorRT-LLM or llama.cpp (`draftline from`).
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inputs/catalogue.h"
#include "inputs/launch/launch_flags.h"

namespace draftline {

struct LaunchOptions {
  std::optional<std::string> device;       // a line names none; none: h100-sxm, with a note
  std::optional<std::string> transformer;  // in place of the line's
  std::optional<std::string> acceptance;   // JSON; none: a guess
  std::optional<std::string> rate;         // of requests, "6 /s": adds a workload, and with it the scheduler's keys
};

struct LaunchScenario {
  std::string json;               // with an end of line
  std::vector<LaunchNote> notes;  // one for each flag, in order, and for what a line does not say
};

// Throws InputErrors if the text starts no known server, or with the reason why its network is not known.
LaunchScenario scenario_of_line(std::string_view text, const LaunchOptions&, const Catalogue&);

}  // namespace draftline
