// SPDX-License-Identifier: Apache-2.0
// `draftline advise SCENARIO`: does speculation pay here, up to which batch and load, with how many drafts, and why not.
#include <iostream>

#include "cli/command.h"
#include "cli/in_order.h"
#include "cli/progress.h"
#include "reports/advise_report.h"

namespace draftline::cli {

namespace {

struct Options {
  std::string scenario;
  bool json = false, no_load = false;
  int jobs = 1;
  std::uint64_t seed = 0;
};

// A thread's own: the scenario, and the same with arrivals.
struct Worker {
  Worker(const Options& o, const std::filesystem::path& data) : sweep(o.scenario, data) {
    sweep.validate();
    if (o.no_load) return;
    serving = std::make_unique<ServingSweep>(with_arrivals(sweep.scenario().document), data);
    serving->validate();
  }
  Sweep sweep;
  std::unique_ptr<ServingSweep> serving;
};

int advise_all(const Options& o, const Common& common) {
  const auto first = std::make_shared<Worker>(o, common.data);
  const Scenario& s = first->sweep.scenario();
  std::vector<int> batches = s.batch_sizes;
  if (batches.size() == 1) batches = {1, 2, 4, 8, 16, 32, 64, 128, 256};
  // The batch turns fastest and the prompt's length is a table's columns: each is asked for once.
  std::vector<std::size_t> points;
  for (std::size_t i = 0; i < s.points(); ++i) {
    const Point p = point_at(s, i);
    if (p.batch == 0 && p.prompt == 0 && p.serving == 0 && s.methods[p.method].name != "autoregressive")
      points.push_back(i);
  }
  if (points.empty()) throw InputErrors(s.document.root().place() + ": no method of it speculates");
  AdviseReport report(to_standard_output(o.json, false, {"advise", common.data, o.seed}), s);
  Progress progress("advising", points.size());
  const Interruptible interruptible;
  std::size_t done = 0;
  in_order<Worker>(
      o.jobs, 0, points.size(), o.jobs == 1 ? first : nullptr, [&] { return std::make_shared<Worker>(o, common.data); },
      [&](Worker& w, std::size_t i) { return advise(w.sweep, points[i], batches, w.serving.get(), o.seed); },
      [&](const Advice& a) {
        report.add(a);
        progress.at(++done);
      });
  report.finish();
  if (done == points.size()) return 0;
  std::cerr << "interrupted after " << done << " of " << points.size() << "\n";
  return 130;
}

}  // namespace

void add_advise(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("advise", "does speculation pay, up to which batch and load, and what eats the gain");
  auto o = std::make_shared<Options>();
  verb->add_option("scenario", o->scenario, "a scenario file, as for run; with a \"workload\" its load is used")
      ->required();
  verb->add_flag("--json", o->json, "one JSON document on standard output");
  verb->add_flag("--no-load", o->no_load, "skip the question of load, which is simulated");
  verb->add_option("--jobs", o->jobs, "threads (1); the output does not depend on it")->check(CLI::Range(1, 1024));
  verb->add_option("--seed", o->seed, "of arrivals and acceptance");
  verb->callback([o, &chosen] { chosen = [o](const Common& c) { return advise_all(*o, c); }; });
}

}  // namespace draftline::cli
