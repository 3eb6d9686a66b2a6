// SPDX-License-Identifier: Apache-2.0
#include "reports/trace_report.h"

#include <nlohmann/json.hpp>

#include "core/json_writer.h"
#include "reports/page/page.h"
#include "reports/point.h"
#include "reports/table.h"

namespace draftline {

namespace {

using Summaries = std::vector<const TraceSummary*>;

Cell estimate_cell(const std::optional<BootstrapEstimate>& e) { return e ? Cell(e->value) : Cell(); }

Cell interval_cell(const std::optional<BootstrapEstimate>& e) {
  if (!e || !e->interval) return {};
  return significant(e->interval->low, 3) + " to " + significant(e->interval->high, 3);
}

Table summary_of(const Summaries& rows) {
  Table t({"trace", "method", "task", "prompts", "steps", "drafts/step", "tok/step", "90 %", "variance between",
           "within", "correlation", "90 % of it"});
  for (const TraceSummary* r : rows) {
    const StepStatistics& s = r->steps;
    t.add({r->name, recorded_method(r->method), r->task, s.texts, s.steps,
           r->drafts_per_step ? Cell(*r->drafts_per_step) : Cell(), estimate_cell(s.tokens_per_step),
           interval_cell(s.tokens_per_step), estimate_cell(s.variance_between), estimate_cell(s.variance_within),
           estimate_cell(s.intraclass_correlation), interval_cell(s.intraclass_correlation)});
  }
  return t;
}

Table by_position(const Summaries& rows) {
  Table t({"trace", "draft", "of all steps", "90 %", "if the one before", "90 % of it"});
  for (const TraceSummary* r : rows) {
    if (t.rows() > 0) t.add_rule();
    for (std::size_t j = 0; j < r->steps.positions.size(); ++j) {
      const auto& [of_all, of_before] = r->steps.positions[j];
      t.add({r->name, j + 1, estimate_cell(of_all), interval_cell(of_all), estimate_cell(of_before),
             interval_cell(of_before)});
    }
  }
  return t;
}

Table by_lag(const Summaries& rows) {
  std::vector<Table::Column> titles{"trace"};
  for (int lag = 1; lag <= kLags; ++lag) titles.emplace_back(std::to_string(lag));
  Table t(std::move(titles));
  for (const TraceSummary* r : rows) {
    std::vector<Cell> row{r->name};
    for (const auto& e : r->steps.autocorrelation) row.push_back(e ? Cell(e->value, 2) : Cell());
    t.add(std::move(row));
  }
  return t;
}

// Estimates by their names in CSV and JSON. A list has one for each position or lag.
using Estimates = std::vector<std::optional<BootstrapEstimate>>;
using NamedEstimates = std::pair<const char*, Estimates>;

std::vector<NamedEstimates> figures_of(const StepStatistics& s) {
  return {{"tokens_per_step", {s.tokens_per_step}},
          {"variance_between", {s.variance_between}},
          {"variance_within", {s.variance_within}},
          {"intraclass_correlation", {s.intraclass_correlation}}};
}

std::vector<NamedEstimates> lists_of(const StepStatistics& s) {
  std::vector<NamedEstimates> all{{"per_position", {}}, {"rates", {}}, {"autocorrelation", s.autocorrelation}};
  for (const StepStatistics::Position& p : s.positions) {
    all[0].second.push_back(p.of_all);
    all[1].second.push_back(p.of_before);
  }
  return all;
}

// A row for each estimate.
Table csv_of(const Summaries& rows) {
  Table t({"trace", "method", "task", "target", "prompts", "steps", "figure", "at", "value", "low", "high"});
  for (const TraceSummary* r : rows) {
    const auto add = [&](const char* figure, Cell place, const std::optional<BootstrapEstimate>& e) {
      const bool known = e && e->interval;
      t.add({r->name, recorded_method(r->method), r->task, r->target, r->steps.texts, r->steps.steps, figure,
             std::move(place), estimate_cell(e), known ? Cell(e->interval->low) : Cell(),
             known ? Cell(e->interval->high) : Cell()});
    };
    if (r->drafts_per_step) add("drafts_per_step", {}, BootstrapEstimate{*r->drafts_per_step, {}});
    for (const auto& [figure, estimates] : figures_of(r->steps)) add(figure, {}, estimates.front());
    for (const auto& [figure, estimates] : lists_of(r->steps))
      for (std::size_t i = 0; i < estimates.size(); ++i) add(figure, i + 1, estimates[i]);
  }
  return t;
}

void write_estimate(JsonWriter& w, const std::optional<BootstrapEstimate>& e) {
  if (!e) return w.value(nullptr);
  w.begin_object();
  w.member("value", e->value);
  if (e->interval) {
    w.member("low", e->interval->low);
    w.member("high", e->interval->high);
  }
  w.end_object();
}

void write_summaries(const Output& to, const Summaries& rows) {
  constexpr int kSchema = 1;
  JsonWriter w(to.stream);
  w.begin_object();
  write_program(w, kSchema);
  w.objects("traces", rows, [&](const TraceSummary* r) {
    w.member("trace", r->name);
    w.member("method", nlohmann::json::parse(r->method));
    w.member("task", r->task);
    w.member("target", r->target);
    if (!r->random_weights.empty()) w.member("random_weights", r->random_weights);
    w.member("prompts", r->steps.texts);
    w.member("steps", r->steps.steps);
    if (r->drafts_per_step) w.member("drafts_per_step", *r->drafts_per_step);
    for (const auto& [figure, estimates] : figures_of(r->steps)) {
      w.key(figure);
      write_estimate(w, estimates.front());
    }
    for (const auto& [figure, estimates] : lists_of(r->steps)) {
      w.key(figure);
      w.begin_array();
      for (const auto& e : estimates) write_estimate(w, e);
      w.end_array();
    }
  });
  w.end_object();
  w.finish();
}

}  // namespace

std::string recorded_method(const std::string& object) {
  const auto method = nlohmann::json::parse(object);
  const auto drafts = method.find("draft_length");
  return method.at("name").get<std::string>() + (drafts != method.end() ? ", k " + drafts->dump() : "");
}

void write_trace_report(const Output& to, const std::vector<TraceSummary>& traces, const TraceSummary* together) {
  Summaries rows;
  for (const TraceSummary& one : traces) rows.push_back(&one);
  if (together != nullptr) rows.push_back(together);
  if (to.format == Format::json) return write_summaries(to, rows);
  if (to.format == Format::csv) {
    to.stream << csv_of(rows).to_csv();
    return finish_stream(to.stream);
  }
  const auto page = new_page(to, "Acceptance traces", {});
  page->show(summary_of(rows));
  page->say(
      "correlation: of the tokens of two steps of a prompt (intraclass correlation), the share of the variance that "
      "is between prompts. 90 % intervals: a bootstrap over prompts.");
  page->say("Accepted drafts by position, as a share of all steps, and of the steps that accept the draft before:");
  page->show(by_position(rows));
  page->say("Correlation of the tokens of two steps of a prompt, by the steps from one to the other:");
  page->show(by_lag(rows));
  for (const TraceSummary* r : rows)
    if (!r->random_weights.empty())
      page->say("warning: " + r->name + " was recorded with random weights (" + r->random_weights + ")");
  page->finish();
}

void write_tree_report(const Output& to, const std::vector<std::vector<int>>& paths,
                       const std::vector<TreeOnTrace>& traces) {
  const nlohmann::json tree{{"nodes", paths}};
  if (to.format == Format::json) {
    constexpr int kSchema = 1;
    JsonWriter w(to.stream);
    w.begin_object();
    write_program(w, kSchema);
    w.member("tree", tree);
    w.objects("traces", traces, [&](const TreeOnTrace& t) {
      w.member("trace", t.name);
      w.member("task", t.task);
      w.member("tokens_per_step", t.tree);
      w.member("tokens_per_step_of_own_best", t.own_best);
      w.member("tokens_per_step_of_chain", t.chain);
    });
    w.end_object();
    return w.finish();
  }
  Table t({{"trace", "trace"},
           {"task", "task"},
           {"tok/step", "tokens_per_step"},
           {"own best tree", "tokens_per_step_of_own_best"},
           {"chain", "tokens_per_step_of_chain"}});
  for (const TreeOnTrace& one : traces) t.add({one.name, one.task, one.tree, one.own_best, one.chain});
  if (to.format == Format::csv) {
    to.stream << t.to_csv();
    return finish_stream(to.stream);
  }
  const auto page = new_page(to, "A tree of " + std::to_string(paths.size()) + " drafts", {});
  page->show(t);
  page->command("In a scenario's method", "\"tree\":" + tree.dump());
  page->finish();
}

}  // namespace draftline
