// SPDX-License-Identifier: Apache-2.0
#include "inputs/launch/named_model.h"

#include <algorithm>

#include "core/errors.h"
#include "core/json_parse.h"
#include "inputs/hub_names.h"

namespace draftline {

NamedModel network_of(const std::string& model, const std::string& option, const Catalogue& catalogue) {
  if (model.empty()) throw InputErrors("the line names no model; give " + option);
  const Files& files = *catalogue.data().files;
  const bool gguf = model.ends_with(".gguf") || model.find(':') != model.npos;
  const auto known = catalogue.names("transformers");
  if (!gguf && files.exists(std::filesystem::path(model) / "config.json"))
    return {model.find('/') == model.npos ? "./" + model : model, {}};
  if (std::ranges::find(known, model) != known.end()) return {model, {}};
  if (const auto alias = hub_network(model, known)) {
    if (is_hub_name(model) && !gguf) return {model, {}};
    return {alias->network, alias->format};
  }
  const std::string own = "./" + model.substr(model.rfind('/') + 1) + "/config.json";
  throw InputErrors("\"" + printable(model) + "\" is of no network that ships: download its config.json and give " +
                    option + " " + printable(own) + " (docs/recipes/your_network.md)");
}

nlohmann::ordered_json guessed_acceptance(bool of_tree) {
  constexpr double kRate = 0.5, kTokens = 2;
  return of_tree ? nlohmann::ordered_json{{"mean_length", kTokens}} : nlohmann::ordered_json{{"rate", kRate}};
}

}  // namespace draftline
