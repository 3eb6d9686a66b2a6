// SPDX-License-Identifier: Apache-2.0
#include "reports/inferred_paper.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "model/acceptance.h"
#include "reports/paper_stack.h"
#include "reports/peak_memory.h"

namespace draftline {

namespace {

// What a step costs beyond the priced program, from the printed baseline of one task: a constant, and a slope over the batch
// whose parts are of each verified row and of each emitted token.
struct Beyond {
  Seconds constant, per_sequence;
  std::optional<Seconds> issue = {};
  Seconds per_row = {}, per_token = {};
};

struct Rate {
  PerSecond throughput;  // of the whole batch
  double length;         // tokens per step and sequence
  Work per_token;
};

class InferredPaper {
 public:
  InferredPaper(const std::filesystem::path& data, const Document& file) : stack_(data, file) {
    if (file.root().has("memory")) memory_.emplace(file.root().at("memory"), stack_);
    if (const auto name = file.root().find("formulas")) {
      formulas_file_ = Document::from_file(data / "papers" / name->text());
      formulas_ = read_s3d_formulas(formulas_file_->root());
    }
  }

  void sees(const Paper& paper) { paper_ = &paper; }

  std::optional<CellPrediction> operator()(const PaperTable& table, const PaperCell& cell) {
    const std::string& column = cell.column;
    if (column == "mean_speedup") return mean_of_printed(cell);
    if (formulas_)
      if (const auto p = formula(cell)) return p;
    if (column == "memory_speed") return memory_speed(table, cell);
    const PaperSetting* s = stack_.setting_of(table, cell);
    const TransformerShape* shape = s ? stack_.transformer(*s, table, cell) : nullptr;
    if (!shape) return std::nullopt;
    if (column == "peak_memory" || column == "load_memory") return memory(*s, *shape, cell);
    if (column == "saturation_batch" || column == "crossover_batch") return batch_of_interest(table, cell);
    if (column == "largest_speedup") return largest_speedup(table, cell);
    const int b = batch_of(cell);
    if (column == "step_cost") {
      const Seconds plain = stack_.step(*s, table, *shape, PaperStack::kPlain, 0, b, {}).time;
      const int k = draft_length_of(cell);
      return CellPrediction{stack_.step(*s, table, *shape, cell.text("method"), k, b, {}).time / plain, std::nullopt,
                            ""};
    }
    const auto mine = rate(table, cell, b);
    if (!mine) return std::nullopt;
    const double of_request = column == "request_throughput" ? b : 1;
    CellPrediction p{mine->throughput.value / of_request, std::nullopt, ""};
    if (column == "speedup") {
      if (const auto plain = rate(table, with(cell, "method", PaperStack::kPlain), b))
        p.ours = mine->throughput / plain->throughput;
    } else if (column == "speed_ratio") {
      const auto other = rate(table, with(cell, "method", cell.text("over")), b);
      if (!other) return std::nullopt;
      p.ours = mine->throughput / other->throughput;
    }
    if (stack_.is_plain(*s, cell.text("method"))) return p;
    if (const auto printed = printed_throughput(table, cell))
      p.peak_share = peak_share(mine->per_token, *printed, stack_.device(*s, table), s->precision.activations);
    const bool given_away = s->inferred_in.empty() ? s->inferred_at == b : table.table == s->inferred_in;
    if (given_away && column != "speedup") p.note = "tokens per step inferred here: " + two_digits(mine->length);
    return p;
  }

 private:
  static Work per_token(const Work& w, double tokens) {
    return {w.flops / tokens, w.read / tokens, w.written / tokens};
  }
  static std::string two_digits(double v) {
    std::string text = std::to_string(std::round(v * 100) / 100);
    return text.substr(0, text.find('.') + 3);
  }
  static int batch_of(const PaperCell& cell) { return static_cast<int>(cell.number("batch_size").value_or(1)); }
  static int draft_length_of(const PaperCell& cell) {
    return static_cast<int>(cell.number("draft_length").value_or(0));
  }
  static bool same_task(const PaperCell& a, const PaperCell& b) {
    return a.text("task") == b.text("task") && a.text("model") == b.text("model") &&
           a.text("transformer") == b.text("transformer");
  }
  static PaperCell with(PaperCell cell, std::string_view key, const std::string& value) {
    for (auto& [name, old] : cell.row)
      if (name == key) old = value;
    return cell;
  }
  static std::optional<PerSecond> throughput_of(const PaperCell& c) {
    if (!c.paper || (c.column != "throughput" && c.column != "request_throughput")) return std::nullopt;
    return PerSecond{*c.paper * (c.column == "throughput" ? 1.0 : batch_of(c))};
  }
  static std::optional<PerSecond> printed_throughput(const PaperTable& t, const PaperCell& cell) {
    for (const PaperCell& c : t.cells)
      if (c.row == cell.row)
        if (const auto x = throughput_of(c)) return x;
    return std::nullopt;
  }
  const PaperTable* table_named(const std::string& name) const {
    for (const PaperTable& t : paper_->tables)
      if (t.table == name) return &t;
    return nullptr;
  }

