// SPDX-License-Identifier: Apache-2.0
#include "reports/advise_report.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <sstream>

#include "reports/advise_figures.h"
#include "reports/paragraph.h"
#include "reports/point.h"
#include "reports/verdict.h"

namespace draftline {

namespace {

std::string subject(const Scenario& s, const Point& p) {
  const MethodChoice& m = s.method(p);
  std::string text = m.spec.label();
  if (m.spec.draft_length())
    text += " with " + std::to_string(*m.spec.draft_length()) + (*m.spec.draft_length() == 1 ? " draft" : " drafts");
  return text + " on " + setup_text(s, p);
}

std::string batch_sentence(const Advice& a) {
  if (a.pays_at.empty()) return "Batch: it pays at none that fits, up to " + std::to_string(a.largest_batch) + ".";
  if (a.pays_at_every_batch())
    return "Batch: it pays at every batch that fits, up to " + std::to_string(a.largest_batch) + ".";
  return "Batch: it pays " + batches_sentence(a) + "; memory holds " + std::to_string(a.largest_batch) + ".";
}

std::string load_sentence(const LoadAdvice& r) {
  if (r.never) return "Load: a server with it is slower at every load.";
  if (r.too_few) return "Load: the workload has too few requests to load a server; give it more.";
  const std::string from = r.pays_from.value > 0 ? "from " + significant(r.pays_from.value, 3) + " on" : "",
                    to = significant(r.pays_to.value, 3) + " requests a second";
  const std::string pays = "Load: it pays " + from + (from.empty() ? "" : ", ");
  return r.overloaded ? pays + "until plain decoding is overloaded, at " + to + "."
                      : pays + "up to " + to + " a server.";
}

// The advice for the first batch size at which decoding loses, or for the largest one.
const BatchAdvice& telling(const Advice& a) {
  const auto it = std::find_if(a.batches.begin(), a.batches.end(), [](const auto& b) { return b.speedup < 1; });
  return it != a.batches.end() ? *it : a.batches.back();
}

std::string loss_sentence(const BatchAdvice& b) {
  std::vector<std::pair<double, std::string>> parts;
  for (const auto& f : loss_figures()) parts.emplace_back(std::get<double>(f.get(b).value), f.title);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  std::string text = "Losses: at batch " + std::to_string(b.batch_size) + " a step gives " +
                     significant(b.acceptance_length) + " tokens and costs " + significant(b.break_even_length) +
                     " plain steps";
  std::string more;
  for (const auto& [steps, title] : parts)
    if (steps > 0.02) more += (more.empty() ? ": " : ", ") + title + " " + significant(steps, 2);
  return text + more + ".";
}

std::string need_sentence(const Advice& a) {
  const BatchAdvice &first = a.batches.front(), &last = a.batches.back();
  std::string text = "Break-even: " + significant(first.break_even_length) + " tokens a step at batch " +
                     std::to_string(first.batch_size);
  if (&first != &last)
    text += ", " + significant(last.break_even_length) + " at batch " + std::to_string(last.batch_size);
  return text + "; it has " + significant(first.acceptance_length) + ".";
}

std::string shard_sentence(const Advice& a) {
  std::vector<int> better;
  for (const BatchAdvice& b : a.batches)
    if (b.sharded_speedup && *b.sharded_speedup > b.speedup) better.push_back(b.batch_size);
  if (better.empty()) return "Drafter: keep it whole on every rank.";
  if (better.size() == a.batches.size()) return "Drafter: divide it among the ranks (\"shard_draft\": true).";
  return "Drafter: divide it among the ranks (\"shard_draft\": true) from batch " + std::to_string(better.front()) +
         " on; below, keep it whole.";
}

void put_reasons(const Output& to, const Scenario& scenario, const Advice& a) {
  std::ostream& out = to.stream;
  out << "\n" << subject(scenario, a.point) << "\n";
  if (!a.obstacle.empty()) {
    out << "  can't run: " << a.obstacle << "\n";
    return;
  }
  out << "  " << batch_sentence(a) << "\n";
  if (a.rate) out << "  " << load_sentence(*a.rate) << "\n";
  if (a.pays_to_batch() > a.batch_limit)
    out << "  Limit: " << scenario.engines[a.point.engine]->name << " runs " << a.batch_limit
        << " sequences at once with this method, unless told otherwise; the load is that of such a server.\n";
  out << "  " << loss_sentence(telling(a)) << "\n";
  out << "  " << need_sentence(a) << "\n";
  if (a.batches.front().sharded_speedup) out << "  " << shard_sentence(a) << "\n";
  if (a.pool_lost > 0.005 && scenario.method(a.point).drafter_device)
    out << "  KV pool: a sequence needs room in both caches, which hold " << percent(*a.pool_lost) << " less.\n";
  else if (a.pool_lost > 0.005) out << "  KV pool: speculation takes " << percent(*a.pool_lost) << " of it.\n";
  out << "\n";

  const auto columns = columns_of(batch_figures(a), a, Format::table);
  std::vector<Table::Column> titles;
  add_titles(titles, columns);
  Table table(std::move(titles));
  for (const BatchAdvice& b : a.batches) {
    std::vector<Cell> row;
    add_cells(row, columns, b);
    table.add(std::move(row));
  }
  out << table.to_text(to.width);
}

// At most four of the batch sizes that are reported: the first, the last and some between.
std::vector<int> shown_batches(const std::vector<Advice>& advices) {
  std::set<int> all;
  for (const Advice& a : advices)
    for (const BatchAdvice& b : a.batches) all.insert(b.batch_size);
  const std::vector<int> sorted(all.begin(), all.end());
  constexpr std::size_t kMost = 4;
  if (sorted.size() <= kMost) return sorted;
  std::vector<int> some;
  for (std::size_t i = 0; i < kMost; ++i) some.push_back(sorted[i * (sorted.size() - 1) / (kMost - 1)]);
  return some;
}

std::string indented(const std::string& lines, const std::string& by) {
  std::string text;
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) text += by + line + "\n";
  return text;
}

void put_ranking(const Output& to, const Scenario& s, const std::vector<Advice>& advices,
                 const std::vector<std::size_t>& order) {
  const PointInputs inputs(s, Format::table, {"batch_size", "prompt_tokens"});
  const std::vector<int> common = common_batches(advices, order);
  const auto columns = ranking_figures(shown_batches(advices), common.empty() ? 0 : common.back());
  std::vector<Table::Column> titles = inputs.titles();
  add_titles(titles, columns);
  Table table(std::move(titles));
  for (const std::size_t i : order) {
    std::vector<Cell> row = inputs.cells(advices[i].point);
    add_cells(row, columns, advices[i]);
    table.add(std::move(row));
  }
  to.stream << "\nSpeedup of requests by batch:\n" << table.to_text(to.width);
}

void write_text(const Output& to, const Scenario& s, const std::vector<Advice>& advices, bool every) {
  std::ostream& out = to.stream;
  if (!s.question.empty()) out << paragraph(s.question, to.width);
  const auto order = ranking(advices), best = best_of_setups(advices, order);
  const auto capital = [](std::string text) {
    text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
    return text + ".";
  };
  constexpr std::size_t kMostSetups = 6;
  for (std::size_t i = 0; i < std::min(best.size(), kMostSetups); ++i) {
    const Advice& a = advices[best[i]];
    const std::string setup = setup_text(s, a.point), gain = gain_sentence(s, a);
    if (best.size() > 1) out << "On " << setup << ":\n  ";
    out << capital(verdict_sentence(s, a)) << "\n";
    if (!gain.empty()) out << (best.size() > 1 ? "  " : "") << gain << "\n";
    if (const std::string assumed = assumption_sentence(s, advices, order, best[i]); !assumed.empty())
      out << (best.size() > 1 ? "  " : "") << assumed << "\n";
    if (best.size() == 1) out << "That is on " << setup << ".\n";
    if (s.prompt_tokens.size() > 1)
      out << (best.size() > 1 ? "  " : "") << "Batches and gains are of the first of " << s.prompt_tokens.size()
          << " prompt lengths, " << s.prompt_tokens.front() << " tokens: ask for each other one alone.\n";
    out << indented(schedule_text(s, a), best.size() > 1 ? "  " : "");
  }
  if (best.size() > kMostSetups) out << "... and on " << best.size() - kMostSetups << " other setups: in the table.\n";
  if (best.empty()) out << "No method of it can run.\n";
  if (order.size() > 1) put_ranking(to, s, advices, order);
  for (std::size_t i = 0; i < advices.size(); ++i)
    if (every || best.empty() || i == best.front()) put_reasons(to, s, advices[i]);
  const std::size_t skipped = advices.size() - order.size();
  if (skipped > 0 && !best.empty() && !every) {
    const auto first =
        std::find_if(advices.begin(), advices.end(), [](const Advice& a) { return !a.obstacle.empty(); });
    out << skipped << " can't run; the first: " << first->obstacle << "\n";
  }
  if (order.size() > 1 && !every) out << "The reasons of every method: --all\n";
  if (!s.note.empty()) out << paragraph(s.note, to.width);
  out.flush();
  if (!out) throw OutputError("standard output can't be written");
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
    if (!a.obstacle.empty()) return;
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

void write_advice(const Output& to, const Scenario& s, const std::vector<Advice>& advices, bool every) {
  if (to.format == Format::json) write_json(to, s, advices);
  else write_text(to, s, advices, every);
}

}  // namespace draftline
