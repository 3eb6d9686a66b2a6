// SPDX-License-Identifier: Apache-2.0
#include "reports/advise_report.h"

#include <algorithm>
#include <sstream>

#include "reports/advice_text.h"
#include "reports/advise_figures.h"
#include "reports/certainty.h"
#include "reports/page/chart_set.h"
#include "reports/paragraph.h"
#include "reports/point.h"
#include "reports/setting_text.h"
#include "reports/verdict.h"

namespace draftline {

namespace {

constexpr std::size_t kMostSetups = 6;  // of which verdicts are told
const std::string kRankingTitle = "Speedup of requests by batch";

std::string indented(const std::string& lines, const std::string& by) {
  std::string text;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) text += by + line + "\n";
  return text;
}

void put_reasons(const Output& to, const Scenario& scenario, const Advice& a) {
  to.stream << "\n" << subject(scenario, a.point) << "\n";
  for (const std::string& reason : reasons_of(scenario, a)) to.stream << "  " << reason << "\n";
  if (!a.obstacle) to.stream << "\n" << batch_table(a).to_text(to.width);
}

// Returns the best of each setup.
std::vector<std::size_t> write_verdicts(const Output& to, const Scenario& s, const std::vector<Advice>& advices,
                                        const std::vector<std::size_t>& order) {
  std::ostream& out = to.stream;
  const auto best = best_of_setups(advices, order);
  const bool alone = best.size() == 1;
  const std::string indent = alone ? "" : "  ";
  for (std::size_t i = 0; i < std::min(best.size(), kMostSetups); ++i) {
    const Advice& a = advices[best[i]];
    if (!alone) out << "On " << setup_text(s, a.point) << ":\n";
    const SetupVerdict verdict = verdict_on_setup(s, advices, order, best[i]);
    out << indent << verdict.answer << "\n";
    for (const auto& lines : {verdict.gains, verdict.doubts})
      for (const std::string& line : lines) out << indent << line << "\n";
    if (alone) out << "Setup: " << setup_text(s, a.point) << ".\n";
    out << indented(schedule_text(s, a), indent);
  }
  if (best.size() > kMostSetups) out << "... and on " << best.size() - kMostSetups << " other setups: see the table.\n";
  if (best.empty()) out << "No method can run.\n";
  return best;
}

void write_text(const Output& to, const Scenario& s, const std::vector<Advice>& advices, Reasons reasons) {
  std::ostream& out = to.stream;
  if (!s.question.empty()) out << paragraph(s.question, to.width);
  const auto order = ranking(advices), best = write_verdicts(to, s, advices, order);
  const bool every = reasons == Reasons::of_all;
  if (reasons == Reasons::none) return finish_stream(out);
  if (order.size() > 1) {
    RowNotes notes;
    out << "\n" << kRankingTitle << ":\n" << ranking_table(s, advices, order, notes).to_text(to.width);
    for (const std::string& line : notes.lines()) out << line << "\n";
  }
  for (std::size_t i = 0; i < advices.size(); ++i)
    if (every || best.empty() || i == best.front()) put_reasons(to, s, advices[i]);
  const std::size_t skipped = advices.size() - order.size();
  if (skipped > 0 && !best.empty() && !every) {
    const auto first = std::ranges::find_if(advices, [](const Advice& a) { return a.obstacle.has_value(); });
    out << skipped << " methods can't run; the first: " << *first->obstacle << "\n";
  }
  if (order.size() > 1 && !every) out << "For the reasons of every method use --all.\n";
  if (!s.note.empty()) out << paragraph(s.note, to.width);
  finish_stream(out);
}

// What requests gain over the batch size, a chart for each setup.
void show_charts(Page& page, const Scenario& s, const std::vector<Advice>& advices,
                 const std::vector<std::size_t>& order) {
  Chart common;
  common.title = kRankingTitle;
  common.x = {"batch size", true, to_digits<6>, true};
  common.y = {"over plain decoding at the same batch size, prompts included"};
  common.level = 1;
  common.level_name = "plain decoding";
  ChartSet charts(std::move(common));
  for (const std::size_t i : order)
    for (const BatchAdvice& b : advices[i].batches)
      charts.add(setup_text(s, advices[i].point), method_text(s, advices[i].point),
                 {.x = to_double(b.batch_size),
                  .y = b.request_speedup,
                  .interval = request_interval(b),
                  .label = significant(b.acceptance_length) + " tokens per step, break-even " +
                           significant(b.break_even_length)});
  for (const Chart& chart : charts.charts()) page.show(chart);
  page.say(charts.left_out());
}

// Writes a page with the reasons of every method, as a page has room.
void write_page(const Output& to, const Scenario& s, const std::vector<Advice>& advices) {
  const auto page = page_of(to, s);
  const auto order = ranking(advices), best = best_of_setups(advices, order);
  for (std::size_t i = 0; i < std::min(best.size(), kMostSetups); ++i) {
    const Advice& a = advices[best[i]];
    page->heading("On " + setup_text(s, a.point));
    const SetupVerdict verdict = verdict_on_setup(s, advices, order, best[i]);
    page->verdict(verdict.answer, verdict.gains, verdict.doubts);
    const std::string command = launch_line(s, a);
    std::istringstream schedule(schedule_text(s, a));
    for (std::string line; std::getline(schedule, line);) {
      line.erase(0, line.find_first_not_of(' '));
      if (!command.empty() && line.ends_with(": " + command))
        page->command(line.substr(0, line.size() - command.size() - 2), command);
      else page->say(line);
    }
  }
  if (best.size() > kMostSetups)
    page->say("... and on " + std::to_string(best.size() - kMostSetups) + " other setups: see the table.");
  if (best.empty()) page->say("No method can run.");
  show_charts(*page, s, advices, order);
  if (!order.empty()) {
    RowNotes notes;
    page->show(ranking_table(s, advices, order, notes));
    for (const std::string& line : notes.lines()) page->say(line);
  }
  for (const Advice& a : advices) {
    page->heading(subject(s, a.point));
    for (const std::string& reason : reasons_of(s, a)) page->say(reason);
    for (const std::string& line : lines_of(a.caveats)) page->say(line);
    if (!a.obstacle) page->show(batch_table(a));
  }
  page->say(s.note);
  page->finish();
}

void write_json(const Output& to, const Scenario& s, const std::vector<Advice>& advices) {
  const PointInputs inputs(s, Format::json);
  JsonWriter w(to.stream);
  begin_document(w, 1, to.asked, s);
  const auto best = best_of_setups(advices, ranking(advices));
  w.objects("verdicts", best, [&](std::size_t i) { write_verdict(w, inputs, s, advices[i]); });
  w.list("ranking", ranking(advices));
  w.objects("results", advices, [&](const Advice& a) {
    inputs.write(w, a.point);
    write_members(w, advise_figures(), a);
    if (a.obstacle) return;
    write_caveats(w, a.caveats);
    const auto of_batch = batch_figures(a);
    w.objects("pays_at", a.pays_at, [&](const Stretch<int>& s) { write_members(w, stretch_figures(), s); });
    w.objects("batches", a.batches, [&](const BatchAdvice& b) { write_members(w, of_batch, b); });
    w.objects("best_draft_lengths", a.best, [&](const BestLength& b) { write_members(w, best_length_figures(), b); });
    w.objects("schedule", a.schedule, [&](const ScheduledLength& b) { write_members(w, schedule_figures(), b); });
  });
  w.end_object();
  w.finish();
}

}  // namespace

std::vector<std::string> advise_verdicts(const Scenario& s, const std::vector<Advice>& advices) {
  const auto order = ranking(advices), best = best_of_setups(advices, order);
  std::vector<std::string> verdicts;
  for (const std::size_t i : best) {
    const SetupVerdict verdict = verdict_on_setup(s, advices, order, i);
    std::string text = (best.size() > 1 ? "On " + setup_text(s, advices[i].point) + ": " : "") + verdict.answer;
    for (const std::string& gain : verdict.gains) text += " " + gain;
    verdicts.push_back(std::move(text));
  }
  return verdicts;
}

void write_advice(const Output& to, const Scenario& s, const std::vector<Advice>& advices, Reasons reasons) {
  if (to.format == Format::json) write_json(to, s, advices);
  else if (to.format == Format::html) write_page(to, s, advices);
  else write_text(to, s, advices, reasons);
}

}  // namespace draftline
