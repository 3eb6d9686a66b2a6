// SPDX-License-Identifier: Apache-2.0
#include "cli/program_words.h"

#include <sstream>

namespace draftline::cli {

namespace {

// The words of "TEXT:{cpu,cuda}", as CLI11 describes CLI::IsMember.
std::vector<std::string> choices_in(const std::string& type) {
  std::vector<std::string> choices;
  const std::size_t from = type.find('{'), to = type.find('}');
  if (from == std::string::npos || to == std::string::npos) return choices;
  std::istringstream words(type.substr(from + 1, to - from - 1));
  for (std::string word; std::getline(words, word, ',');) choices.push_back(word);
  return choices;
}

std::string on_one_line(std::string text) {
  for (char& c : text)
    if (c == '\n') c = ' ';
  return text;
}

}  // namespace

VerbWords words_of(const CLI::App& app) {
  VerbWords verb{app.get_name(), on_one_line(app.get_description()), {}};
  for (const CLI::Option* o : app.get_options([](const CLI::Option*) { return true; })) {
    OptionWords words{{}, on_one_line(o->get_description()), choices_in(o->get_type_name())};
    for (const std::string& name : o->get_snames()) words.names.push_back("-" + name);
    for (const std::string& name : o->get_lnames()) words.names.push_back("--" + name);
    words.positional = words.names.empty();
    if (words.positional) words.names.push_back(o->get_name(true));
    words.takes_value = words.positional || o->get_items_expected_max() > 0;
    verb.options.push_back(std::move(words));
  }
  return verb;
}

std::vector<VerbWords> verbs_of(const CLI::App& program) {
  std::vector<VerbWords> verbs;
  for (const CLI::App* verb : program.get_subcommands([](const CLI::App*) { return true; }))
    verbs.push_back(words_of(*verb));
  return verbs;
}

}  // namespace draftline::cli
