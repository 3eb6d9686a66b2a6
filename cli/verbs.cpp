// SPDX-License-Identifier: Apache-2.0
// The verbs that answer a question (api/answer.h): run, simulate, plan, advise and papers.
#include <algorithm>

#include "cli/options.h"
#include "cli/print_answer.h"
#include "papers/inferred_paper.h"

namespace draftline::cli {

namespace {

struct VerbOptions {
  Question question;
  Printed printed;
  FormatOptions formats;
};

// Refuses options for text beside a format on standard output that has no place for them; files may have any format.
void refuse_printed(const VerbOptions& o) {
  const Format printed = o.printed.formats.printed;
  const std::string name = printed == Format::csv ? "--csv" : printed == Format::html ? "--html" : "--json";
  if (o.question.options.kernels && printed == Format::csv) throw CLI::ExcludesError("--explain", name);
  if (o.printed.plot && printed != Format::table) throw CLI::ExcludesError("--plot", name);
}

// Takes the formats, and a word that an option of theirs took from the verb: `run --json s.json`.
void settle(VerbOptions& o, const CLI::App& verb) {
  const bool papers = o.question.verb == "papers";
  if (papers && verb.count("names") == 0) {
    const std::vector<std::string> known = paper_names();
    const std::string word = o.formats.word();
    if (std::ranges::find(known, word) != known.end()) o.question.papers = {o.formats.take_back()};
  }
  if (!papers && o.question.file.empty()) o.question.file = o.formats.take_back();
  if (!papers && o.question.file.empty()) throw CLI::RequiredError("scenario");
  o.printed.formats = o.formats.chosen();
  refuse_printed(o);
}

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
  CLI::Option* add_formats(const std::string& about_json, Csv csv = Csv::yes) {
    options->formats.add(app, about_json, csv);
    return options->formats.json();
  }
  void add_scenario(const std::string& about) {
    app.add_option("scenario", q().file, about + "; - is standard input")->type_name("FILE (REQUIRED)");
    app.add_option("--set", q().settings,
                   "replaces a value of the scenario, as batch_size=[1,8], method.1.draft_length=3 or\n"
                   "workload.arrivals.rate=\"20 /s\"; may be repeated")
        ->type_name("KEY=VALUE")
        ->expected(1)
        ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  void add_jobs(const char* about = "threads (1); the output does not depend on it") {
    app.add_option("--jobs", how().jobs, about)->check(CLI::Range(1, 1024));
  }
  void add_from() {
    app.add_option("--from", q().options.from, "number of first points to skip, to continue an interrupted run");
  }
  void add_dry_run() {
    app.add_flag("--dry-run", how().dry_run, "only print the scenario with its defaults and its number of points");
  }
  void choose(AcrossRanks ranks, Action& chosen) {
    app.callback([options = options, ranks, &verb = app, &chosen] {
      settle(*options, verb);
      chosen = {ranks, [options](const Common& c) { return print_answer(options->question, options->printed, c); }};
    });
  }
};

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  Verb verb(app, "run", "predict every point of a scenario");
  verb.add_scenario("a scenario file; any value in it may be a list (see scenarios/)");
  verb.add_formats("one JSON document, written point by point,");
  verb.add_dry_run();
  verb.app.add_flag("--explain", verb.q().options.kernels, "also the kernels of a step, their work and their times");
  verb.app.add_flag("--plot", verb.how().plot, "also a chart of the speedup over the batch size, as text");
  verb.add_jobs();
  verb.add_from();
  add_seed(verb.app, verb.q().seed, "accepted as in simulate; steady-state predictions use no random numbers");
  verb.choose(AcrossRanks::shares, chosen);
}

void add_simulate(CLI::App& app, Action& chosen) {
  Verb verb(app, "simulate", "simulate serving of a workload: arrivals, batches, KV blocks, speculation");
  Printed& how = verb.how();
  verb.add_scenario("a scenario file with a \"workload\" (docs/reference/scenario.md)");
  verb.add_formats("one JSON document");
  verb.add_dry_run();
  verb.app.add_option("--requests", how.records.requests, "write a row per request to this .csv or .jsonl file");
  verb.app.add_option("--steps", how.records.steps, "write a row per step to this .csv or .jsonl file");
  verb.app.add_option("--timeline", how.records.timeline, "write a .json file for Perfetto or chrome://tracing");
  AskedOptions& options = verb.q().options;
  verb.app.add_flag_callback(
      "--no-oracle", [&options] { options.oracle = false; }, "with --json: omit the run with optimal draft lengths");
  verb.app.add_flag_callback(
      "--no-intervals", [&options] { options.intervals = false; },
      "omit the two runs with steps at the ends of their 90 % interval");
  verb.app.add_flag("--timing", how.timing,
                    "with --json: wall times of the event loop and of pricing, which vary between runs");
  verb.add_jobs("threads for sweeps (1); the output does not depend on it");
  verb.add_from();
  add_seed(verb.app, verb.q().seed, "seed of arrivals, lengths and acceptance");
  verb.choose(AcrossRanks::shares, chosen);
}

void add_plan(CLI::App& app, Action& chosen) {
  Verb verb(app, "plan", "the cheapest fleet that meets the latency targets of a workload");
  verb.add_scenario("a scenario with \"workload\", \"slo\" and optionally \"prices\" (per device and hour)");
  verb.add_formats("one JSON document");
  verb.app.add_option("--max-devices", verb.q().options.most_devices, "limit on the devices of a fleet; default 1024")
      ->check(CLI::Range(1, 100'000));
  add_headroom(verb.app, verb.q().options.headroom);
  verb.add_jobs();
  add_seed(verb.app, verb.q().seed, "seed of arrivals, lengths and acceptance");
  verb.choose(AcrossRanks::shares, chosen);
}

void add_advise(CLI::App& app, Action& chosen) {
  Verb verb(app, "advise", "whether speculation pays, to which batch size and load, and which costs reduce the gain");
  verb.add_scenario(
      "a scenario file, as for run; advise uses the lengths and the arrival process of a \"workload\", and\n"
      "chooses the rates");
  verb.add_formats("one JSON document", Csv::no);
  Printed& how = verb.how();
  verb.app.add_flag_callback(
      "--all", [&how] { how.reasons = Reasons::of_all; },
      "print the reasons for every method, not only for the best; HTML always contains them");
  bool& load = verb.q().options.load;
  verb.app.add_flag_callback(
      "--no-load", [&load] { load = false; }, "omit the advice on load, which needs simulations");
  verb.add_jobs();
  add_seed(verb.app, verb.q().seed, "seed of arrivals and acceptance");
  verb.choose(AcrossRanks::shares, chosen);
}

void add_papers(CLI::App& app, Action& chosen) {
  Verb verb(app, "papers", "recompute the tables of papers: published value, ours, error, and the inputs of each cell");
  verb.q().papers = paper_names();
  verb.app.add_option("names", verb.q().papers, "names of papers; default: all")->check(CLI::IsMember(paper_names()));
  verb.add_formats("every cell with its kind, as one JSON document");
  verb.options->formats.add_markdown(verb.app);
  verb.choose(AcrossRanks::first_alone, chosen);
}

}  // namespace draftline::cli
