// SPDX-License-Identifier: Apache-2.0
// Where a report goes, in which form, and what was asked.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>

namespace draftline {

enum class Format { table, csv, json };

// What a verb's options changed of its answer.
struct AskedOptions {
  std::size_t from = 0;     // run, simulate: the first point
  bool oracle = true;       // simulate: also with perfectly chosen drafts
  bool load = true;         // advise: also up to which load it pays
  int most_devices = 1024;  // plan
};

// The document of results repeats it, so that `draftline check` can ask again.
struct Asked {
  std::string verb;            // "run", "simulate", ..
  std::filesystem::path data;  // the folder data/
  std::uint64_t seed = 0;
  AskedOptions options = {};
};

struct Output {
  std::ostream& stream;
  Format format = Format::table;
  Asked asked;
  std::size_t width = 0;  // of the terminal; 0: no limit
  bool timing = false;    // JSON tells wall times too, which differ from run to run
};

}  // namespace draftline
