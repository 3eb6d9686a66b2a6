// SPDX-License-Identifier: Apache-2.0
// A scenario from a question in a few words: a model, a GPU and a method (`draftline ask`).
#pragma once
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "inputs/catalogue.h"

namespace draftline {

// The words as they are given. Counts are "8", "1,8,64" or "1..5"; none: a default, which is stated.
struct ShortQuestion {
  std::string model, gpu;
  std::optional<std::string> engine, tensor_parallel, precision;
  std::vector<std::string> methods;  // names, also those of the engine
  std::optional<std::string> draft;  // the draft network of methods that need one
  std::optional<std::string> draft_lengths, batches, prompts, outputs;
  std::optional<std::string> acceptance;  // a server's file, a trace by name, rates, or JSON
  std::optional<std::string> rate;        // of requests, "20" or "20 /s": adds a workload
  std::vector<std::string> targets;       // "ttft_p99=2 s"
  bool plans = false;                     // whether a fleet is planned, which requires targets
  std::filesystem::path scenario;         // the file that the scenario becomes, to which its paths are relative
};

struct AskedScenario {
  std::string json;                      // with an end of line
  std::vector<std::string> assumptions;  // sentences on what the question does not say
};

// Throws InputErrors, which name the option of `draftline ask`.
AskedScenario scenario_of_question(const ShortQuestion&, const Catalogue&);

// The scenario without its workload, at these batch sizes.
std::string scenario_by_batch(const std::string& json, const std::string& batches);

}  // namespace draftline
