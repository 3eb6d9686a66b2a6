// SPDX-License-Identifier: Apache-2.0
// The parts of which the schemas of files consist (inputs/schema/file_schema.h). Each is of one reader.
#pragma once
#include "core/json_schema.h"
#include "inputs/catalogue.h"
#include "methods/table.h"

namespace draftline::schema {

Json name_or_file(const Catalogue&, std::string_view kind);  // of data/KIND, or a path
// Where a device's numbers and an engine's values come from (model/devices/origin.h).
Keys origin_keys();
Json with_profile_origin(const Keys&);  // an object with these keys and the origin of a profile's value
Json described_transformer();           // model/transformers/described_transformer.h
Json acceptance();                      // inputs/acceptance_reader.cpp
Json shared_prefix();                   // inputs/workload.h
Json precision();                       // inputs/precision_choice.h
Json method();  // methods/method_spec.h; refers to parts_of_methods() and to "acceptance", "device", "engine",
                // "transformer"
std::vector<std::pair<std::string_view, Json>> parts_of_methods();  // by name
Json workload();                                                    // inputs/workload.h
Keys serving_keys();                                                // inputs/serving_choice.h
Json device_file();                                                 // model/devices/device.h
Json engine_file();                                                 // model/engines/engine.h
Json config_file();    // model/transformers/transformer_shape.h, read_transformer()
Json scenario_file();  // inputs/scenario.h; refers to the same as method(), and to "transformer"

}  // namespace draftline::schema
