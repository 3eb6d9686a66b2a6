// SPDX-License-Identifier: Apache-2.0
// How a scenario and one point of its product are named in tables and in JSON.
#pragma once
#include <filesystem>
#include <ostream>
#include <string>

#include "core/json_writer.h"
#include "inputs/scenario.h"
#include "reports/output.h"
#include "reports/table.h"

namespace draftline {

// Columns of what varies, or of `all`; the method and its drafts always stand there.
std::vector<Table::Column> point_columns(const Scenario&, bool all);
std::vector<Cell> point_cells(const Scenario&, const Point&, bool all);
void write_inputs(JsonWriter&, const Scenario&, const Point&);  // "inputs": {..}

// The head of a document of results, which stays open: {"schema_version", "commit", "model", "input_files", "question",
// "resolved". Equal commits, models and input files make equal results.
void begin_document(JsonWriter&, int schema_version, const Asked&, const Scenario&);
void write_program(JsonWriter&, int schema_version);  // "schema_version", "commit", "model"
void write_input_files(JsonWriter&, const InputFiles&, const std::filesystem::path& data);
void write_resolved(std::ostream&, const Scenario&);  // the scenario with its defaults

}  // namespace draftline
