// SPDX-License-Identifier: Apache-2.0
#include "reports/advice_text.h"

#include <algorithm>
#include <cctype>
#include <set>

#include "reports/advise_figures.h"
#include "reports/certainty.h"
#include "reports/point.h"
#include "reports/verdict.h"

namespace draftline {

namespace {

std::string batch_sentence(const Advice& a) {
  if (a.pays_at.empty()) return "Batch: it pays at no batch that fits, up to " + std::to_string(a.largest_batch) + ".";
  if (a.pays_at_every_batch())
    return "Batch: it pays at every batch that fits, up to " + std::to_string(a.largest_batch) + ".";
  return "Batch: it pays " + batches_sentence(a) + "; memory limits it to " + std::to_string(a.largest_batch) + ".";
}

std::string load_sentence(const LoadAdvice& r) {
  if (r.outcome == LoadAdvice::Outcome::never_pays) return "Load: it makes a server slower at every load.";
  if (r.outcome == LoadAdvice::Outcome::too_few_requests)
    return "Load: the workload has too few requests to load a server; increase \"requests\".";
  const std::string from = r.pays_from.value > 0 ? "from " + significant(r.pays_from.value, 3) + " on" : "",
                    to = significant(r.pays_to.value, 3) + " requests/s";
  const std::string pays = "Load: it pays " + from + (from.empty() ? "" : ", ");
  return r.until_overload() ? pays + "until a server with plain decoding is overloaded, at " + to + "."
                            : pays + "up to " + to + " per server.";
}

// The advice for the first batch size at which decoding loses, or for the largest one.
const BatchAdvice& telling(const Advice& a) {
  const auto it = std::ranges::find_if(a.batches, [](const auto& b) { return b.speedup < 1; });
  return it != a.batches.end() ? *it : a.batches.back();
}

std::string loss_sentence(const BatchAdvice& b) {
  std::vector<std::pair<double, std::string>> parts;
  for (const auto& f : loss_figures()) parts.emplace_back(std::get<double>(f.get(b).value), f.title);
  std::ranges::stable_sort(parts, [](const auto& x, const auto& y) { return x.first > y.first; });
  std::string text = "Costs: at batch " + std::to_string(b.batch_size) + " a step yields " +
                     significant(b.acceptance_length) + " tokens and takes " + significant(b.break_even_length) +
                     " plain steps";
  std::string more;
  for (const auto& [steps, title] : parts)
    if (steps > 0.02) more += (more.empty() ? ": " : ", ") + title + " +" + significant(steps, 2);
  return text + more + ".";
}

std::string need_sentence(const Advice& a) {
  const BatchAdvice &first = a.batches.front(), &last = a.batches.back();
  std::string text = "Tokens per step: " + significant(first.acceptance_length) +
                     "; needed to break even: " + significant(first.break_even_length) + " at batch " +
                     std::to_string(first.batch_size);
  if (&first != &last)
    text += ", " + significant(last.break_even_length) + " at batch " + std::to_string(last.batch_size);
  return text + ".";
}

std::string shard_sentence(const Advice& a) {
  std::vector<int> better;
  for (const BatchAdvice& b : a.batches)
    if (b.sharded_speedup && *b.sharded_speedup > b.speedup) better.push_back(b.batch_size);
  if (better.empty()) return "Drafter: keep it undivided on every rank.";
  if (better.size() == a.batches.size()) return "Drafter: divide it among the ranks (\"shard_draft\": true).";
  return "Drafter: divide it among the ranks (\"shard_draft\": true) from batch " + std::to_string(better.front()) +
         " on; keep it undivided below.";
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

}  // namespace

std::string subject(const Scenario& s, const Point& p) {
  const MethodChoice& m = s.method(p);
  std::string text = method_text(s, p, false);
  if (m.spec.draft_length())
    text += " with " + std::to_string(*m.spec.draft_length()) + (*m.spec.draft_length() == 1 ? " draft" : " drafts");
  return text + " on " + setup_text(s, p);
}

std::vector<std::string> reasons_of(const Scenario& scenario, const Advice& a) {
  if (a.obstacle) return {"can't run: " + *a.obstacle};
  std::vector<std::string> all{batch_sentence(a)};
  if (a.rate) all.push_back(load_sentence(*a.rate));
  if (a.pays_to_batch() > a.batch_limit)
    all.push_back("Limit: " + scenario.engines[a.point.engine]->name + " runs " + std::to_string(a.batch_limit) +
                  " concurrent sequences with this method by default; the load above assumes this limit.");
  all.push_back(loss_sentence(telling(a)));
  all.push_back(need_sentence(a));
  if (a.batches.front().sharded_speedup) all.push_back(shard_sentence(a));
  if (a.pool_lost > 0.005 && scenario.method(a.point).drafter_device)
    all.push_back("KV pool: a sequence needs space in both caches, which reduces the pool by " + percent(*a.pool_lost) +
                  ".");
  else if (a.pool_lost > 0.005) all.push_back("KV pool: speculation reduces it by " + percent(*a.pool_lost) + ".");
  return all;
}

Table batch_table(const Advice& a) {
  const auto columns = columns_of(batch_figures(a), a, Format::table);
  std::vector<Table::Column> titles;
  add_titles(titles, columns);
  Table table(std::move(titles));
  for (const BatchAdvice& b : a.batches) {
    std::vector<Cell> row;
    add_cells(row, columns, b);
    table.add(std::move(row));
  }
  return table;
}

Table ranking_table(const Scenario& s, const std::vector<Advice>& advices, const std::vector<std::size_t>& order,
                    RowNotes& notes) {
  const PointInputs inputs(s, Format::table, {"batch_size", "prompt_tokens"});
  const std::vector<int> common = common_batches(advices, order);
  const auto columns = ranking_figures(shown_batches(advices), common.empty() ? 0 : common.back());
  std::vector<Table::Column> titles = inputs.titles();
  add_titles(titles, columns);
  titles.emplace_back("notes", "", false, true);
  Table table(std::move(titles));
  for (const std::size_t i : order) {
    std::vector<Cell> row = inputs.cells(advices[i].point);
    add_cells(row, columns, advices[i]);
    row.emplace_back(notes.mark(advices[i].caveats));
    table.add(std::move(row));
  }
  return table;
}

SetupVerdict verdict_on_setup(const Scenario& s, const std::vector<Advice>& advices,
                              const std::vector<std::size_t>& order, std::size_t best) {
  const Advice& a = advices[best];
  SetupVerdict v{verdict_sentence(s, a) + ".", {}, {}};
  v.answer.front() = static_cast<char>(std::toupper(byte_of(v.answer.front())));
  for (const std::string& gain : {gain_sentence(s, a), load_gain_sentence(a)})
    if (!gain.empty()) v.gains.push_back(gain);
  const std::string assumption = assumption_sentence(s, advices, order, best);
  if (!assumption.empty()) v.doubts.push_back(assumption);
  const std::vector<std::string> close = certainty_sentences(a);
  v.doubts.insert(v.doubts.end(), close.begin(), close.end());
  if (const BatchAdvice* b = undecided(a))
    v.doubts.push_back("To settle it: " + settling_command(s, a, *b, !assumption.empty()));
  for (const std::string& line : lines_of(a.caveats)) v.doubts.push_back(line);
  if (s.prompt_tokens.size() > 1)
    v.doubts.push_back("Batch sizes and gains apply to the first of " + std::to_string(s.prompt_tokens.size()) +
                       " prompt lengths, " + std::to_string(s.prompt_tokens.front()) +
                       " tokens; for other lengths use a scenario with one length.");
  return v;
}

}  // namespace draftline