  std::optional<Rate> rate(const PaperTable& table, const PaperCell& cell, int b) {
    const PaperSetting* s = stack_.setting_of(table, cell);
    const TransformerShape* shape = s ? stack_.transformer(*s, table, cell) : nullptr;
    const std::string method = cell.text("method");
    if (!shape) return std::nullopt;
    const Beyond& beyond = calibrated(table, *s, cell);
    if (stack_.is_plain(*s, method)) {
      const PaperStep& plain = stack_.step(*s, table, *shape, method, 0, b, beyond.issue);
      return Rate{b / (plain.time + beyond.constant + b * beyond.per_sequence), 1, per_token(plain.work, b)};
    }
    if (!stack_.entry(*s, method)) return std::nullopt;
    const auto length = acceptance(table, *s, cell);
    if (!length) return std::nullopt;
    const PaperStep& mine = stack_.step(*s, table, *shape, method, draft_length_of(cell), b, beyond.issue);
    const double tokens = b * *length;
    const Seconds time = mine.time + beyond.constant + b * (mine.rows * beyond.per_row + *length * beyond.per_token);
    return Rate{tokens / time, *length, per_token(mine.work, tokens)};
  }

  const Beyond& calibrated(const PaperTable& table, const PaperSetting& s, const PaperCell& cell) {
    const std::string home_name = s.calibrated_in.empty() ? table.table : s.calibrated_in;
    const auto [it, fresh] =
        beyond_.try_emplace({&s, table.table, cell.text("model"), cell.text("transformer"), cell.text("task")});
    Beyond& line = it->second;
    if (!fresh) return line;
    if (!s.calibrated) {
      line.per_sequence = line.per_token = s.engine.token;
      return line;
    }
    const PaperTable* home = table_named(home_name);
    if (!home) return line;
    if (s.issue_is_calibrated) line.issue = issue_on(table, *home, s.baseline, cell);
    else line = line_through(*home, cell, s.slope_is_of_rows);
    return line;
  }

  // Another table's baseline, of another host: as much slower or faster as the row "baseline" that both have.
  std::optional<Seconds> issue_on(const PaperTable& table, const PaperTable& home, const std::string& baseline,
                                  const PaperCell& like) {
    const auto issue = issue_of(home, baseline, like);
    if (!issue || &table == &home) return issue;
    const auto here = issue_of(table, "baseline", like), there = issue_of(home, "baseline", like);
    return here && there ? *issue * (*here / *there) : *issue;
  }

  // The issue time at which the table's plain step takes what is printed for the task.
  std::optional<Seconds> issue_of(const PaperTable& home, const std::string& baseline, const PaperCell& like) {
    for (const PaperCell& c : home.cells) {
      const auto printed = throughput_of(c);
      if (!printed || c.text("method") != baseline || !same_task(c, like)) continue;
      const PaperSetting& s = *stack_.setting_of(home, c);
      const TransformerShape& shape = *stack_.transformer(s, home, c);
      Seconds low, high{1e-3};
      for (int i = 0; i < 30; ++i) {
        const Seconds middle = (low + high) / 2;
        (stack_.step(s, home, shape, baseline, 0, 1, middle).time < 1 / *printed ? low : high) = middle;
      }
      return (low + high) / 2;
    }
    return std::nullopt;
  }

  // A straight line through what the printed baseline of a task needs beyond the priced program; of another table's task
  // where the table at hand has none.
  Beyond line_through(const PaperTable& home, const PaperCell& like, bool slope_is_of_rows) {
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    const auto plain = [](const PaperCell& c) { return throughput_of(c) && c.text("method") == PaperStack::kPlain; };
    const bool has_task = std::any_of(home.cells.begin(), home.cells.end(),
                                      [&](const PaperCell& c) { return plain(c) && same_task(c, like); });
    for (const PaperCell& c : home.cells) {
      if (!plain(c) || c.set_apart || (has_task && !same_task(c, like))) continue;
      const PaperSetting& s = *stack_.setting_of(home, c);
      const TransformerShape& shape = *stack_.transformer(s, home, c);
      const int b = batch_of(c);
      const double y = (b / *throughput_of(c) - stack_.step(s, home, shape, PaperStack::kPlain, 0, b, {}).time).value;
      n += 1, sx += b, sy += y, sxx += static_cast<double>(b) * b, sxy += b * y;
    }
    Beyond line;
    const double spread = n * sxx - sx * sx, slope = spread > 0 ? std::max(0.0, (n * sxy - sx * sy) / spread) : 0;
    line.per_sequence = Seconds{slope};
    line.constant = Seconds{n > 0 ? (sy - slope * sx) / n : 0};
    line.per_token = line.per_sequence;
    if (!slope_is_of_rows) return line;
    line.per_row = line.per_sequence;  // as much as in the task where it is least
    for (const PaperCell& c : home.cells)
      if (plain(c) && c.text("model") == like.text("model") && !same_task(c, like))
        line.per_row = std::min(line.per_row, line_through(home, c, false).per_sequence);
    line.per_token = line.per_sequence - line.per_row;
    return line;
  }

