// SPDX-License-Identifier: Apache-2.0
// The values of engine profiles for people: those of one engine (`draftline list engines NAME`), and the tables of
// docs/reference/engines.md, both from the tables by which profiles are read (model/engines/engine_fields.h).
#pragma once
#include <string>
#include <variant>
#include <vector>

#include "model/engines/engine_fields.h"
#include "reports/figure.h"

namespace draftline {

// What is listed of each value of an engine, which must outlive the result.
Figures<EngineField, std::monostate> values_of(const Engine&);

// The rules of an engine for the mode of a step; without rows if it has none.
Table modes_of(const Engine&);

struct EngineReference {
  std::string heading;  // of the page
  Table table;
};
std::vector<EngineReference> engine_reference();

}  // namespace draftline
