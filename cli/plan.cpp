// SPDX-License-Identifier: Apache-2.0
// `draftline plan SCENARIO`: the cheapest fleet that meets the latency targets of a workload.
#include <algorithm>
#include <iostream>

#include "cli/command.h"
#include "cli/in_order.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "reports/plan_report.h"

namespace draftline::cli {

namespace {

struct PlanOptions {
  std::string scenario;
  Format format = Format::table;
  int jobs = 1, most_devices = 1024;
  std::uint64_t seed = 0;
};

int plan(const PlanOptions& o, const Common& common) {
  const DocumentText text(o.scenario);
  const auto first = std::make_shared<ServingSweep>(text.document(), common.data);
  first->validate();
  const Scenario& scenario = first->scenario();
  check_plannable(scenario);
  const Prices prices{scenario.serving->prices};
  const std::size_t points = scenario.points();
  Progress progress("planning", points);
  std::optional<Interruptible> interruptible;
  if (points > 1) interruptible.emplace();  // with one point there would be nothing to keep
  std::vector<FleetOption> options;
  in_order<ServingSweep>(
      common.ranks,
      {.from = 0,
       .to = points,
       .question = question_id(scenario.document.root().input_files(), o.seed),
       .jobs = o.jobs},
      o.jobs == 1 ? first : nullptr,
      [&] {
        auto sweep = std::make_shared<ServingSweep>(text.document(), common.data);
        sweep->validate();
        return sweep;
      },
      [&](ServingSweep& sweep, std::size_t i) { return smallest_fleet(sweep, i, prices, o.most_devices, o.seed); },
      [&](FleetOption& option) {
        options.push_back(std::move(option));
        progress.at(options.size());
      });
  if (!common.ranks.first()) return kFine;
  const std::size_t done = options.size();
  if (done < points) std::cerr << "interrupted: only " << done << " of " << points << " options were looked at\n";
  const bool meets = std::any_of(options.begin(), options.end(), [](const auto&f) { return f.obstacle.empty(); }),
             runs = std::any_of(options.begin(), options.end(), [](const auto&f) { return f.can_run; });
  const std::string reason = options.empty() ? "" : options.front().obstacle;
  write_plan(to_standard_output(o.format, {"plan", common.data, o.seed, {.most_devices = o.most_devices}}), scenario,
             std::move(options));
  if (done < points) return Interruptible::exit_code();
  if (!runs) throw InputErrors(scenario.document.root().place() + ": no option of it can run; the first: " + reason);
  return meets ? kFine : kMissed;
}

}  // namespace

void add_plan(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("plan", "the cheapest fleet that meets the latency targets of a workload");
  auto o = std::make_shared<PlanOptions>();
  verb->add_option("scenario", o->scenario,
                   "a scenario with \"workload\", \"slo\" and, if wished, \"prices\" (per device and hour)")
      ->required();
  add_formats(*verb, o->format, "one JSON document on standard output");
  verb->add_option("--max-devices", o->most_devices, "look no further; 1024 if not given")
      ->check(CLI::Range(1, 100'000));
  verb->add_option("--jobs", o->jobs, "threads (1); the output does not depend on it")->check(CLI::Range(1, 1024));
  add_seed(*verb, o->seed, "of arrivals, lengths and acceptance");
  verb->callback([o, &chosen] { chosen = {AcrossRanks::shares, [o](const Common& c) { return plan(*o, c); }}; });
}

}  // namespace draftline::cli
