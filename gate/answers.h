// SPDX-License-Identifier: Apache-2.0
// A question that a verb answers, and its answer computed here: the very document that the verb prints with --json.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/input_files.h"
#include "gate/figures.h"

namespace draftline::gate {

struct Question {
  std::string verb;                 // "run", "simulate", "advise", "plan", "papers" or "calibrate"
  std::filesystem::path file;       // the scenario; of calibrate: the measured file
  std::optional<Json> scenario;     // instead of what the file says; the file still is what its paths are relative to
  std::vector<std::string> papers;  // of papers
  std::uint64_t seed = 0;

  std::string name() const;  // "run scenarios/best_tree.json"
};

struct Answer {
  Json document;
  InputFiles input_files;
};

// InputErrors where the verb would say so. Single-threaded; nothing is printed.
Answer answer(const Question&, const std::filesystem::path& data);

// The question that a document of results repeats; InputErrors if it holds none.
Question question_of(const Json& document, const std::filesystem::path& document_file);

}  // namespace draftline::gate