  // Printed beside it, or what makes the cell that is given away come out.
  std::optional<double> acceptance(const PaperTable& table, const PaperSetting& s, const PaperCell& cell) {
    for (const PaperCell& c : table.cells)
      if (c.column == "acceptance_length" && c.row == cell.row && c.paper) return c.paper;
    if (const auto ratio = layer_ratio(cell)) return formulas_->acceptance_length(*ratio, draft_length_of(cell));
    std::string method = cell.text("method");
    if (const auto of = stack_.entry(s, method)->find("acceptance_of")) method = of->text();
    const PaperTable* from = s.inferred_in.empty() ? &table : table_named(s.inferred_in);
    if (!from || (s.inferred_in.empty() && s.inferred_at == 0)) return std::nullopt;
    for (const PaperCell& c : from->cells) {
      const auto printed = throughput_of(c);
      if (!printed || c.text("method") != method || c.text("task") != cell.text("task")) continue;
      if (s.inferred_in.empty() && (c.number("batch_size") != s.inferred_at ||
                                    draft_length_of(c) != draft_length_of(cell) || !same_task(c, cell)))
        continue;
      const PaperSetting& there = *stack_.setting_of(*from, c);
      const Beyond& beyond = calibrated(*from, there, c);
      const int b = batch_of(c);
      const PaperStep& step =
          stack_.step(there, *from, *stack_.transformer(there, *from, c), method, draft_length_of(c), b, beyond.issue);
      const Seconds fixed = step.time + beyond.constant + b * step.rows * beyond.per_row;
      const double rest = 1 - *printed * beyond.per_token;  // of the time, once each token has had its own
      if (rest <= 0) return std::nullopt;
      return *printed * fixed / (b * rest);
    }
    return std::nullopt;
  }

  std::optional<CellPrediction> memory(const PaperSetting& s, const TransformerShape& shape, const PaperCell& cell) {
    if (!memory_) return std::nullopt;
    const PeakMemory::System system{shape, s.precision.matrices, cell.text("method"), cell.text("task")};
    const auto bytes = cell.column == "peak_memory" ? memory_->peak(system) : memory_->loaded(system);
    if (!bytes) return std::nullopt;
    return CellPrediction{*bytes / kGibibyte, std::nullopt, ""};
  }

  // M of S3D's equation 13 from our own throughputs and memories; overall the mean of the tasks.
  std::optional<CellPrediction> memory_speed(const PaperTable& table, const PaperCell& cell) {
    double sum = 0;
    int tasks = 0;
    for (PaperCell c : table.cells) {
      if (c.column != "throughput" || c.text("method") != cell.text("method")) continue;
      if (cell.text("task") != "overall" && c.text("task") != cell.text("task")) continue;
      const auto ours = [&](const std::string& method) -> std::optional<SpeedAndMemory> {
        PaperCell at = with(c, "method", method);
        const auto speed = rate(table, at, 1);
        at.column = "peak_memory";
        const PaperSetting* s = stack_.setting_of(table, at);
        const auto bytes = s ? memory(*s, *stack_.transformer(*s, table, at), at) : std::nullopt;
        if (!speed || !bytes) return std::nullopt;
        return SpeedAndMemory{speed->throughput, bytes->ours * kGibibyte};
      };
      const auto mine = ours(cell.text("method")), plain = ours("baseline");
      if (!mine || !plain) return std::nullopt;
      sum += draftline::memory_speed(*mine, *plain);
      ++tasks;
    }
    if (tasks == 0) return std::nullopt;
    return CellPrediction{sum / tasks, std::nullopt, ""};
  }

  static std::optional<double> layer_ratio(const PaperCell& cell) {
    const RowValue* v = cell.find("layer_ratio");
    if (!v) return std::nullopt;
    const auto* ratio = std::get_if<double>(v);
    return ratio ? *ratio : static_cast<double>(std::get<std::int64_t>(*v));
  }

