// SPDX-License-Identifier: Apache-2.0
#include "reports/validation_report.h"

#include <algorithm>
#include <cmath>

#include "core/quantity_text.h"
#include "reports/cell_noise.h"
#include "reports/page/chart_set.h"
#include "reports/page/page.h"
#include "reports/table.h"

namespace draftline {

namespace {

Cell time(double seconds) { return Cell(seconds, to_text(Seconds{seconds})); }

struct Group {
  std::string name;
  CellFilter which;
};
std::vector<Group> groups(const std::vector<ValidationCell>& cells) {
  std::vector<Group> all{{"all", {}}};
  std::vector<std::string> networks;
  std::vector<int> batches, contexts;
  const auto note = [](auto& list, const auto& v) {
    if (std::ranges::find(list, v) == list.end()) list.push_back(v);
  };
  for (const ValidationCell& c : cells) {
    note(networks, c.measured->transformer);
    note(batches, c.measured->batch_size);
    note(contexts, c.measured->context);
  }
  std::ranges::sort(batches);
  for (const auto& n : networks)
    all.push_back({n, [n](const ValidationCell& c) { return c.measured->transformer == n; }});
  for (const int b : batches)
    all.push_back({"batch " + std::to_string(b), [b](const ValidationCell& c) { return c.measured->batch_size == b; }});
  for (const int n : contexts)
    all.push_back({"context " + std::to_string(n), [n](const ValidationCell& c) { return c.measured->context == n; }});
  return all;
}

Table summary_table(const std::vector<ValidationCell>& cells) {
  Table t(
      {"cells", "n", "speedup: median", "P90", "worst", "step: median", "P90", "worst", "plain step: median", "noise"});
  for (const Group& g : groups(cells)) {
    const ErrorSummary s = summarize(errors_of(cells, &ValidationCell::speedup, g.which)),
                       p = summarize(errors_of(cells, &ValidationCell::step, g.which)),
                       plain = summarize(errors_of(cells, &ValidationCell::plain, g.which));
    std::vector<double> noise;
    for (const ValidationCell& c : cells)
      if (!g.which || g.which(c)) noise.push_back(c.speedup.noise);
    t.add({g.name, s.cells, percent_cell(s.median), percent_cell(s.p90), percent_cell(s.largest),
           percent_cell(p.median), percent_cell(p.p90), percent_cell(p.largest), percent_cell(plain.median),
           percent_cell(noise.empty() ? 0 : quantile(noise, 0.5), 2)});
    if (g.which || cells.empty()) continue;
    const auto weights = weights_by_noise(cells);
    const ErrorSummary w = summarize(errors_of(cells, &ValidationCell::speedup), weights),
                       ws = summarize(errors_of(cells, &ValidationCell::step), weights);
    t.add({"all, less the noisier", w.cells, percent_cell(w.median), percent_cell(w.p90), percent_cell(w.largest),
           percent_cell(ws.median), percent_cell(ws.p90), percent_cell(ws.largest),
           percent_cell(summarize(errors_of(cells, &ValidationCell::plain), weights).median), Cell()});
  }
  return t;
}

std::vector<Table::Column> cell_columns() {
  return {"network",           "method",   "k",     "batch", "context", "step predicted", "measured", "error",
          "speedup predicted", "measured", "error", "noise", "note"};
}
std::string note_of(const ValidationCell& c, std::optional<double> usual) {
  std::string note = c.speedup.within_noise() ? "within noise" : "";
  if (was_slowed(c, usual)) note += (note.empty() ? "at " : ", at ") + significant(*c.clock_mhz, 4) + " MHz";
  return note;
}

std::vector<Cell> cell_row(const ValidationCell& c, std::optional<double> usual_clock) {
  return {c.measured->transformer,
          c.measured->method.label(),
          c.measured->method.draft_length() ? Cell(*c.measured->method.draft_length()) : Cell(),
          c.measured->batch_size,
          c.measured->context,
          time(c.step.predicted),
          time(c.step.measured),
          percent_cell(c.step.error()),
          Cell(c.speedup.predicted),
          Cell(c.speedup.measured),
          percent_cell(c.speedup.error()),
          percent_cell(c.speedup.noise, 2),
          note_of(c, usual_clock)};
}

std::vector<const ValidationCell*> worst(const std::vector<ValidationCell>& cells, std::size_t n) {
  std::vector<const ValidationCell*> all;
  for (const ValidationCell& c : cells) all.push_back(&c);
  std::ranges::stable_sort(
      all, [](const auto* a, const auto* b) { return std::abs(a->speedup.error()) > std::abs(b->speedup.error()); });
  all.resize(std::min(n, all.size()));
  return all;
}

Table op_table(const std::vector<ValidationCell>& cells, double least_share) {
  Table t({"network", "op", "share of step", "predicted / measured", "error of step"});
  for (const OpTotal& o : op_totals(cells))
    if (o.measured / o.cells >= least_share || std::abs(o.predicted - o.measured) / o.cells >= least_share)
      t.add({o.network, o.key, percent_cell(o.measured / o.cells),
             Cell(o.measured > 0 ? o.predicted / o.measured : NAN),
             percent_cell((o.predicted - o.measured) / o.cells)});
  return t;
}

Table error_budget_table(const std::vector<ValidationCell>& cells, std::size_t most) {
  Table t({"op", "mean |error| of step", "mean error", "share of step"});
  auto all = error_budget(cells);
  all.resize(std::min(most, all.size()));
  for (const ErrorBudgetItem& b : all)
    t.add({b.key, percent_cell(b.absolute), percent_cell(b.mean), percent_cell(b.share)});
  return t;
}

Table stop_table(const std::vector<ValidationCell>& cells) {
  Table t({"network", "method", "context", "stops paying: predicted", "measured", "ratio"});
  const auto batch = [](const std::optional<double>& b) { return b ? Cell(*b) : Cell("never, or at once"); };
  for (const StopsPaying& s : stops_paying(cells))
    t.add({s.transformer, label_with_length(s.method), s.context, batch(s.predicted), batch(s.measured),
           s.predicted && s.measured ? Cell(*s.predicted / *s.measured) : Cell()});
  return t;
}

Table skipped_table(const std::vector<MeasuredCell>& cells) {
  Table t({"network", "method", "batch", "context", "because"});
  for (const MeasuredCell& c : cells)
    t.add({c.transformer, label_with_length(c.method), c.batch_size, c.context,
           c.device_failed ? c.skipped + "; the next run tries this cell last" : c.skipped});
  return t;
}

Table serving_table(const std::vector<ComparedServing>& all) {
  Table t({"batching", "method", "tokens/step", "runs", "figure", "simulated", "live", "error", "noise"});
  for (const ComparedServing& s : all)
    for (const auto& [name, c] : s.figures) {
      const bool rate = name == "throughput";
      t.add({s.batching_name(), s.method, Cell(s.acceptance_length), s.runs, name,
             rate ? Cell(c.predicted) : time(c.predicted), rate ? Cell(c.measured) : time(c.measured),
             percent_cell(c.error()), percent_cell(c.noise, 2)});
    }
  return t;
}

Table unserved_table(const std::vector<ComparedServing>& all) {
  Table t({"batching", "method", "because"});
  for (const ComparedServing& s : all)
    if (!s.skipped.empty()) t.add({s.batching_name(), s.method, s.skipped});
  return t;
}

Table fit_table(const std::vector<FitQuality>& fits) {
  Table t({"op, on held-out shapes", "points", "median error", "P90"});
  for (const FitQuality& q : fits) t.add({q.op, q.points, percent_cell(q.median), percent_cell(q.p90)});
  return t;
}

// Whether a share of the step is below 0 or above 1. That of `host` can be: it is a step less its ops, which are timed
// in other steps.
bool beyond_a_step(const std::vector<ValidationCell>& cells) {
  const auto all = error_budget(cells);
  return std::ranges::any_of(all, [](const ErrorBudgetItem& b) { return b.share < 0 || b.share > 1; });
}
constexpr const char* kBeyondAStep =
    "Shares below zero or above 100 %: ops are timed individually, in separate steps; `host` is the rest of a step "
    "without these timings. On a busy machine the two kinds of steps differ.";

// What was predicted over what was measured, and where that lies: at 1 they are the same.
void show_ratios(Page& page, const std::vector<ValidationCell>& cells, const std::string& title, const ChartAxis& x,
                 Compared ValidationCell::*figure) {
  Chart c;
  c.title = title;
  c.x = x;
  std::vector<double> measured;
  for (const ValidationCell& cell : cells) measured.push_back((cell.*figure).measured);
  c.x.logarithmic = far_apart(measured);
  c.y = {"predicted / measured, with the prediction's 90 % interval"};
  c.level = 1;
  c.level_name = "as measured";
  ChartSet set(std::move(c));
  for (const ValidationCell& cell : cells) {
    const MeasuredCell& m = *cell.measured;
    const Compared& v = cell.*figure;
    set.add("", m.transformer,
            {v.measured, v.predicted / v.measured,
             v.interval ? std::optional(Interval{v.interval->low / v.measured, v.interval->high / v.measured})
                        : std::nullopt,
             label_with_length(m.method) + ", batch " + std::to_string(m.batch_size) + ", context " +
                 std::to_string(m.context)},
            false);
  }
  for (const Chart& chart : set.charts()) page.show(chart);
}

// `worst_cells`: how many of the cells are listed.
void write_tables(Page& page, const ValidationReport& r, std::size_t worst_cells) {
  const auto add = [&](const char* what, const Table& t) {
    if (t.rows() == 0) return;
    page.heading(what);
    page.show(t);
  };
  if (!r.fits.empty()) add("Calibration (from kernels and host work only, without steps)", fit_table(r.fits));
  if (!r.cells.empty()) {
    add("Predicted against measured", summary_table(r.cells));
    show_ratios(page, r.cells, "Speedups", {"measured speedup"}, &ValidationCell::speedup);
    show_ratios(page, r.cells, "Steps", {"measured time", false, [](double s) { return to_text(Seconds{s}); }},
                &ValidationCell::step);
    const auto usual = usual_clock(r.cells);
    Table cells(cell_columns());
    for (const ValidationCell* c : worst(r.cells, worst_cells)) cells.add(cell_row(*c, usual));
    add(worst_cells < r.cells.size() ? "The worst cells" : "All cells", cells);
    add("Error budget: contribution of each op to the error of a step", error_budget_table(r.cells, 10));
    if (beyond_a_step(r.cells)) page.say(kBeyondAStep);
    constexpr double kLeastShare = 0.01;
    add(r.device == "cuda" ? "Ops, timed by events in runs without graphs" : "Ops, timed inside the interpreter",
        op_table(r.cells, kLeastShare));
    add("The batch at which a method stops paying", stop_table(r.cells));
  }
  add("Cells that could not run", skipped_table(r.skipped));
  add("A live server compared with the simulator", serving_table(r.serving));
  add("Live servers that could not run", unserved_table(r.serving));
  if (r.left_out > 0) page.say(std::to_string(r.left_out) + " cells of the grid were not measured");
}

}  // namespace

std::string label_with_length(const MethodSpec& m) {
  return m.label() + (m.draft_length() ? " k=" + std::to_string(*m.draft_length()) : "");
}

void write_validation(const Output& to, const ValidationReport& r) {
  constexpr std::size_t kWorst = 12;
  const bool all = to.format != Format::table;
  const auto page = new_page(to, r.title, r.input_files);
  page->say((all ? "Commit " : r.title + ", commit ") + r.commit + "; acceptance rate " + significant(r.rate, 3) +
            " (an input of measurement and prediction).");
  write_tables(*page, r, all ? r.cells.size() : kWorst);
  page->finish();
}

}  // namespace draftline
