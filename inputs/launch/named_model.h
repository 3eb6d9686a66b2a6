// SPDX-License-Identifier: Apache-2.0
// Values that a command line leaves to a scenario: the network of a model's name, and a guess of the acceptance.
#pragma once
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "inputs/catalogue.h"

namespace draftline {

struct NamedModel {
  std::string name;                    // of the scenario's "transformer"
  std::optional<std::string> weights;  // a format that a GGUF file's name states
};

// The network for which a model stands: a folder with a config.json, a known network, or the last part of a path or
// name as one of the hub. Throws InputErrors that name `option`, by which the path of a config.json is given.
NamedModel network_of(const std::string& model, const std::string& option, const Catalogue&);

// The acceptance where none is known, a guess (docs/recipes/your_acceptance.md).
nlohmann::ordered_json guessed_acceptance(bool of_tree);

}  // namespace draftline
