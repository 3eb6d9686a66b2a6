// SPDX-License-Identifier: Apache-2.0
// The verbs that answer a question (api/answer.h): run, simulate, plan, advise and papers.
#include "cli/ask.h"
#include "cli/options.h"
#include "papers/inferred_paper.h"

namespace draftline::cli {

namespace {

struct VerbOptions {
  Question question;
  Printed printed;
};

// A verb with a scenario, or with papers, and its formats.
struct Verb {
  CLI::App& app;
  std::shared_ptr<VerbOptions> options;

  Verb(CLI::App& program, const char* name, const char* about)
      : app(*program.add_subcommand(name, about)), options(std::make_shared<VerbOptions>()) {
    options->question.verb = name;
  }
  Question& q() { return options->question; }
  Printed& how() { return options->printed; }
  void add_scenario(const char* about) { app.add_option("scenario", q().file, about)->required(); }
  void add_jobs(const char* about = "threads (1); the output does not depend on it") {
    app.add_option("--jobs", how().jobs, about)->check(CLI::Range(1, 1024));
  }
  void add_from() {
    app.add_option("--from", q().options.from, "skip the first points: goes on where an interrupted run stopped");
  }
  void add_dry_run() {
    app.add_flag("--dry-run", how().dry_run, "only print the scenario with its defaults, and how many points it has");
  }
  void choose(AcrossRanks ranks, Action& chosen) {
    app.callback([options = options, ranks, &chosen] {
      chosen = {ranks, [options](const Common& c) { return ask(options->question, options->printed, c); }};
    });
  }
};

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  Verb verb(app, "run", "what if: predict every point of a scenario");
  verb.add_scenario("a scenario file; any value in it may be a list (see scenarios/)");
  auto* json = add_formats(verb.app, verb.how().format, "one JSON document on standard output, written as it goes");
  verb.add_dry_run();
  verb.app.add_flag("--explain", verb.q().options.kernels, "with --json: the kernels of a step and their times")
      ->needs(json);
  verb.add_jobs();
  verb.add_from();
  add_seed(verb.app, verb.q().seed, "of what is random; nothing is, in a steady-state prediction");
  verb.choose(AcrossRanks::shares, chosen);
}

void add_simulate(CLI::App& app, Action& chosen) {
  Verb verb(app, "simulate", "serve a workload: arrivals, batches, KV blocks, speculation");
  Printed& how = verb.how();
  verb.add_scenario("a scenario file with a \"workload\" (docs/reference/scenario.md)");
  add_formats(verb.app, how.format, "one JSON document on standard output");
  verb.add_dry_run();
  verb.app.add_option("--requests", how.records.requests, "write a row per request to this .csv or .jsonl file");
  verb.app.add_option("--steps", how.records.steps, "write a row per step to this .csv or .jsonl file");
  verb.app.add_option("--timeline", how.records.timeline, "write a .json file for Perfetto or chrome://tracing");
  bool& oracle = verb.q().options.oracle;
  verb.app.add_flag_callback(
      "--no-oracle", [&oracle] { oracle = false; }, "with --json: skip the second run, with perfectly chosen drafts");
  verb.app.add_flag("--timing", how.timing,
                    "with --json: how long the event loop and its prices took; differs each time");
  verb.add_jobs("threads for sweeps (1); the output does not depend on it");
  verb.add_from();
  add_seed(verb.app, verb.q().seed, "of arrivals, lengths and acceptance");
  verb.choose(AcrossRanks::shares, chosen);
}

void add_plan(CLI::App& app, Action& chosen) {
  Verb verb(app, "plan", "the cheapest fleet that meets the latency targets of a workload");
  verb.add_scenario("a scenario with \"workload\", \"slo\" and, if wished, \"prices\" (per device and hour)");
  add_formats(verb.app, verb.how().format, "one JSON document on standard output");
  verb.app.add_option("--max-devices", verb.q().options.most_devices, "look no further; 1024 if not given")
      ->check(CLI::Range(1, 100'000));
  verb.add_jobs();
  add_seed(verb.app, verb.q().seed, "of arrivals, lengths and acceptance");
  verb.choose(AcrossRanks::shares, chosen);
}

void add_advise(CLI::App& app, Action& chosen) {
  Verb verb(app, "advise", "does speculation pay, up to which batch and load, and what eats the gain");
  verb.add_scenario(
      "a scenario file, as for run; of a \"workload\" its lengths and arrival process are used, at rates of "
      "advise's own");
  add_formats(verb.app, verb.how().format, "one JSON document on standard output", Csv::no);
  verb.app.add_flag("--all", verb.how().all_reasons,
                    "the reasons of every method, not of the best alone; a page always has them");
  bool& load = verb.q().options.load;
  verb.app.add_flag_callback(
      "--no-load", [&load] { load = false; }, "skip the question of load, which is simulated");
  verb.add_jobs();
  add_seed(verb.app, verb.q().seed, "of arrivals and acceptance");
  verb.choose(AcrossRanks::shares, chosen);
}

void add_papers(CLI::App& app, Action& chosen) {
  Verb verb(app, "papers", "regenerate the papers' tables: paper, ours, error, and what each cell needs");
  verb.q().papers = paper_names();
  verb.app.add_option("names", verb.q().papers, "which papers; all that are known if none is named")
      ->check(CLI::IsMember(paper_names()));
  Format& format = verb.how().format;
  add_formats(verb.app, format, "every cell with its kind, as one JSON document");
  verb.app
      .add_flag_callback(
          "--markdown", [&format] { format = Format::markdown; }, "Markdown on standard output")
      ->excludes("--json")
      ->excludes("--csv")
      ->excludes("--html");
  verb.choose(AcrossRanks::first_alone, chosen);
}

}  // namespace draftline::cli
