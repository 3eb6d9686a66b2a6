// SPDX-License-Identifier: Apache-2.0
// A method and its draft lengths as serving engines take them. The drafter's weights are the user's own and not named.
// Names as in vLLM's vllm/config/speculative.py, SGLang's server arguments, TensorRT-LLM's DecodingBaseConfig and
// llama.cpp's server arguments, 2026-11.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "inputs/scenario.h"
#include "reports/launch_line.h"
#include "sim/draft_schedule.h"

namespace draftline {

// vLLM's --speculative-config, with "num_speculative_tokens_per_batch_size": [[from, to, draft length], ..], both ends
// included. `schedule`: of one prompt length; empty: `method`'s own draft length at every batch, if it has one.
// `ranks`: among which tensor parallelism divides the target, and by default the drafter. None if vLLM has no such
// method (also with a drafter's own device), without drafts, or for a tree, which vLLM does not draft.
std::optional<nlohmann::ordered_json> vllm_settings(const MethodSpec& method,
                                                    const std::vector<ScheduledLength>& schedule, int ranks = 1);

// SGLang's flags: the method's own chain or tree, whatever the batch. `running`: sequences at once, where SGLang's
// default is too low. None if SGLang has no such method.
std::optional<std::string> sglang_flags(const MethodSpec& method, std::optional<int> running = {});

// TensorRT-LLM's speculative_config: the method's own chain, to batches of `most_sequences` if there is a limit. None
// if TensorRT-LLM has no such method, and of a tree.
std::optional<nlohmann::ordered_json> tensorrt_llm_settings(const MethodSpec& method,
                                                            std::optional<int> most_sequences = {});

// llama-server's flags: the method's own chain, whatever the batch. None if llama.cpp has no such method.
std::optional<std::string> llama_cpp_flags(const MethodSpec& method);

// What an engine is to run: a method, its draft lengths by batch (empty: its own length at every batch), the ranks that
// share the target, and limits on sequences where the engine's own would lose.
struct SpeculationRequest {
  const MethodSpec& method;
  const std::vector<ScheduledLength>& schedule;
  int ranks = 1;
  std::optional<int> running = {}, most_sequences = {};
};

// How an engine's options are written: a row of the table in the source is all that an engine needs.
struct EngineOptions {
  std::string_view family;                   // Engine::family of its profiles
  std::string_view title;                    // "vLLM"
  std::string_view before = {}, after = {};  // around the settings of lengths by batch
  std::string_view json_key;                 // of the settings in JSON
  std::string_view weights;                  // the option that has the drafter's weights
  std::optional<nlohmann::ordered_json> (*settings)(const SpeculationRequest&);  // an object, or flags as a string
  std::string (*command)(const Launch&, const std::string& settings);            // which starts a server
  std::string_view lengths_since = {};  // the first version that takes lengths by batch; "": none
  std::string_view lengths_price = {};  // what they cost
};
const EngineOptions* options_of(const Engine&);  // null: its options are not known here

// Whether an engine needs the path of the drafter's weights: not for look-ups in texts, nor for a module in the
// target's checkpoint.
bool has_drafter_weights(const MethodSpec& method);

}  // namespace draftline
