// SPDX-License-Identifier: Apache-2.0
#include "reports/advise_report.h"

#include <algorithm>

#include "reports/advise_figures.h"

namespace draftline {

namespace {

std::string subject(const Scenario& s, const Point& p) {
  const MethodChoice& m = s.method(p);
  std::string text = m.spec.label();
  if (m.spec.draft_length())
    text += " with " + std::to_string(*m.spec.draft_length()) + (*m.spec.draft_length() == 1 ? " draft" : " drafts");
  text += " on ";
  if (const int ranks = s.tensor_parallel[p.ranks]; ranks > 1) text += std::to_string(ranks) + " x ";
  text += s.devices[p.device]->name + ", " + s.transformers[p.transformer]->name + " in " + precision_at(s, p).name +
          ", " + s.engines[p.engine]->name + "-" + s.engines[p.engine]->version + ", " +
          std::to_string(s.prompt_tokens[p.prompt]) + " + " + std::to_string(s.output_tokens[p.output]) + " tokens";
  return text;
}

std::string batch_sentence(const Advice& a) {
  if (a.pays_to_batch == 0) return "Batch: it never pays, not even alone.";
  if (a.pays_to_batch == a.largest_batch)
    return "Batch: it pays at every batch that fits, up to " + std::to_string(a.largest_batch) + ".";
  return "Batch: it pays up to a batch of " + std::to_string(a.pays_to_batch) + "; memory holds " +
         std::to_string(a.largest_batch) + ".";
}

std::string rate_sentence(const RateAdvice& r) {
  if (r.never) return "Load: a server with it is slower even when idle.";
  if (r.too_few) return "Load: the workload has too few requests to load a server; give it more.";
  const std::string rate = significant(r.pays_to.value, 3) + " requests a second";
  return r.overloaded ? "Load: it pays until plain decoding is overloaded, at " + rate + "."
                      : "Load: it pays up to " + rate + " a server.";
}

std::string length_sentence(const Advice& a) {
  std::string text;
  int last = -1, prompt = a.best.front().prompt_tokens;
  for (const BestLength& b : a.best) {
    if (b.prompt_tokens != prompt) break;  // other prompt lengths are in the table
    if (b.draft_length == last) continue;
    text += (text.empty() ? "" : ", ") + (b.draft_length == 0 ? std::string("none") : std::to_string(b.draft_length)) +
            " from batch " + std::to_string(b.batch_size);
    last = b.draft_length;
  }
  return "Drafts: best are " + text + ".";
}

// The advice for the first batch size with a speedup below 1, or for the largest one.
const BatchAdvice& telling(const Advice& a) {
  const auto it = std::find_if(a.batches.begin(), a.batches.end(), [](const auto& b) { return b.speedup < 1; });
  return it != a.batches.end() ? *it : a.batches.back();
}

std::string loss_sentence(const BatchAdvice& b) {
  std::vector<std::pair<double, std::string>> parts;
  for (const auto& f : loss_figures()) parts.emplace_back(std::get<double>(f.get(b).value), f.title);
  std::stable_sort(parts.begin(), parts.end(), [](const auto& x, const auto& y) { return x.first > y.first; });
  std::string text = "Losses: at batch " + std::to_string(b.batch_size) + " a step gives " + significant(b.length) +
                     " tokens and costs " + significant(b.needed_length) + " plain steps";
  std::string more;
  for (const auto& [steps, title] : parts)
    if (steps > 0.02) more += (more.empty() ? ": " : ", ") + title + " " + significant(steps, 2);
  return text + more + ".";
}

std::string need_sentence(const Advice& a) {
  const BatchAdvice &first = a.batches.front(), &last = a.batches.back();
  std::string text =
      "Break-even: " + significant(first.needed_length) + " tokens a step at batch " + std::to_string(first.batch_size);
  if (&first != &last) text += ", " + significant(last.needed_length) + " at batch " + std::to_string(last.batch_size);
  return text + "; it has " + significant(first.length) + ".";
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

}  // namespace

AdviseReport::AdviseReport(Output to, const Scenario& scenario)
    : to_(std::move(to)), scenario_(scenario), inputs_(scenario, to_.format) {
  if (to_.format != Format::json) return;
  json_ = std::make_unique<JsonWriter>(to_.stream);
  begin_document(*json_, 1, to_.asked, scenario);
  json_->key("results");
  json_->begin_array();
}

void AdviseReport::add(const Advice& a) {
  if (json_) add_json(a);
  else add_text(a);
}

void AdviseReport::add_text(const Advice& a) {
  if (!first_) to_.stream << "\n";
  first_ = false;
  to_.stream << subject(scenario_, a.point) << "\n";
  if (!a.obstacle.empty()) {
    to_.stream << "  can't run: " << a.obstacle << "\n";
    return;
  }
  to_.stream << "  " << batch_sentence(a) << "\n";
  if (a.rate) to_.stream << "  " << rate_sentence(*a.rate) << "\n";
  if (!a.best.empty()) to_.stream << "  " << length_sentence(a) << "\n";
  to_.stream << "  " << loss_sentence(telling(a)) << "\n";
  to_.stream << "  " << need_sentence(a) << "\n";
  if (a.batches.front().sharded_speedup) to_.stream << "  " << shard_sentence(a) << "\n";
  if (a.pool_lost > 0.005) to_.stream << "  KV pool: the drafter takes " << percent(*a.pool_lost) << " of it.\n";
  to_.stream << "\n";

  const auto columns = columns_of(batch_figures(a), a, Format::table);
  std::vector<Table::Column> titles;
  add_titles(titles, columns);
  Table table(std::move(titles));
  for (const BatchAdvice& b : a.batches) {
    std::vector<Cell> row;
    add_cells(row, columns, b);
    table.add(std::move(row));
  }
  to_.stream << table.to_text(to_.width);
}

void AdviseReport::add_json(const Advice& a) {
  JsonWriter& w = *json_;
  w.begin_object();
  inputs_.write(w, a.point);
  write_members(w, advise_figures(), a);
  if (a.obstacle.empty()) {
    const auto of_batch = batch_figures(a);
    w.objects("batches", a.batches, [&](const BatchAdvice& b) { write_members(w, of_batch, b); });
    w.objects("best_draft_lengths", a.best, [&](const BestLength& b) { write_members(w, best_length_figures(), b); });
  }
  w.end_object();
}

void AdviseReport::finish() {
  if (json_) {
    json_->end_array();
    json_->end_object();
    json_->finish();
    return;
  }
  to_.stream.flush();
  if (!to_.stream) throw OutputError("standard output can't be written");
}

}  // namespace draftline
