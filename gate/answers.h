// SPDX-License-Identifier: Apache-2.0
// A question that a verb answers, and its answer computed here: the very document that the verb prints with --json.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/input_files.h"
#include "core/reader.h"
#include "gate/figures.h"
#include "reports/output.h"

namespace draftline::gate {

struct Question {
  std::string verb;                 // "run", "simulate", "advise", "plan", "papers" or "calibrate"
  std::filesystem::path file;       // the scenario; of calibrate: the measured file
  std::optional<Json> scenario;     // instead of what the file says; the file still is what its paths are relative to
  std::vector<std::string> papers;  // of papers
  std::uint64_t seed = 0;
  AskedOptions options{.oracle = false};  // of a pin: a second run of every point would double its time

  std::string name() const;  // "run best_tree.json"
};

struct Answer {
  Json document;
  InputFiles input_files;
};

// InputErrors where the verb would say so. Single-threaded; nothing is printed.
Answer answer(const Question&, const std::filesystem::path& data);

std::uint64_t read_seed(const Reader&);  // any 64-bit number

// A file of results. JSON is read as strictly as in any input; InputErrors name the place.
Json read_results(const std::filesystem::path&);
// The question that a file of results repeats; InputErrors if it holds none.
Question question_of(const std::filesystem::path&);

}  // namespace draftline::gate
