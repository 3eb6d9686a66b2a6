// SPDX-License-Identifier: Apache-2.0
// The values of one file of data/, each with its origin, for `draftline list KIND NAME`.
#pragma once
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

namespace draftline {

// Where a value comes from: a kind ("quoted", "guess", ..), a key of data/sources.json, the place in it and a reason;
// "" where the file states none.
struct DataOrigin {
  std::string kind, source, locator, because;
  bool operator==(const DataOrigin&) const = default;
};

struct DataValue {
  std::string key;   // "fits/gemm/peak_share"
  std::string text;  // of the value and its interval; long lists are cut
  DataOrigin origin;
};

// In the order of the file. An origin holds for all values below it that have none of their own.
std::vector<DataValue> values_of_file(const nlohmann::ordered_json& file);

// Lines of text: the values below their origins, the guesses, and the sources in full.
std::string data_values_text(const std::vector<DataValue>&);
std::string guesses_text(const std::vector<DataValue>&);
std::string sources_text(const std::set<std::string>& keys, const nlohmann::ordered_json& sources);
std::set<std::string> sources_in(const std::vector<DataValue>&);

}  // namespace draftline
