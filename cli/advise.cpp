// SPDX-License-Identifier: Apache-2.0
// `draftline advise SCENARIO`: what to use and up to which batch and load, the draft lengths by batch, and which costs
// reduce the gain.
#include <algorithm>
#include <iostream>

#include "cli/command.h"
#include "cli/in_order.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "reports/advise_report.h"
#include "sim/advice_sweep.h"

namespace draftline::cli {

namespace {

struct AdviseOptions {
  std::string scenario;
  Format format = Format::table;
  bool no_load = false, all = false;
  int jobs = 1;
  std::uint64_t seed = 0;
};

int advise_all(const AdviseOptions& o, const Common& common) {
  const DocumentText text(o.scenario);
  const auto make = [&] { return std::make_shared<AdviceSweep>(text.document(), common.data, !o.no_load); };
  const auto first = make();
  const std::size_t points = first->size();
  Progress progress("advising", points);
  const Interruptible interruptible;
  std::vector<Advice> advices;
  in_order<AdviceSweep>(
      common.ranks,
      {.from = 0,
       .to = points,
       .question = question_id(first->scenario().document.root().input_files(), o.seed),
       .jobs = o.jobs},
      o.jobs == 1 ? first : nullptr, make, [&](AdviceSweep& sweep, std::size_t i) { return sweep.at(i, o.seed); },
      [&](Advice& a) {
        advices.push_back(std::move(a));
        progress.at(advices.size());
      });
  if (!common.ranks.first()) return kFine;
  const bool done = advices.size() == points;
  if (!done) std::cerr << "interrupted: only " << advices.size() << " of " << points << " methods were looked at\n";
  write_advice(to_standard_output(o.format, {"advise", common.data, o.seed, {.load = !o.no_load}}), first->scenario(),
               advices, o.all);
  if (!done) return Interruptible::exit_code();
  const bool runs = std::any_of(advices.begin(), advices.end(), [](const Advice& a) { return a.obstacle.empty(); });
  if (!runs)
    throw InputErrors(first->scenario().document.root().place() +
                      ": no method of it can run; the first: " + advices.front().obstacle);
  return kFine;
}

}  // namespace

void add_advise(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("advise", "does speculation pay, up to which batch and load, and what eats the gain");
  auto o = std::make_shared<AdviseOptions>();
  verb->add_option(
          "scenario", o->scenario,
          "a scenario file, as for run; of a \"workload\" its lengths and arrival process are used, at rates of "
          "advise's own")
      ->required();
  add_formats(*verb, o->format, "one JSON document on standard output", Csv::no);
  verb->add_flag("--all", o->all, "the reasons of every method, not of the best alone; a page always has them");
  verb->add_flag("--no-load", o->no_load, "skip the question of load, which is simulated");
  verb->add_option("--jobs", o->jobs, "threads (1); the output does not depend on it")->check(CLI::Range(1, 1024));
  add_seed(*verb, o->seed, "of arrivals and acceptance");
  verb->callback([o, &chosen] { chosen = {AcrossRanks::shares, [o](const Common& c) { return advise_all(*o, c); }}; });
}

}  // namespace draftline::cli
