// SPDX-License-Identifier: Apache-2.0
// The profile of an engine on one server: the shipped profile, with values fitted to the server's benchmark
// (docs/recipes/your_server.md).
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
  bool learned = true;      // false: the benchmark hardly determines it, so that it is close to the prior
};

struct ServedProfile {
  std::filesystem::path shipped;  // the profile from which the fit started
  std::string name, title, source, locator;
  bool padded;  // false: without the sizes of the engine's graphs
  std::vector<ProfileValue> values;
  std::vector<RowWork> row_work = {};  // empty: that of the shipped profile, and so is pair_work
  double pair_work = 0;
};

nlohmann::ordered_json profile_of(const ServedProfile&);

}  // namespace draftline
