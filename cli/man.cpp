// SPDX-License-Identifier: Apache-2.0
// The manual page draftline(1) in the macros of man(7), from the texts of --help.
#include <iostream>
#include <sstream>

#include "cli/command.h"
#include "cli/program_words.h"
#include "core/build_info.h"

namespace draftline::cli {

namespace {

// Text of a page: a backslash and a hyphen are characters of their own, and no line begins with a request.
std::string roff(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\') out += "\\e";
    else if (c == '-') out += "\\-";
    else out += c;
  }
  return out.starts_with('.') || out.starts_with('\'') ? "\\&" + out : out;
}

std::string roff_lines(const std::string& text) {
  std::istringstream lines(text);
  std::string out;
  for (std::string line; std::getline(lines, line);) out += roff(line) + "\n";
  return out;
}

std::string options_of(const VerbWords& verb) {
  std::ostringstream out;
  for (const OptionWords& o : verb.options) {
    std::string names;
    for (const std::string& name : o.names) names += (names.empty() ? "" : ", ") + name;
    out << ".TP\n.B " << roff(names) << (o.takes_value && !o.positional ? " \\fIVALUE\\fR" : "") << "\n"
        << roff(o.about) << "\n";
    if (!o.choices.empty()) {
      std::string choices;
      for (const std::string& choice : o.choices) choices += (choices.empty() ? "" : ", ") + choice;
      out << "One of " << roff(choices) << ".\n";
    }
  }
  return out.str();
}

std::string synopsis_of(const VerbWords& verb) {
  std::string text = ".B draftline " + verb.name + "\n[\\fIOPTIONS\\fR]";
  for (const OptionWords& o : verb.options)
    if (o.positional) text += " \\fI" + roff(o.names.front()) + "\\fR";
  return text + "\n";
}

std::string page(const CLI::App& program) {
  std::ostringstream out;
  const VerbWords whole = words_of(program);
  out << ".TH DRAFTLINE 1 \"\" \"draftline " << build_version() << "\" \"User commands\"\n"
      << ".SH NAME\ndraftline \\- predicts the gain of speculative decoding\n.SH SYNOPSIS\n"
      << ".B draftline\n[\\fIOPTIONS\\fR] \\fIVERB\\fR ...\n.SH DESCRIPTION\n"
      << roff_lines(program.get_description()) << ".SH OPTIONS\n"
      << options_of(whole) << ".SH VERBS\n";
  for (const VerbWords& verb : verbs_of(program))
    out << ".SS " << verb.name << "\n" << synopsis_of(verb) << ".PP\n" << roff(verb.about) << "\n" << options_of(verb);
  out << ".SH EXIT STATUS\n" << roff_lines(program.get_footer());
  return out.str();
}

}  // namespace

void add_man(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("man", "print the manual page, for man(1)");
  verb->callback([&app, &chosen] {
    chosen = {AcrossRanks::first_alone, [&app](const Common&) {
                std::cout << page(app);
                return kFine;
              }};
  });
}

}  // namespace draftline::cli
