// SPDX-License-Identifier: Apache-2.0
// Completion scripts of bash, zsh and fish, from the verbs and options that --help has.
#include <array>
#include <iostream>
#include <sstream>

#include "cli/command.h"
#include "cli/program_words.h"

namespace draftline::cli {

namespace {

constexpr std::array<std::string_view, 3> kShells{"bash", "zsh", "fish"};

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

// Text between single quotes of bash or zsh.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string(R"('\'')") : std::string(1, c);
  return out + "'";
}

// Text between single quotes of fish, in which a backslash precedes a quote and a backslash.
std::string quoted_for_fish(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += (c == '\'' || c == '\\' ? "\\" : "") + std::string(1, c);
  return out + "'";
}

std::vector<std::string> names_of(const VerbWords& verb) {
  std::vector<std::string> names;
  for (const OptionWords& o : verb.options)
    if (!o.positional) names.insert(names.end(), o.names.begin(), o.names.end());
  return names;
}

std::vector<std::string> positional_choices(const VerbWords& verb) {
  std::vector<std::string> choices;
  for (const OptionWords& o : verb.options)
    if (o.positional) choices.insert(choices.end(), o.choices.begin(), o.choices.end());
  return choices;
}

// Files are completed where a word may be anything.
std::string bash_script(const CLI::App& program) {
  std::ostringstream out;
  std::vector<std::string> verbs;
  for (const VerbWords& v : verbs_of(program)) verbs.push_back(v.name);
  out << "# bash completion of draftline\n_draftline() {\n  local word=${COMP_WORDS[COMP_CWORD]} verb='' at=1\n"
      << "  local before=${COMP_WORDS[COMP_CWORD-1]} words=''\n"
      << "  while ((at < COMP_CWORD)); do\n    case ${COMP_WORDS[at]} in\n      --data) ((at += 1)) ;;\n      -*) ;;\n"
      << "      *) verb=${COMP_WORDS[at]}; break ;;\n    esac\n    ((at += 1))\n  done\n  case $verb in\n    '')\n"
      << "      if [[ $word == -* ]]; then words=" << quoted(joined(names_of(words_of(program)))) << "\n"
      << "      elif [[ $before != --data ]]; then words=" << quoted(joined(verbs)) << "; fi ;;\n";
  for (const VerbWords& v : verbs_of(program)) {
    out << "    " << v.name << ")\n      case $before in\n";
    for (const OptionWords& o : v.options)
      if (!o.choices.empty() && !o.positional)
        out << "        " << o.longest() << ") words=" << quoted(joined(o.choices)) << " ;;\n";
    out << "        *)\n          if [[ $word == -* ]]; then words=" << quoted(joined(names_of(v))) << "\n";
    out << "          else words=" << quoted(joined(positional_choices(v))) << "; fi ;;\n      esac ;;\n";
  }
  out << "  esac\n  if [[ -n $words ]]; then mapfile -t COMPREPLY < <(compgen -W \"$words\" -- \"$word\")\n"
      << "  else compopt -o filenames; mapfile -t COMPREPLY < <(compgen -f -- \"$word\"); fi\n}\n"
      << "complete -F _draftline draftline\n";
  return out.str();
}

// A colon and brackets end parts of a specification of _arguments.
std::string escaped_for_zsh(const std::string& text) {
  std::string out;
  for (const char c : text) out += (c == ':' || c == '[' || c == ']' ? "\\" : "") + std::string(1, c);
  return out;
}

std::string zsh_value(const OptionWords& o) {
  return o.choices.empty() ? ":value:_files" : ":value:(" + joined(o.choices) + ")";
}

void add_zsh_options(std::ostream& out, const VerbWords& verb) {
  for (const OptionWords& o : verb.options)
    for (const std::string& name : o.names)
      if (!o.positional)
        out << " \\\n        "
            << quoted(name + "[" + escaped_for_zsh(o.about) + "]" + (o.takes_value ? zsh_value(o) : ""));
}

// The words from the verb on are completed as a command of their own, so that options of the program may precede it.
std::string zsh_script(const CLI::App& program) {
  std::ostringstream out;
  out << "#compdef draftline\n_draftline() {\n  local curcontext=$curcontext state\n  local -a line verbs\n  typeset "
         "-A opt_args\n  verbs=(\n";
  for (const VerbWords& v : verbs_of(program)) out << "    " << quoted(v.name + ":" + escaped_for_zsh(v.about)) << "\n";
  out << "  )\n  _arguments -C";
  add_zsh_options(out, words_of(program));
  out << " \\\n        '1:verb:->verb' '*::word:->words'\n  case $state in\n    verb) _describe verb verbs; return ;;\n"
      << "    words) ;;\n    *) return ;;\n  esac\n  case $line[1] in\n";
  for (const VerbWords& v : verbs_of(program)) {
    out << "    " << v.name << ")\n      _arguments";
    add_zsh_options(out, v);
    const auto choices = positional_choices(v);
    out << " \\\n        " << quoted(choices.empty() ? "*:file:_files" : "*:word:(" + joined(choices) + ")") << " ;;\n";
  }
  out << "  esac\n}\nif [[ $funcstack[1] == _draftline ]]; then _draftline; else compdef _draftline draftline; fi\n";
  return out.str();
}

std::string fish_options(const VerbWords& verb, const std::string& condition) {
  std::string out;
  for (const OptionWords& o : verb.options) {
    if (o.positional && o.choices.empty()) continue;
    out += "complete -c draftline -n " + quoted_for_fish(condition);
    for (const std::string& name : o.names)
      if (!o.positional) out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
    if (o.takes_value && !o.positional) out += " -r";
    if (!o.choices.empty()) out += " -f -a " + quoted_for_fish(joined(o.choices));
    out += " -d " + quoted_for_fish(o.about) + "\n";
  }
  return out;
}

// Whether the words before the cursor have a verb. fish's own functions take the folder of --data for one.
constexpr std::string_view kFishVerb = R"(function __draftline_verb_is
    set -l words (commandline -opc)
    set -e words[1]
    set -l verb ''
    while set -q words[1]
        switch $words[1]
            case --data
                set -q words[2]; and set -e words[2]
            case '-*'
            case '*'
                set verb $words[1]
                break
        end
        set -e words[1]
    end
    test "$verb" = "$argv[1]"
end
)";

std::string fish_script(const CLI::App& program) {
  const std::string verb_is = "__draftline_verb_is ", no_verb = verb_is + "''";
  std::string out = "# fish completion of draftline\n" + std::string(kFishVerb);
  for (const VerbWords& v : verbs_of(program))
    out += "complete -c draftline -n " + quoted_for_fish(no_verb) + " -f -a " + v.name + " -d " +
           quoted_for_fish(v.about) + "\n";
  out += fish_options(words_of(program), no_verb);
  for (const VerbWords& v : verbs_of(program)) out += fish_options(v, verb_is + v.name);
  return out;
}

}  // namespace

void add_completion(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("completion", "print the completion script of a shell");
  auto shell = std::make_shared<std::string>();
  verb->add_option("shell", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember(std::vector<std::string>(kShells.begin(), kShells.end())));
  verb->callback([shell, &app, &chosen] {
    chosen = {
        AcrossRanks::first_alone, [shell, &app](const Common&) {
          std::cout << (*shell == "bash" ? bash_script(app) : *shell == "zsh" ? zsh_script(app) : fish_script(app));
          return kFine;
        }};
  });
}

}  // namespace draftline::cli
