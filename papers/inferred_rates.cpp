// SPDX-License-Identifier: Apache-2.0
#include "papers/inferred_rates.h"

#include <algorithm>

namespace draftline {

namespace {

bool same_task(const PaperCell& a, const PaperCell& b) {
  return a.text("task") == b.text("task") && a.text("model") == b.text("model") &&
         a.text("transformer") == b.text("transformer");
}
std::optional<PerSecond> throughput_of(const PaperCell& c) {
  if (!c.paper || (c.column != "throughput" && c.column != "request_throughput")) return std::nullopt;
  return PerSecond{*c.paper * (c.column == "throughput" ? 1.0 : batch_of(c))};
}
Work per_token(const Work& w, double tokens) { return {w.flops / tokens, w.read / tokens, w.written / tokens}; }

}  // namespace

int batch_of(const PaperCell& cell) {
  return to_int(std::clamp<std::int64_t>(cell.number("batch_size").value_or(1), 1, 1 << 14));
}

int draft_length_of(const PaperCell& cell) {
  return to_int(std::clamp<std::int64_t>(cell.number("draft_length").value_or(0), 0, 1 << 10));
}

InferredRates::Place InferredRates::place_of(const PaperTable& table, const PaperCell& cell) {
  const PaperSetting* s = stack_.setting_of(table, cell);
  return {s, s ? stack_.transformer(*s, table, cell) : nullptr};
}

std::optional<InferredRates::Rate> InferredRates::rate(const PaperTable& table, const PaperCell& cell, int b) {
  const auto [s, shape] = place_of(table, cell);
  const std::string method = cell.text("method");
  if (!shape) return std::nullopt;
  const Beyond& beyond = calibrated(table, *s, cell);
  if (s->issue_by_batch && !beyond.issue) return std::nullopt;
  if (stack_.is_plain(*s, method)) {
    const PaperStep& plain = stack_.step(*s, table, *shape, {method, 0, b, beyond.issue});
    return Rate{b / (plain.time + beyond.constant + b * beyond.per_sequence), 1, per_token(plain.work, b),
                beyond.at_limit};
  }
  if (!stack_.entry(*s, method)) return std::nullopt;
  const auto length = acceptance(table, *s, cell);
  if (!length) return std::nullopt;
  const PaperStep& mine = stack_.step(*s, table, *shape, {method, draft_length_of(cell), b, beyond.issue});
  const double tokens = b * *length;
  const Seconds time = mine.time + beyond.constant + b * (mine.rows * beyond.per_row + *length * beyond.per_token);
  return Rate{tokens / time, *length, per_token(mine.work, tokens), beyond.at_limit};
}

const InferredRates::Beyond& InferredRates::calibrated(const PaperTable& table, const PaperSetting& s,
                                                       const PaperCell& cell) {
  const std::string home_name = s.calibrated_in.value_or(table.table);
  const auto [it, fresh] = beyond_.try_emplace({&s, table.table, cell.text("model"), cell.text("transformer"),
                                                cell.text("task"), s.issue_by_batch ? batch_of(cell) : 0});
  Beyond& line = it->second;
  if (!fresh) return line;
  if (!s.calibrated) {
    line.per_sequence = line.per_token = s.engine.token;
    return line;
  }
  if (s.issue_by_batch) return line = issue_by_batch(table, cell);
  const PaperTable* home = this->table(home_name);
  if (!home) return line;
  if (s.issue_is_calibrated) line.issue = issue_on(table, *home, s.baseline, cell);
  else line = line_through(*home, cell, s.slope_is_of_rows);
  return line;
}

std::optional<Seconds> InferredRates::issue_on(const PaperTable& table, const PaperTable& home,
                                               const std::string& baseline, const PaperCell& like) {
  const auto issue = issue_of(home, baseline, like);
  if (!issue || &table == &home) return issue;
  const auto here = issue_of(table, "baseline", like), there = issue_of(home, "baseline", like);
  return here && there ? *issue * (*here / *there) : *issue;
}

std::optional<Seconds> InferredRates::issue_of(const PaperTable& home, const std::string& baseline,
                                               const PaperCell& like) {
  for (const PaperCell& c : home.cells) {
    const auto printed = throughput_of(c);
    if (!printed || c.text("method") != baseline || !same_task(c, like)) continue;
    if (place_of(home, c).shape) return issue_for(1 / *printed, home, c, 1, 30);
  }
  return std::nullopt;
}

Seconds InferredRates::issue_for(Seconds wanted, const PaperTable& table, const PaperCell& baseline, int batch,
                                 int halvings) {
  const auto [s, shape] = place_of(table, baseline);
  Seconds low, high{1e-3};
  for (int i = 0; i < halvings; ++i) {
    const Seconds middle = (low + high) / 2;
    (stack_.step(*s, table, *shape, {baseline.text("method"), 0, batch, middle}).time < wanted ? low : high) = middle;
  }
  return (low + high) / 2;
}

InferredRates::Beyond InferredRates::issue_by_batch(const PaperTable& table, const PaperCell& cell) {
  Beyond beyond;
  const int b = batch_of(cell);
  for (const PaperCell& c : table.cells) {
    const auto printed = throughput_of(c);
    if (!printed || c.text("method") != PaperStack::kPlain || batch_of(c) != b || !same_task(c, cell)) continue;
    const auto [s, shape] = place_of(table, c);
    const Seconds wanted = b / *printed;
    beyond.at_limit = stack_.step(*s, table, *shape, {PaperStack::kPlain, 0, b, Seconds{}}).time >= wanted;
    beyond.issue = beyond.at_limit ? Seconds{} : issue_for(wanted, table, c, b, 40);
    break;
  }
  return beyond;
}

InferredRates::Beyond InferredRates::line_through(const PaperTable& home, const PaperCell& like,
                                                  bool slope_is_of_rows) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  const auto plain = [](const PaperCell& c) { return throughput_of(c) && c.text("method") == PaperStack::kPlain; };
  const bool has_task =
      std::ranges::any_of(home.cells, [&](const PaperCell& c) { return plain(c) && same_task(c, like); });
  for (const PaperCell& c : home.cells) {
    if (!plain(c) || c.excluded || (has_task && !same_task(c, like))) continue;
    const auto [s, shape] = place_of(home, c);
    if (!shape) continue;
    const int b = batch_of(c);
    const double y = (b / *throughput_of(c) - stack_.step(*s, home, *shape, {PaperStack::kPlain, 0, b}).time).value;
    n += 1, sx += b, sy += y, sxx += 1.0 * b * b, sxy += b * y;
  }
  Beyond line;
  const double spread = n * sxx - sx * sx, slope = spread > 0 ? std::max(0.0, (n * sxy - sx * sy) / spread) : 0;
  line.per_sequence = Seconds{slope};
  line.constant = Seconds{n > 0 ? (sy - slope * sx) / n : 0};
  line.per_token = line.per_sequence;
  if (!slope_is_of_rows) return line;
  line.per_row = line.per_sequence;  // the smallest slope of any task; the rest is per token
  for (const PaperCell& c : home.cells)
    if (plain(c) && c.text("model") == like.text("model") && !same_task(c, like))
      line.per_row = std::min(line.per_row, line_through(home, c, false).per_sequence);
  line.per_token = line.per_sequence - line.per_row;
  return line;
}

