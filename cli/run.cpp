// SPDX-License-Identifier: Apache-2.0
// `draftline run SCENARIO`: predicts the points of a scenario's product and writes each result when it is known.
#include <iostream>
#include <optional>

#include "cli/command.h"
#include "cli/in_order.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "predict/sweep.h"
#include "reports/point.h"
#include "reports/run_report.h"

namespace draftline::cli {

namespace {

struct RunOptions {
  std::string scenario;
  Format format = Format::table;
  bool dry_run = false, explain = false;
  int jobs = 1;
  std::uint64_t seed = 0;
  std::size_t from = 0;
};

int run(const RunOptions& o, const Common& common) {
  const DocumentText scenario(o.scenario);
  const auto first = std::make_shared<Sweep>(scenario.document(), common.data);
  if (first->scenario().serving)
    throw InputErrors(first->scenario().document.root().place() + ": has a \"workload\"; `draftline simulate` runs it");
  first->validate();
  if (o.dry_run) {
    write_resolved(std::cout, first->scenario());
    return kFine;
  }
  first->find_one_that_fits();

  constexpr std::size_t kBlock = 256;
  const std::size_t points = first->scenario().points();
  if (o.from >= points) throw InputErrors("--from: the scenario has " + std::to_string(points) + " points");
  std::optional<RunReport> report;
  if (common.ranks.first())
    report.emplace(to_standard_output(o.format, {"run", common.data, o.seed, {.from = o.from, .kernels = o.explain}}),
                   first->scenario());
  Progress progress("predicting", points);

  // Each worker reads the scenario itself, so that nothing is shared or locked.
  const Interruptible interruptible;
  std::size_t done = 0;
  in_order<Sweep>(
      common.ranks,
      {.from = 0,
       .to = (points - o.from + kBlock - 1) / kBlock,
       .question = question_id(first->scenario().document.root().input_files(), o.from),
       .jobs = o.jobs},
      o.jobs == 1 ? first : nullptr, [&] { return std::make_shared<Sweep>(scenario.document(), common.data); },
      [&](Sweep& sweep, std::size_t block) {
        std::vector<Outcome> outcomes;
        const std::size_t begin = o.from + block * kBlock;
        for (std::size_t i = begin; i < std::min(begin + kBlock, points); ++i)
          outcomes.push_back(sweep.at(i, o.explain));
        return outcomes;
      },
      [&](const std::vector<Outcome>& outcomes) {
        for (const Outcome& outcome : outcomes) report->add(outcome);
        progress.at(done += outcomes.size());
      });
  if (!report) return kFine;
  report->finish();
  return interrupted_after(o.from + done, points);
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("run", "what if: predict every point of a scenario");
  auto o = std::make_shared<RunOptions>();
  verb->add_option("scenario", o->scenario, "a scenario file; any value in it may be a list (see scenarios/)")
      ->required();
  auto* json = add_formats(*verb, o->format, "one JSON document on standard output, written as it goes");
  verb->add_flag("--dry-run", o->dry_run, "only print the scenario with its defaults, and how many points it has");
  verb->add_flag("--explain", o->explain, "with --json: the kernels of a step and their times")->needs(json);
  verb->add_option("--jobs", o->jobs, "threads (1); the output does not depend on it")->check(CLI::Range(1, 1024));
  verb->add_option("--from", o->from, "skip the first points: goes on where an interrupted run stopped");
  add_seed(*verb, o->seed, "of what is random; nothing is, in a steady-state prediction");
  verb->callback([o, &chosen] { chosen = {AcrossRanks::shares, [o](const Common& c) { return run(*o, c); }}; });
}

}  // namespace draftline::cli
