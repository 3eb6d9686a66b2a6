// SPDX-License-Identifier: Apache-2.0
// `draftline ask`: the verdict, the table and the scenario of a question in a few words.
#include <iostream>

#include "cli/options.h"
#include "cli/print_answer.h"
#include "core/json_in_order.h"
#include "core/text_file.h"
#include "inputs/launch/short_question.h"
#include "inputs/settings.h"

namespace draftline::cli {

namespace {

struct AskOptions {
  ShortQuestion question;
  std::vector<std::string> settings;
  FormatOptions formats;
  Printed printed;
  std::uint64_t seed = 0;
};

// Reads the scenario as its verbs will, with its notes.
void check_question(const std::string& json, const AskOptions& o, const std::filesystem::path& file,
                    Catalogue& catalogue) {
  try {
    const Scenario scenario = read_scenario(Document::from_text(json, file), catalogue);
    for (const std::string& note : scenario.document.notes()) print_note(note);
    std::vector<std::filesystem::path> inputs;
    for (const auto& [input, fingerprint] : scenario.document.root().input_files()) inputs.push_back(input);
    check_outputs({{"--write", o.question.scenario}}, inputs);
  } catch (const InputErrors& e) { throw InputErrors(naming_settings(e.messages(), o.settings)); }
}

// Whether a scenario has a method besides plain decoding.
bool has_drafts(const std::string& json) {
  const auto methods = json_in_order(json).at("method");
  return !methods.is_array() || methods.size() > 1;
}

int print_asked(const AskOptions& o, const Common& common) {
  const ShortQuestion& asked = o.question;
  Catalogue catalogue(common.data);
  const AskedScenario made = scenario_of_question(asked, catalogue);
  const std::string json = with_settings(made.json, o.settings);
  Question q;
  q.file = asked.scenario.empty() ? "question" : asked.scenario;
  q.text = json;
  q.seed = o.seed;
  check_question(json, o, q.file, catalogue);
  if (!asked.scenario.empty()) write_text_file(asked.scenario, json);

  const auto print = [&](const char* verb, const Printed& how) {
    q.verb = verb;
    q.options.load = asked.rate.has_value();
    return print_answer(q, how, common);
  };
  const char* verb = asked.plans ? "plan" : asked.rate ? "simulate" : "run";
  Printed how = o.printed;
  how.notes = false;
  if (how.formats.printed != Format::table) {
    for (const std::string& assumption : made.assumptions) print_note("assumed: " + assumption);
    return print(verb, how);
  }
  Printed beside = how;  // of answers without files
  beside.formats = {};
  beside.reasons = Reasons::none;
  if (has_drafts(json)) {
    if (const int code = print("advise", beside); code != kFine) return code;
    std::cout << "\n";
  }
  if (asked.rate && asked.batches) {
    q.text = scenario_by_batch(json, *asked.batches);
    if (const int code = print("run", beside); code != kFine) return code;
    std::cout << "\n";
    q.text = json;
  }
  const int code = print(verb, how);
  if (code != kFine && code != kMissed) return code;
  if (!made.assumptions.empty()) std::cout << "\nAssumed where the question is silent:\n";
  for (const std::string& assumption : made.assumptions) std::cout << "  " << assumption << "\n";
  if (asked.scenario.empty()) std::cout << "\nThe scenario of `draftline " << verb << "` (--write FILE):\n" << json;
  else std::cout << "\nThe same again: draftline " << verb << " " << printable_path(asked.scenario) << "\n";
  return code;
}

}  // namespace

void add_ask(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("ask", "a question in a few words: the verdict, the table and the scenario file");
  auto o = std::make_shared<AskOptions>();
  ShortQuestion& q = o->question;
  const auto add = [verb](const char* name, std::optional<std::string>& value, const char* about) {
    return verb->add_option(name, value, about);
  };
  verb->add_option("--model", q.model, "a name of the Hugging Face hub, a folder, a config.json or a .gguf file")
      ->required();
  verb->add_option("--gpu", q.gpu, "as h100, l40s or a file (`draftline list devices`)")->required();
  add("--tp", q.tensor_parallel, "devices that share each layer; default 1");
  add("--engine", q.engine, "as vllm, vllm-0.24 or sglang; default: vllm");
  add("--precision", q.precision, "of the weights, as fp8; default: the checkpoint's");
  verb->add_option("--method", q.methods, "methods, also by the engine's name: eagle3,ngram; default: eagle3")
      ->delimiter(',');
  add("--draft", q.draft, "the draft network of draft_model and similar methods");
  add("--k", q.draft_lengths, "draft lengths: 3, 1,3,5 or 1..5 (default)");
  add("--batch", q.batches, "batch sizes; default 1,8,64. With --rate: a second table, by batch");
  add("--prompt", q.prompts, "tokens of the prompt; default 512");
  add("--output", q.outputs, "tokens of the output; default 256");
  add("--acceptance", q.acceptance,
      "a server's metrics, log or benchmark; a rate, 0.7; shares by position, 0.8,0.63,0.48; a trace by name\n"
      "(`draftline list traces`); or JSON. Default: a guess");
  add("--rate", q.rate, "requests per second: simulates serving");
  verb->add_flag("--plan", q.plans, "with --rate: the cheapest fleet");
  verb->add_option("--slo", q.targets, "with --rate: a latency target, as ttft_p99=\"500 ms\"; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option("--set", o->settings,
                   "KEY=VALUE: any other key of the scenario, as prices.h100-sxm=2.5; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  verb->add_option("--write", q.scenario, "write the scenario to this file");
  o->formats.add(*verb, "the table alone as one JSON document");
  verb->add_option("--jobs", o->printed.jobs, "threads (1); the output does not depend on it")
      ->check(CLI::Range(1, 1024));
  add_seed(*verb, o->seed, "seed of arrivals, lengths and acceptance");
  verb->footer(
      "Example: draftline ask --model Qwen/Qwen3-32B-FP8 --gpu h100 --tp 2 --method eagle3 --k 1..5 --batch 1,8,64");
  verb->callback([o, &chosen] {
    o->printed.formats = o->formats.chosen();
    chosen = {AcrossRanks::first_alone, [o](const Common& c) { return print_asked(*o, c); }};
  });
}

}  // namespace draftline::cli
