// SPDX-License-Identifier: Apache-2.0
// Acceptance traces that ship: "reference/prompt_lookup/code" is data/traces/reference/prompt_lookup/code.jsonl.gz.
// Their acceptance may be borrowed for another target (docs/explanation/traces.md, "By name, and borrowed").
#pragma once
#include <filesystem>
#include <string>
#include <variant>
#include <vector>

#include "core/files.h"

namespace draftline {

std::vector<std::string> shipped_traces(const Data&);  // names, sorted

// Where a trace that ships is from: the origin.json in its folder or in one above it. InputErrors without one.
struct TraceOrigin {
  std::string source, locator;  // a key of data/sources.json, and the place there
};
TraceOrigin origin_of_trace(const std::string& name, const Data&);

struct TraceFile {
  std::filesystem::path path;
  bool ships = false;
};
// The file at the path `name`, relative to `folder`, or else the trace of that name that ships; or why there is none.
// `files`: the source of paths.
std::variant<TraceFile, std::string> find_trace(const std::string& name, const std::filesystem::path& folder,
                                                const Files& files, const Data&);

}  // namespace draftline
