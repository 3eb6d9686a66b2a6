// SPDX-License-Identifier: Apache-2.0
// The flags of an engine's server, each with what it means to a scenario: a table for each engine. Sources: vLLM's
// vllm/engine/arg_utils.py, SGLang's srt/server_args.py, TensorRT-LLM's commands/serve.py and llama.cpp's
// common/arg.cpp.
#pragma once
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace draftline {

// What becomes of a flag. used: a key of the scenario. free: it costs nothing in a step. left_out: a scenario can't
// have it, or not so. unknown: it is not in the table.
enum class FlagUse { used, free, left_out, unknown };

struct LaunchNote {
  std::string flag;  // with its value
  FlagUse use;
  std::string what;  // the key, or the reason
};

// What a line says so far.
struct Launched {
  using Json = nlohmann::ordered_json;
  std::string model;           // as given
  Json keys = Json::object();  // of the scenario
  Json precision = Json::object(), scheduler = Json::object(), speculation = Json::object();
  int tensor = 1, replicas = 1, expert_groups = 1;
  bool attention_replicas = false, experts_apart = false;  // data-parallel attention; whole experts on each device
};

// Takes the value of a flag and returns the keys that it became, for a note. Throws InputErrors if it is no such value.
using TakeFlag = std::string (*)(Launched&, const std::string& value);

struct LaunchFlag {
  std::string_view names;  // separated by blanks, with dashes for underscores
  FlagUse use;
  bool has_value;
  TakeFlag take = nullptr;    // of used flags
  std::string_view why = {};  // of flags that are left out
};

struct ServedEngine {
  std::string_view name;     // of the engine in a scenario
  std::string_view program;  // a word of the command line behind which the flags begin
  std::string_view image;    // part of a container's name
  bool model_by_position;
  std::span<const LaunchFlag> flags;
  // Makes the method's object of the speculation that the flags gave; null if there is none.
  Launched::Json (*method)(const Launched&, std::vector<LaunchNote>&);
};
std::span<const ServedEngine> served_engines();

ServedEngine vllm_server();
ServedEngine sglang_server();
ServedEngine tensorrt_llm_server();
ServedEngine llama_server();

// Values of flags. InputErrors name the value.
int whole_number(const std::string& value);
double fraction(const std::string& value);
bool is_true(const std::string& value);
Launched::Json json_value(const std::string& value);

// The name of the method that an engine calls `theirs`; "" if none. `parallel`: its variant that drafts in one pass.
std::string method_of_engine(std::string_view engine, const std::string& theirs, bool parallel = false);

}  // namespace draftline
