// SPDX-License-Identifier: Apache-2.0
// `draftline from LINE`: the scenario of a server's command line.
#include <iostream>

#include "cli/command.h"
#include "core/json_parse.h"
#include "core/text_file.h"
#include "inputs/launch/launch_scenario.h"
#include "inputs/scenario.h"
#include "reports/table.h"

namespace draftline::cli {

namespace {

struct FromOptions {
  std::string line;
  std::optional<std::string> device, transformer, acceptance, rate;
};

// The text of a file, if there is one of that name.
std::string line_text(const std::string& line) {
  std::error_code none;
  const bool file = line.size() < 4096 && std::filesystem::is_regular_file(line, none);
  return file ? read_text_file(line) : line;
}

std::string_view said(FlagUse use) {
  switch (use) {
    case FlagUse::used: return "used";
    case FlagUse::free: return "free";
    case FlagUse::left_out: return "left out";
    case FlagUse::unknown: break;
  }
  return "unknown";
}

// Reads the scenario as `run` would; its mistakes become those of the line.
void check_scenario(const std::string& json, Catalogue& catalogue) {
  const Scenario scenario = read_scenario(Document::from_text(json, "the scenario of the line"), catalogue);
  for (const std::string& note : scenario.document.notes()) print_note(note);
}

int from(const FromOptions& o, const Common& common) {
  Catalogue catalogue(common.data);
  const LaunchScenario made =
      scenario_of_line(line_text(o.line), {o.device, o.transformer, o.acceptance, o.rate}, catalogue);
  check_scenario(made.json, catalogue);
  Table table({"flag", "is", "as, or because"});
  for (const LaunchNote& note : made.notes) table.add({printable(note.flag), std::string(said(note.use)), note.what});
  std::cerr << table.to_text(at(text_width()));
  std::cout << made.json;
  return kFine;
}

}  // namespace

void add_from(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("from", "write the scenario of a server's command line");
  auto o = std::make_shared<FromOptions>();
  verb->add_option(
          "line", o->line,
          "the line that starts vllm serve, sglang.launch_server, trtllm-serve or llama-server, in quotes; or a\n"
          "file with it, as a script, or the container of a docker-compose or Kubernetes file")
      ->required();
  verb->add_option("--device", o->device, "the device, which a line does not name; default: h100-sxm");
  verb->add_option("--transformer", o->transformer, "the network, in place of the line's: a name or a config.json");
  verb->add_option("--acceptance", o->acceptance,
                   "JSON, '{\"per_position\": [0.8, 0.6]}'; default: a guess (docs/reference/acceptance.md)");
  verb->add_option("--rate", o->rate, "requests, as \"6 /s\": adds a workload, and the line's scheduler");
  verb->footer(
      "The scenario is written to standard output, and what became of each flag to standard error.\n"
      "Example: draftline from 'vllm serve Qwen/Qwen3-8B -tp 2' --device h200 > s.json && draftline run s.json");
  verb->callback([o, &chosen] { chosen = {AcrossRanks::first_alone, [o](const Common& c) { return from(*o, c); }}; });
}

}  // namespace draftline::cli
