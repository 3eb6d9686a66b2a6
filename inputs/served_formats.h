// SPDX-License-Identifier: Apache-2.0
// The kinds of file that served runs are read from (inputs/served_runs): one row and one file for each. And the keys of
// an argument.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/reader.h"
#include "inputs/served_runs.h"

namespace draftline {

constexpr double kMostServedSequences = 1 << 16, kMostServedLength = 1 << 24, kMostServedRows = 1024;

// The keys behind the "@" of an argument.
class ServedArguments {
 public:
  // `at`: the position of the first key; the argument must outlive this object. Throws InputErrors if a key is unknown
  // or repeated.
  ServedArguments(const std::string& argument, std::size_t at);
  std::optional<std::string> text(const std::string& key) const;
  std::optional<double> number(const std::string& key, double least, double most) const;  // InputErrors if not a number
  void complete(ServedRun&) const;  // sets values that are not in the file

 private:
  [[noreturn]] void fail(const std::string& what) const;
  const std::string& argument_;
  std::map<std::string, std::string> values_;
};

// The values of one file of JSON: a document, JSON lines or an array (inputs/formats/json_values).
using ServedValues = std::vector<Reader>;

struct ServedFormat {
  std::string_view title;
  bool (*is)(const Reader& value);  // whether the first value is of this kind
  std::vector<ServedRun> (*read)(const ServedValues&, const ServedArguments&);  // mistakes are noted
};
std::span<const ServedFormat> served_formats();  // of JSON

ServedFormat serving_benchmark();  // vLLM's `bench serve`, SGLang's bench_serving
ServedFormat latency_benchmark();  // vLLM's `bench latency`
ServedFormat guidellm_benchmark();
ServedFormat aiperf_export();
ServedFormat aiperf_records();
ServedFormat trtllm_bench();
ServedFormat llama_bench();
ServedFormat llama_batched_bench();
ServedFormat llama_cpp_steps();  // tools/engines/llama_cpp_steps.py

std::vector<ServedRun> read_served_table(const std::filesystem::path&);  // CSV

}  // namespace draftline
