// SPDX-License-Identifier: Apache-2.0
// JSON Schemas (draft 2020-12) of the files that the program reads, for editors. Each part is written as its reader
// is, from the same tables where a reader has one; tests/tools/schema_test.py compares both on right and wrong files.
// Relations between keys are left to the program, unless a schema can state them shortly.
#pragma once
#include <array>
#include <string_view>

#include "core/json_schema.h"
#include "inputs/catalogue.h"

namespace draftline {

// acceptance: the value of a method's key "acceptance".
inline constexpr std::array<std::string_view, 5> kSchemaKinds{"scenario", "device", "engine", "transformer",
                                                              "acceptance"};
// Names of devices, networks and engines are those of the catalogue. Throws Bug for another kind.
schema::Json file_schema(std::string_view kind, const Catalogue&);

}  // namespace draftline
