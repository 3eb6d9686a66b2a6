// SPDX-License-Identifier: Apache-2.0
// The destination and format of a report, and the question that it answers.
#pragma once
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <ostream>
#include <string>

namespace draftline {

enum class Format { table, markdown, html, csv, json };
inline bool for_people(Format f) { return f == Format::table || f == Format::markdown || f == Format::html; }

inline constexpr double kMostHeadroom = 9;  // of a plan, as a share of the load

// The options of a verb that change its answer.
struct AskedOptions {
  std::size_t from = 0;     // run, simulate: the first point
  bool kernels = false;     // run: also the times of a step's kernels
  bool oracle = true;       // simulate: also run the oracle policy
  bool intervals = true;    // simulate: also run with steps at the ends of their 90 % interval
  bool load = true;         // advise: also find the load up to which speculation pays
  int most_devices = 1024;  // plan: the largest fleet
  double headroom = 0.1;    // plan: additional load, as a share, under which fleets must meet the targets
};

// The question of a report. JSON documents contain it, so that `draftline check` can recompute the answer.
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
  bool plot = false;      // whether text ends with a chart
  bool timing = false;    // whether JSON contains wall times, which differ from run to run
};

}  // namespace draftline
