// SPDX-License-Identifier: Apache-2.0
// A measured file: what a probe timed, where and with what (data/measured). Times in seconds; shapes by name. A point
// that could not run is a row with its reason.
#pragma once
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "core/json_writer.h"
#include "core/quantity.h"
#include "core/reader.h"

namespace draftline {

// One reading of the memory reference (probes/memory_reference) on a CPU: the time to read what fits the last-level
// cache (LLC), and the time to read what does not.
struct MemoryTimes {
  Seconds llc, memory;
};

struct MeasuredPoint {
  std::string op;                            // "gemm", "attention", "add", ...
  std::map<std::string, int> shape;          // "rows", "in", "out", ...
  Seconds median = {}, low = {}, high = {};  // quartiles
  int samples = 0, discarded = 0;            // discarded: taken while the clock was off
  std::string skipped = {};                  // why it could not run; then there are no times
  bool device_failed = false;                // that is why: a run that goes on tries it last
  std::optional<MemoryTimes> memory = {};    // of the memory reference just before, on a CPU
  bool same_shape(const MeasuredPoint& o) const { return op == o.op && shape == o.shape; }
  int at(const std::string& name) const;  // InputErrors if the shape has no such number
  int at(const std::string& name, int otherwise) const;
};

// Where measurements come from: the head of every file of them.
struct Provenance {
  std::string device, title, commit, source, locator;  // device: "cpu", "cuda"; title: the machine's
  std::vector<std::string> arguments;
  std::map<std::string, double> machine;                // "last_level_cache" and "memory" in bytes, "cores"
  std::string model = {};                               // of the program; "": a file from before it was written there
  std::map<std::string, std::string> input_files = {};  // fingerprints of what was read for it, by names
  // InputErrors if what lies in `file` was measured on another machine or by another draftline.
  void must_go_on(const Provenance& before, const std::filesystem::path& file) const;
};
// Fingerprints as they are written, by names that do not depend on where the folder `data` lies.
std::map<std::string, std::string> named(const InputFiles&, const std::filesystem::path& data);
std::optional<MemoryTimes> read_memory_times(const Reader&);  // of an object's key "memory_reference", if it is there
void write_memory_times(JsonWriter&, const std::optional<MemoryTimes>&);
// The keys "skipped" and "device_failed" of a point or a cell. Returns whether it was skipped.
bool read_skipped(const Reader&, std::string& why, bool& device_failed);
void write_skipped(JsonWriter&, const std::string& why, bool device_failed);
Provenance read_provenance(const Reader&);  // the keys of an object that has others too
void write_provenance(JsonWriter&, const Provenance&);

struct Measured : Provenance {
  std::vector<MeasuredPoint> points;
  std::filesystem::path file;
  double of_machine(const std::string& name) const;
};

// Refuses another schema, times that are not positive and in order, and a shape measured twice.
Measured read_measured(Reader);
void write_measured(std::ostream&, const Measured&);

}  // namespace draftline