std::optional<double> InferredRates::acceptance(const PaperTable& table, const PaperSetting& s, const PaperCell& cell) {
  for (const PaperCell& c : table.cells)
    if (c.column == "acceptance_length" && c.row == cell.row && c.paper) return c.paper;
  if (const auto ratio = layer_ratio(cell)) return formulas_->acceptance_length(*ratio, draft_length_of(cell));
  std::string method = cell.text("method");
  if (const auto of = stack_.entry(s, method)->find("acceptance_of")) method = of->text();
  const PaperTable* from = s.inferred_in ? this->table(*s.inferred_in) : &table;
  if (!from || (!s.inferred_in && !s.inferred_at)) return std::nullopt;
  for (const PaperCell& c : from->cells) {
    const auto printed = throughput_of(c);
    if (!printed || c.text("method") != method || c.text("task") != cell.text("task")) continue;
    if (!s.inferred_in &&
        (c.number("batch_size") != s.inferred_at || draft_length_of(c) != draft_length_of(cell) || !same_task(c, cell)))
      continue;
    const auto [there, shape] = place_of(*from, c);
    if (!shape) continue;
    const Beyond& beyond = calibrated(*from, *there, c);
    const int b = batch_of(c);
    const PaperStep& step = stack_.step(*there, *from, *shape, {method, draft_length_of(c), b, beyond.issue});
    const Seconds fixed = step.time + beyond.constant + b * step.rows * beyond.per_row;
    const double rest = 1 - *printed * beyond.per_token;  // share of the time that is not per token
    if (rest <= 0) return std::nullopt;
    return *printed * fixed / (b * rest);
  }
  return std::nullopt;
}

std::optional<PerSecond> InferredRates::printed(const PaperTable& t, const PaperCell& cell) {
  for (const PaperCell& c : t.cells)
    if (c.row == cell.row)
      if (const auto x = throughput_of(c)) return x;
  return std::nullopt;
}

std::optional<double> InferredRates::layer_ratio(const PaperCell& cell) const {
  const RowValue* v = formulas_ ? cell.find("layer_ratio") : nullptr;
  if (!v || std::holds_alternative<std::string>(*v)) return std::nullopt;
  const auto* ratio = std::get_if<double>(v);
  return ratio ? *ratio : to_double(std::get<std::int64_t>(*v));
}

const PaperTable* InferredRates::table(const std::string& name) const {
  if (paper_)
    for (const PaperTable& t : paper_->tables)
      if (t.table == name) return &t;
  return nullptr;
}

}  // namespace draftline
