// SPDX-License-Identifier: Apache-2.0
// `draftline simulate SCENARIO`: a discrete-event simulation of a server with a scenario's workload.
#include <iostream>
#include <optional>

#include "cli/command.h"
#include "cli/in_order.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "reports/point.h"
#include "reports/serving_records.h"
#include "reports/simulate_report.h"

namespace draftline::cli {

namespace {

struct SimulateOptions {
  std::string scenario;
  Format format = Format::table;
  bool dry_run = false, no_oracle = false, timing = false;
  int jobs = 1;
  std::uint64_t seed = 0;
  std::size_t from = 0;
  ServingRecords::Files records;
};

int simulate(const SimulateOptions& o, const Common& common) {
  const DocumentText text(o.scenario);
  const auto first = std::make_shared<ServingSweep>(text.document(), common.data);
  first->validate();
  const Scenario& scenario = first->scenario();
  if (o.dry_run) {
    write_resolved(std::cout, scenario);
    return kFine;
  }
  const std::size_t points = scenario.points();
  if (o.from >= points) throw InputErrors("--from: the scenario has " + std::to_string(points) + " points");
  if (o.records.any() && points > 1)
    throw InputErrors(o.scenario + ": has " + std::to_string(points) +
                      " points; records and the timeline are of a single one");
  std::vector<std::filesystem::path> inputs;
  for (const auto& [file, fingerprint] : scenario.document.root().input_files()) inputs.push_back(file);
  check_outputs({{"--requests", o.records.requests}, {"--steps", o.records.steps}, {"--timeline", o.records.timeline}},
                inputs);
  std::unique_ptr<ServingRecords> records;
  if (o.records.any() && common.ranks.first()) records = std::make_unique<ServingRecords>(o.records);
  const auto requests = static_cast<std::size_t>(scenario.serving->choices.front().workload.requests);
  Progress progress("simulating", points > 1 ? points : requests);
  ServingSweep::Options options{
      o.seed, o.format == Format::json && !o.no_oracle, records.get(), {}};  // tables do not show the oracle
  if (points == 1) options.progress = [&](std::int64_t n) { progress.at(static_cast<std::size_t>(n)); };

  Output to = to_standard_output(o.format, {"simulate", common.data, o.seed, {.from = o.from, .oracle = !o.no_oracle}});
  to.timing = o.timing;
  std::unique_ptr<SimulateReport> report;
  std::string reason;
  std::vector<ServingOutcome> skipped;  // nothing is written until one point has run
  const auto take = [&](const ServingOutcome& outcome) {
    if (const auto* why = std::get_if<std::string>(&outcome.result); why != nullptr && !report) {
      if (reason.empty()) reason = *why;
      skipped.push_back({outcome.point, *why});
      return;
    }
    if (!report) {
      report = std::make_unique<SimulateReport>(to, scenario);
      for (const ServingOutcome& s : skipped) report->add(s);
    }
    report->add(outcome);
  };
  // Each worker reads the scenario itself, so that nothing is shared or locked.
  std::optional<Interruptible> interruptible;
  if (points > 1) interruptible.emplace();  // with one point there would be nothing to keep
  std::size_t done = 0;
  in_order<ServingSweep>(
      common.ranks,
      {.from = o.from,
       .to = points,
       .question = question_id(scenario.document.root().input_files(), o.seed),
       .jobs = o.jobs},
      o.jobs == 1 ? first : nullptr,
      [&] {
        auto sweep = std::make_shared<ServingSweep>(text.document(), common.data);
        sweep->validate();
        return sweep;
      },
      [&](ServingSweep& sweep, std::size_t i) { return sweep.at(i, options); },
      [&](const ServingOutcome& outcome) {
        take(outcome);
        ++done;
        if (points > 1) progress.at(done);
      });
  if (!common.ranks.first()) return kFine;
  if (!report && Interruptible::asked()) return interrupted_after(o.from, points);
  if (!report) {
    if (points == 1) throw InputErrors(reason);
    throw InputErrors(scenario.document.root().place() + ": no point of it can run; the first: " + reason);
  }
  report->finish();
  if (records) records->commit();
  return interrupted_after(o.from + done, points);
}

}  // namespace

void add_simulate(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("simulate", "serve a workload: arrivals, batches, KV blocks, speculation");
  auto o = std::make_shared<SimulateOptions>();
  verb->add_option("scenario", o->scenario, "a scenario file with a \"workload\" (docs/reference/scenario.md)")
      ->required();
  add_formats(*verb, o->format, "one JSON document on standard output");
  verb->add_flag("--dry-run", o->dry_run, "only print the scenario with its defaults, and how many points it has");
  verb->add_option("--requests", o->records.requests, "write a row per request to this .csv or .jsonl file");
  verb->add_option("--steps", o->records.steps, "write a row per step to this .csv or .jsonl file");
  verb->add_option("--timeline", o->records.timeline, "write a .json file for Perfetto or chrome://tracing");
  verb->add_flag("--no-oracle", o->no_oracle, "with --json: skip the second run, with perfectly chosen drafts");
  verb->add_flag("--timing", o->timing, "with --json: how long the event loop and its prices took; differs each time");
  verb->add_option("--jobs", o->jobs, "threads for sweeps (1); the output does not depend on it")
      ->check(CLI::Range(1, 1024));
  verb->add_option("--from", o->from, "skip the first points: goes on where an interrupted run stopped");
  add_seed(*verb, o->seed, "of arrivals, lengths and acceptance");
  verb->callback([o, &chosen] { chosen = {AcrossRanks::shares, [o](const Common& c) { return simulate(*o, c); }}; });
}

}  // namespace draftline::cli
