// SPDX-License-Identifier: Apache-2.0
// The profile of an engine as one server runs it: the shipped one, with what was fitted to the server's benchmark in
// the place of its values (docs/recipes/your_server.md).
#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "model/engines/engine_fields.h"

namespace draftline {

struct ProfileValue {
  const EngineField* field;
  double value, low, high;  // in base units; 90 % interval
  bool learned = true;      // false: the benchmark says next to nothing of it, so that it is the prior's guess
};

struct ServedProfile {
  std::filesystem::path shipped;  // the profile that it was fitted from
  std::string name, title, source, locator;
  bool padded;  // false: without the sizes of the engine's graphs
  std::vector<ProfileValue> values;
};

nlohmann::ordered_json profile_of(const ServedProfile&);

}  // namespace draftline