  // S3D's equations 10 to 14, and their optimum.
  std::optional<CellPrediction> formula(const PaperCell& cell) {
    const int gamma = draft_length_of(cell);
    if (cell.column == "best_ratio" && gamma > 0)
      return CellPrediction{best_layer_ratio(*formulas_, gamma).layer_ratio, std::nullopt, ""};
    if (cell.column == "best_length") {
      int best = 1;
      for (int k = 2; k <= formulas_->last_position; ++k)
        if (best_layer_ratio(*formulas_, k).improvement > best_layer_ratio(*formulas_, best).improvement) best = k;
      return CellPrediction{static_cast<double>(best), std::nullopt, ""};
    }
    const auto ratio = layer_ratio(cell);
    if (!ratio) return std::nullopt;
    if (cell.column == "acceptance_rate") return CellPrediction{formulas_->acceptance_rate(*ratio), std::nullopt, ""};
    if (cell.column == "acceptance_length")
      return CellPrediction{formulas_->acceptance_length(*ratio, gamma), std::nullopt, ""};
    if (cell.column == "improvement") return CellPrediction{formulas_->improvement(*ratio, gamma), std::nullopt, ""};
    return std::nullopt;
  }

  // Where throughput saturates: the batch size whose doubling adds no more than the printed saturation of the plain row
  // adds there; and the largest batch size at which the method is faster than the plain one.
  std::optional<CellPrediction> batch_of_interest(const PaperTable& table, const PaperCell& cell) {
    constexpr int kMost = 1024;
    const auto gain = [&](const PaperCell& c, int b) -> std::optional<double> {
      const auto one = rate(table, c, b), two = rate(table, c, 2 * b);
      if (!one || !two) return std::nullopt;
      return two->throughput / one->throughput - 1;
    };
    const PaperCell plain = with(cell, "method", PaperStack::kPlain);
    if (cell.column == "crossover_batch") {
      int last = 0;
      for (int b = 1; b <= kMost; b *= 2) {
        const auto mine = rate(table, cell, b), other = rate(table, plain, b);
        if (!mine || !other) return std::nullopt;
        if (mine->throughput <= other->throughput) break;
        last = b;
      }
      return CellPrediction{static_cast<double>(last), std::nullopt, "of powers of two"};
    }
    std::optional<double> limit;
    for (const PaperCell& c : table.cells)
      if (c.column == cell.column && c.text("method") == PaperStack::kPlain && c.paper)
        limit = gain(c, static_cast<int>(*c.paper));
    if (!limit) return std::nullopt;
    for (int b = 1; b <= kMost; b *= 2) {
      const auto g = gain(cell, b);
      if (!g) return std::nullopt;
      if (*g <= *limit * (1 + 1e-9))
        return CellPrediction{static_cast<double>(b), std::nullopt,
                              "twice the batch adds no more than it adds to the plain one where that is said to "
                              "saturate: " +
                                  two_digits(100 * *limit) + " %"};
    }
    return std::nullopt;
  }

  std::optional<CellPrediction> largest_speedup(const PaperTable& table, const PaperCell& cell) {
    double most = 0;
    for (const PaperCell& c : table.cells)
      if (c.column == "speedup" && c.text("method") == cell.text("method"))
        if (const auto p = (*this)(table, c)) most = std::max(most, p->ours);
    if (most == 0) return std::nullopt;
    return CellPrediction{most, std::nullopt, ""};
  }

  // A check of the paper: the mean of a column that it prints.
  std::optional<CellPrediction> mean_of_printed(const PaperCell& cell) const {
    const PaperTable* from = table_named(cell.text("of"));
    double sum = 0;
    int n = 0;
    if (from)
      for (const PaperCell& c : from->cells)
        if (c.column == "speedup" && c.text("task") == cell.text("task") && c.paper) sum += *c.paper, ++n;
    if (n == 0) return std::nullopt;
    return CellPrediction{sum / n, std::nullopt, ""};
  }

  static constexpr Bytes kGibibyte{1024.0 * 1024 * 1024};
  const Paper* paper_ = nullptr;
  PaperStack stack_;
  std::optional<PeakMemory> memory_;
  std::optional<Document> formulas_file_;
  std::optional<S3dFormulas> formulas_;
  std::map<std::tuple<const PaperSetting*, std::string, std::string, std::string, std::string>, Beyond> beyond_;
};

}  // namespace

Paper predict_inferred_paper(const std::filesystem::path& data, const std::string& name) {
  const Document file = Document::from_file(data / "papers" / (name + ".json"));
  Paper paper = read_paper(file.root());
  InferredPaper predictor(data, file);
  predictor.sees(paper);
  if (!file.root().failed()) predict(paper, std::ref(predictor));
  file.finish();
  return paper;
}

}  // namespace draftline
