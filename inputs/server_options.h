// SPDX-License-Identifier: Apache-2.0
// The options of a server that change the mode of its steps (model/engines/step_mode), as a scenario gives them in the
// engine's own words: vLLM's "enforce_eager", "cudagraph_mode" and "async_scheduling", SGLang's
// "disable_overlap_schedule"; and "host_speed", of any engine.
#pragma once
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "inputs/scenario.h"

namespace draftline {

// What the engine calls a method; "" if it has no such method.
std::string_view engine_name(const MethodSpec&, const Engine&);

// Reads the options and replaces each engine of the scenario by one engine for each combination of their values. Notes
// options that an engine does not have, that exclude each other, or that it refuses with a method.
void read_server_options(const Reader& scenario, Scenario&);

// The options that were given, as text behind the engine's name: ", enforce_eager".
std::string options_text(const Engine&);

// Every option that the engine has, with the value that holds for plain decoding of the network.
struct ServerOption {
  std::string_view key;
  std::variant<bool, double, std::string_view> value;
};
std::vector<ServerOption> server_options(const Engine&, const TransformerShape&);

}  // namespace draftline
