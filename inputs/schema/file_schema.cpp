// SPDX-License-Identifier: Apache-2.0
#include "inputs/schema/file_schema.h"

#include <set>

#include "core/errors.h"
#include "inputs/schema/schema_parts.h"

namespace draftline {

namespace schema {

// An engine's name without its version stands for the newest, and another version for the nearest.
Json name_or_file(const Catalogue& catalogue, std::string_view kind) {
  Json names = Json::array();
  std::set<std::string> stems;
  for (const std::string& name : catalogue.names(std::string(kind))) {
    names.push_back(name);
    if (kind == "engines") stems.insert(name.substr(0, name.rfind('-')));
  }
  for (const std::string& stem : stems) names.push_back(stem);
  Json versions = any_of({Json{{"enum", names}}, Json{{"type", "string"}, {"pattern", "/|\\.json$"}}});
  for (const std::string& stem : stems)
    versions["anyOf"].push_back({{"type", "string"}, {"pattern", "^" + stem + "-[0-9.]+$"}});
  return versions;
}

namespace {

void define(Json& file, std::string_view name, const Json& value) {
  file["$defs"][name] = value;
  file["$defs"][std::string(name) + std::string(kSwept)] = swept(value);
}

Json scenario(const Catalogue& catalogue) {
  Json file = scenario_file();
  define(file, "device", name_or_file(catalogue, "devices"));
  define(file, "engine", name_or_file(catalogue, "engines"));
  define(file, "transformer", any_of({name_or_file(catalogue, "transformers"), described_transformer()}));
  define(file, "acceptance", acceptance());
  for (const auto& [name, part] : parts_of_methods()) define(file, name, part);
  file["$defs"]["method" + std::string(kSwept)] = swept(method());
  return file;
}

Json without_defs(std::string_view kind, const Catalogue& catalogue) {
  if (kind == "scenario") return scenario(catalogue);
  if (kind == "device") return device_file();
  if (kind == "engine") return engine_file();
  if (kind == "transformer") return config_file();
  check(kind == "acceptance", "a kind of file without a schema");
  return acceptance();
}

}  // namespace

}  // namespace schema

schema::Json file_schema(std::string_view kind, const Catalogue& catalogue) {
  schema::Json file{{"$schema", "https://json-schema.org/draft/2020-12/schema"},
                    {"title", "draftline: " + std::string(kind)}};
  file.update(schema::without_defs(kind, catalogue));
  if (kind != "acceptance")  // which is no file of its own
    file["properties"]["$schema"] = {{"type", "string"}, {"description", "this schema, for editors"}};
  return file;
}

}  // namespace draftline
