// SPDX-License-Identifier: Apache-2.0
// A question to a verb: the arguments of `draftline run SCENARIO` and similar commands.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/reader.h"
#include "reports/output.h"

namespace draftline {

struct Question {
  std::string verb = {};                   // is_question_verb()
  std::filesystem::path file = {};         // the scenario; for "calibrate" the measured file
  std::optional<std::string> text = {};    // replaces the content of the file, to which its paths remain relative
  std::vector<std::string> settings = {};  // of values of the scenario (inputs/settings.h)
  std::vector<std::string> papers = {};    // names, for "papers"
  std::uint64_t seed = 0;
  AskedOptions options = {};
  std::string verb_place = {};  // place of the verb for messages: "pins.json#/pins/0/verb"; "" if it is not from a file

  std::string name() const;  // "run best_tree.json"
};

bool is_question_verb(const std::string&);  // "run", "simulate", "plan", "advise", "papers" and "calibrate"
std::string read_verb(const Reader&);       // notes a mistake and returns "" unless it is such a verb
std::uint64_t read_seed(const Reader&);     // 0 to 2^64 - 1; anything else is noted as a mistake and returns 0

// The question that a document of results contains with its answer. Throws InputErrors if there is none.
Question question_of(const Document&);

}  // namespace draftline
