// SPDX-License-Identifier: Apache-2.0
// `draftline traces FILE..`: how many drafts were accepted, and how acceptance differs between prompts.
#include <algorithm>
#include <set>

#include "cli/command.h"
#include "cli/options.h"
#include "core/int_indexed.h"
#include "inputs/shipped_traces.h"
#include "model/acceptance/draft_counts.h"
#include "model/acceptance/tree_search.h"
#include "reports/trace_report.h"

namespace draftline::cli {

namespace {

constexpr int kMostLevels = 1024;  // of a trace

struct TracesOptions {
  std::vector<std::string> names;
  std::uint64_t seed = 0;
  int tree = 0;  // drafts; 0: no tree
  bool json = false, csv = false;
};

Trace read_trace(const std::string& name, const Common& common) {
  const auto found = find_trace(name, {}, disk(), common.data);
  if (const auto* why = std::get_if<std::string>(&found)) throw InputErrors(*why);
  return Trace::read(std::get<TraceFile>(found).path);
}

// All texts of traces of one method, as one workload.
TraceSummary all_of(const std::vector<TraceSummary>& traces, const std::vector<std::vector<int>>& steps, int depth,
                    std::uint64_t seed) {
  TraceSummary all{"all", traces.front().method, "", traces.front().target, "", {}};
  double drafts = 0, with_drafts = 0;  // steps
  for (const TraceSummary& t : traces) {
    all.task += (all.task.empty() ? "" : ", ") + t.task;
    drafts += t.drafts_per_step.value_or(0) * to_double(t.steps.steps);
    if (t.drafts_per_step) with_drafts += to_double(t.steps.steps);
  }
  all.steps = step_statistics(steps, depth, seed);
  if (to_double(all.steps.steps) == with_drafts) all.drafts_per_step = drafts / with_drafts;
  return all;
}

// The tree that is best by the ranks of the first trace, on all traces (Sequoia, section 3.1).
void print_tree(const TracesOptions& o, const Output& to, const Common& common) {
  std::vector<std::vector<int>> paths;
  std::vector<TreeOnTrace> all;
  for (const std::string& name : o.names) {
    const Trace t = read_trace(name, common);
    if (!t.header().ranks()) throw InputErrors(name + ": " + *t.refuses(DraftPlan::chain(1)));
    const auto own = best_tree(t.rank_acceptance(), o.tree);
    if (paths.empty()) paths = own;
    const auto tokens = [&](const std::vector<std::vector<int>>& nodes) {
      const DraftPlan plan(rank_tree(nodes, {kMostLevels, kTraceCandidates}));
      if (const auto why = t.refuses(plan)) throw InputErrors(name + ": " + *why);
      return t.mean_length(plan);
    };
    all.push_back({name, t.header().task, tokens(paths), tokens(own),
                   t.mean_length(DraftPlan::chain(std::min(o.tree, t.header().depth)))});
  }
  write_tree_report(to, paths, all);
}

int traces(const TracesOptions& o, const Common& common) {
  const Output to = to_standard_output(o.json ? Format::json : o.csv ? Format::csv : Format::table, {});
  if (o.tree > 0) {
    print_tree(o, to, common);
    return kFine;
  }
  std::vector<TraceSummary> all;
  std::vector<std::vector<int>> steps;
  std::set<std::pair<std::string, std::string>> recorded;  // methods and targets
  int depth = 0;
  for (const std::string& name : o.names) {
    const Trace t = read_trace(name, common);
    const auto own = steps_of(t);
    depth = std::max(depth, most_accepted(t));
    const TraceHeader& h = t.header();
    recorded.emplace(h.method, h.fingerprint);
    all.push_back(
        {name, h.method, h.task, h.target, h.random_weights(), step_statistics(own, most_accepted(t), o.seed)});
    if (t.has_drafts()) all.back().drafts_per_step = DraftCounts::of(t.shares_of_drafts()).mean();
    steps.insert(steps.end(), own.begin(), own.end());
  }
  std::optional<TraceSummary> together;
  if (recorded.size() == 1 && all.size() > 1) together = all_of(all, steps, depth, o.seed);
  write_trace_report(to, all, together ? &*together : nullptr);
  return kFine;
}

}  // namespace

void add_traces(CLI::App& app, Action& chosen) {
  auto* verb = app.add_subcommand("traces", "statistics of acceptance traces: by position, by prompt and over steps");
  auto o = std::make_shared<TracesOptions>();
  verb->add_option("names", o->names, "files of `decode --trace`, or names of `draftline list traces`")->required();
  auto* json = verb->add_flag("--json", o->json, "a JSON document on standard output");
  verb->add_flag("--csv", o->csv, "CSV on standard output, a row per figure")->excludes(json);
  verb->add_option("--tree", o->tree,
                   "the tree of so many drafts that is best by the ranks of the first trace, and tokens per step with\n"
                   "it on each trace: give held-out prompts behind it")
      ->check(CLI::Range(1, 1023));
  add_seed(*verb, o->seed, "seed of the bootstrap");
  verb->footer("Several traces of one method are also counted together. Example: draftline traces mine.gz");
  verb->callback([o, &chosen] { chosen = {AcrossRanks::first_alone, [o](const Common& c) { return traces(*o, c); }}; });
}

}  // namespace draftline::cli
