// SPDX-License-Identifier: Apache-2.0
// `draftline run SCENARIO`: the product of a scenario's lists, predicted point by point, written as it goes.
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>

#include <iostream>
#include <mutex>
#include <queue>

#include "cli/command.h"
#include "cli/progress.h"
#include "reports/point.h"
#include "reports/run_report.h"
#include "sim/sweep.h"

namespace draftline::cli {

namespace {

struct Options {
  std::string scenario;
  bool json = false, csv = false, dry_run = false;
  int jobs = 1;
  std::uint64_t seed = 0;
};

using Block = std::vector<Outcome>;

int run(const Options& o, const Common& common) {
  Sweep first(o.scenario, common.data);
  if (first.scenario().serving)
    throw InputErrors(first.scenario().document.root().place() + ": has a \"workload\"; `draftline simulate` runs it");
  first.validate();
  if (o.dry_run) {
    write_resolved(std::cout, first.scenario());
    return 0;
  }
  first.find_one_that_fits();

  constexpr std::size_t kBlock = 256;
  const std::size_t points = first.scenario().points();
  const auto format = o.json ? RunReport::Format::json : o.csv ? RunReport::Format::csv : RunReport::Format::table;
  RunReport report(std::cout, format, first.scenario(), static_cast<std::size_t>(terminal_width()));
  Progress progress("predicting", points);

  // Each worker reads the scenario for itself: nothing is shared, so nothing is locked.
  std::mutex mutex;
  std::vector<std::unique_ptr<Sweep>> idle;
  const auto borrow = [&]() -> std::unique_ptr<Sweep> {
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        auto sweep = std::move(idle.back());
        idle.pop_back();
        return sweep;
      }
    }
    return std::make_unique<Sweep>(o.scenario, common.data);
  };
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(o.jobs));
  std::size_t next = 0, done = 0;
  tbb::parallel_pipeline(static_cast<std::size_t>(2 * o.jobs),
                         tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order,
                                                             [&](tbb::flow_control& flow) -> std::size_t {
                                                               if (next >= points) flow.stop();
                                                               const std::size_t begin = next;
                                                               next += kBlock;
                                                               return begin;
                                                             }) &
                             tbb::make_filter<std::size_t, Block>(tbb::filter_mode::parallel,
                                                                  [&](std::size_t begin) {
                                                                    auto sweep = borrow();
                                                                    Block block;
                                                                    for (std::size_t i = begin;
                                                                         i < std::min(begin + kBlock, points); ++i)
                                                                      block.push_back(sweep->at(i));
                                                                    const std::lock_guard lock(mutex);
                                                                    idle.push_back(std::move(sweep));
                                                                    return block;
                                                                  }) &
                             tbb::make_filter<Block, void>(tbb::filter_mode::serial_in_order, [&](const Block& block) {
                               for (const Outcome& outcome : block) report.add(outcome);
                               progress.at(done += block.size());
                             }));
  report.finish();
  return 0;
}

}  // namespace

void add_run(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("run", "what if: predict every point of a scenario");
  auto o = std::make_shared<Options>();
  verb->add_option("scenario", o->scenario, "a scenario file; any value in it may be a list (see scenarios/)")
      ->required();
  auto* json = verb->add_flag("--json", o->json, "one JSON document on standard output, written as it goes");
  verb->add_flag("--csv", o->csv, "CSV on standard output")->excludes(json);
  verb->add_flag("--dry-run", o->dry_run, "only print the scenario with its defaults, and how many points it has");
  verb->add_option("--jobs", o->jobs, "threads; the output does not depend on it")->check(CLI::Range(1, 1024));
  verb->add_option("--seed", o->seed, "of what is random; nothing is, in a steady-state prediction");
  verb->callback([o, &chosen] { chosen = [o](const Common& c) { return run(*o, c); }; });
}

}  // namespace draftline::cli
