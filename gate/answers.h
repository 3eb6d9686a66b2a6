// SPDX-License-Identifier: Apache-2.0
// A question to a verb of the program, and its answer, the document that the verb prints with --json.
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
  std::filesystem::path file;       // the scenario; for "calibrate" the measured file
  std::optional<Json> scenario;     // replaces the content of the file, to which its paths remain relative
  std::vector<std::string> papers;  // names, for "papers"
  std::uint64_t seed = 0;
  AskedOptions options{.oracle = false};  // pins do not run the oracle, which would double their time
  std::string verb_place;                 // "pins.json#/pins/0/verb"; "" if the verb is in no file

  std::string name() const;  // "run best_tree.json"
};

struct Answer {
  Json document;
  InputFiles input_files;
};

// The answer to a question, computed by this thread; nothing is printed. `data`: the folder data/. Throws InputErrors
// as the verb does.
Answer answer(const Question&, const std::filesystem::path& data);

std::string read_verb(const Reader&);    // notes a mistake and returns "" unless answer() has the verb
std::uint64_t read_seed(const Reader&);  // 0 to 2^64 - 1; anything else is noted as a mistake and returns 0

// The document in a file of results. Throws InputErrors if it is no valid JSON (core/json_parse).
Json read_results(const std::filesystem::path&);
// The question in a file of results, which holds both question and answer. Throws InputErrors if there is none.
Question question_of(const std::filesystem::path&);

}  // namespace draftline::gate
