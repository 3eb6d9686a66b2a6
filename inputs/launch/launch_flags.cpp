// SPDX-License-Identifier: Apache-2.0
#include "inputs/launch/launch_flags.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "core/errors.h"
#include "core/json_in_order.h"
#include "core/json_parse.h"
#include "methods/table.h"

namespace draftline {

namespace {

[[noreturn]] void refuse(const std::string& value, const std::string& what) {
  throw InputErrors(in_quotes(value) + " is not " + what);
}

std::string_view name_in(const methods::EngineNames& names, std::string_view engine) {
  if (engine == "vllm") return names.vllm;
  if (engine == "sglang") return names.sglang;
  return engine == "tensorrt-llm" ? names.tensorrt_llm : names.llama_cpp;
}

bool alike(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::span<const ServedEngine> served_engines() {
  static const std::vector<ServedEngine> table{vllm_server(), sglang_server(), tensorrt_llm_server(), llama_server()};
  return table;
}

int whole_number(const std::string& value) {
  int n = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), n);
  if (error != std::errc() || end != value.data() + value.size() || n < 0) refuse(value, "a whole number");
  return n;
}

double fraction(const std::string& value) {
  double v = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), v);
  if (error != std::errc() || end != value.data() + value.size() || !(v >= 0 && v <= 1)) refuse(value, "a share");
  return v;
}

bool is_true(const std::string& value) {
  return value.empty() || alike(value, "true") || value == "1" || value == "on";
}

Launched::Json json_value(const std::string& value) {
  const ParsedJson parsed = parse_json(value);
  if (!parsed.error.empty()) refuse(value, "JSON (" + parsed.error + ")");
  return json_in_order(value);
}

std::string method_of_engine(std::string_view engine, const std::string& theirs, bool parallel) {
  const methods::Entry* found = nullptr;
  for (const methods::Entry& e : methods::all()) {
    if (!alike(name_in(e.engines, engine), theirs) || e.engines.parallel != parallel) continue;
    if (found == nullptr || (e.engines.in_target && !found->engines.in_target)) found = &e;
  }
  return found == nullptr ? "" : std::string(found->name);
}

}  // namespace draftline
