// SPDX-License-Identifier: Apache-2.0
#include "papers/inferred_paper.h"

#include <algorithm>
#include <cmath>

#include "core/json_parse.h"
#include "core/nearest_word.h"
#include "model/acceptance/acceptance.h"
#include "papers/cost_fit.h"
#include "papers/inferred_rates.h"
#include "papers/peak_memory.h"

namespace draftline {

namespace {

class InferredPaper {
 public:
  InferredPaper(const Data& data, const Document& file) : stack_(data, file) {
    if (file.root().has("memory")) memory_.emplace(file.root().at("memory"), stack_);
    if (const auto name = file.root().find("formulas")) {
      formulas_file_ = Document::below(file.root(), data / "papers" / name->text());
      formulas_ = read_s3d_formulas(formulas_file_->root());
    }
  }

  const InputFiles& input_files() const { return stack_.input_files(); }
  void pay(std::optional<PaidCost> cost) { stack_.pay(cost); }
  void read_from(const Paper& paper) { rates_.read_from(paper, formulas_ ? &*formulas_ : nullptr); }

  std::optional<CellPrediction> operator()(const PaperTable& table, const PaperCell& cell) {
    const std::string& column = cell.column;
    if (column == "mean_speedup") return mean_of_printed(cell);
    if (formulas_)
      if (const auto p = formula(cell)) return p;
    if (column == "memory_speed") return memory_speed(table, cell);
    const auto [s, shape] = rates_.place_of(table, cell);
    if (!shape) return std::nullopt;
    if (column == "peak_memory" || column == "load_memory") return memory(*s, *shape, cell);
    if (column == "saturation_batch" || column == "crossover_batch") return batch_of_interest(table, cell);
    if (column == "largest_speedup") return largest_speedup(table, cell);
    const int b = batch_of(cell);
    if (column == "largest_draft_length") return largest_draft_length(table, cell);
    if (column == "step_cost") {
      const Seconds plain = stack_.step(*s, table, *shape, {PaperStack::kPlain, 0, b}).time;
      const int k = draft_length_of(cell);
      return CellPrediction{stack_.step(*s, table, *shape, {cell.text("method"), k, b}).time / plain, std::nullopt, ""};
    }
    const auto mine = rates_.rate(table, cell, b);
    if (!mine) return std::nullopt;
    const double of_request = column == "request_throughput" ? b : 1;
    CellPrediction p{mine->throughput.value / of_request, std::nullopt, ""};
    if (column == "speedup" || column == "theta") {
      if (const auto plain = rates_.rate(table, with(cell, "method", PaperStack::kPlain), b))
        p.ours = mine->throughput / plain->throughput;
      if (column == "theta") p.ours = mine->length / p.ours;
    } else if (column == "speed_ratio") {
      const auto other = rates_.rate(table, with(cell, "method", cell.text("over")), b);
      if (!other) return std::nullopt;
      p.ours = mine->throughput / other->throughput;
    }
    if (mine->at_limit) p.note = "the printed baseline is faster than the device alone; issue time 0";
    if (stack_.is_plain(*s, cell.text("method")) && !s->issue_by_batch) return p;
    if (const auto printed = InferredRates::printed(table, cell))
      p.peak_share = peak_share(mine->per_token, *printed, stack_.device(*s, table), s->precision.activations);
    const bool given_away = s->inferred_in ? table.table == s->inferred_in : s->inferred_at == b;
    if (given_away && column != "speedup") p.note = "tokens per step inferred here: " + two_digits(mine->length);
    return p;
  }

 private:
  static std::string two_digits(double v) {
    std::string text = std::to_string(std::round(v * 100) / 100);
    return text.substr(0, text.find('.') + 3);
  }
  static PaperCell with(PaperCell cell, std::string_view key, const std::string& value) {
    for (auto& [name, old] : cell.row)
      if (name == key) old = value;
    return cell;
  }
  std::optional<CellPrediction> memory(const PaperSetting& s, const TransformerShape& shape, const PaperCell& cell) {
    if (!memory_) return std::nullopt;
    const PeakMemory::System system{shape, s.precision.mlp.weights, cell.text("method"), cell.text("task")};
    const auto bytes = cell.column == "peak_memory" ? memory_->peak(system) : memory_->loaded(system);
    if (!bytes) return std::nullopt;
    return CellPrediction{*bytes / kGibibyte, std::nullopt, ""};
  }

  // M of S3D's equation 13 from the predicted throughputs and memories; the overall value is the mean of the tasks.
  std::optional<CellPrediction> memory_speed(const PaperTable& table, const PaperCell& cell) {
    double sum = 0;
    int tasks = 0;
    for (PaperCell c : table.cells) {
      if (c.column != "throughput" || c.text("method") != cell.text("method")) continue;
      if (cell.text("task") != "overall" && c.text("task") != cell.text("task")) continue;
      const auto ours = [&](const std::string& method) -> std::optional<SpeedAndMemory> {
        PaperCell at = with(c, "method", method);
        const auto speed = rates_.rate(table, at, 1);
        at.column = "peak_memory";
        const auto [s, shape] = rates_.place_of(table, at);
        const auto bytes = shape ? memory(*s, *shape, at) : std::nullopt;
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

  // S3D's equations 10 to 14, and their optimum.
  std::optional<CellPrediction> formula(const PaperCell& cell) {
    const int gamma = draft_length_of(cell);
    if (cell.column == "best_ratio" && gamma > 0)
      return CellPrediction{best_layer_ratio(*formulas_, gamma).layer_ratio, std::nullopt, ""};
    if (cell.column == "best_length") {
      int best = 1;
      for (int k = 2; k <= formulas_->last_position; ++k)
        if (best_layer_ratio(*formulas_, k).improvement > best_layer_ratio(*formulas_, best).improvement) best = k;
      return CellPrediction{to_double(best), std::nullopt, ""};
    }
    const auto ratio = rates_.layer_ratio(cell);
    if (!ratio) return std::nullopt;
    if (cell.column == "acceptance_rate") return CellPrediction{formulas_->acceptance_rate(*ratio), std::nullopt, ""};
    if (cell.column == "acceptance_length")
      return CellPrediction{formulas_->acceptance_length(*ratio, gamma), std::nullopt, ""};
    if (cell.column == "improvement") return CellPrediction{formulas_->improvement(*ratio, gamma), std::nullopt, ""};
    return std::nullopt;
  }

  // Two batch sizes: that at which throughput saturates, whose doubling adds no more than it adds to plain decoding at
  // its printed saturation; and the largest at which the method is faster than plain decoding.
  std::optional<CellPrediction> batch_of_interest(const PaperTable& table, const PaperCell& cell) {
    constexpr int kMost = 1024;
    const auto gain = [&](const PaperCell& c, int b) -> std::optional<double> {
      const auto one = rates_.rate(table, c, b), two = rates_.rate(table, c, 2 * b);
      if (!one || !two) return std::nullopt;
      return two->throughput / one->throughput - 1;
    };
    const PaperCell plain = with(cell, "method", PaperStack::kPlain);
    if (cell.column == "crossover_batch") {
      int last = 0;
      for (int b = 1; b <= kMost; b *= 2) {
        const auto mine = rates_.rate(table, cell, b), other = rates_.rate(table, plain, b);
        if (!mine || !other) return std::nullopt;
        if (mine->throughput <= other->throughput) break;
        last = b;
      }
      return CellPrediction{to_double(last), std::nullopt, "of powers of two"};
    }
    std::optional<double> limit;
    for (const PaperCell& c : table.cells)
      if (c.column == cell.column && c.text("method") == PaperStack::kPlain && c.paper)
        limit = gain(c, to_int(std::clamp(*c.paper, 1.0, 1.0 * kMost)));
    if (!limit) return std::nullopt;
    for (int b = 1; b <= kMost; b *= 2) {
      const auto g = gain(cell, b);
      if (!g) return std::nullopt;
      if (*g <= *limit * (1 + 1e-9))
        return CellPrediction{to_double(b), std::nullopt,
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

  // Drafts per sequence whose verification takes at most a tenth longer than a plain step on the device.
  std::optional<CellPrediction> largest_draft_length(const PaperTable& table, const PaperCell& cell) {
    constexpr double kFlat = 1.1;
    constexpr int kMost = 32;
    const auto [s, shape] = rates_.place_of(table, cell);
    const auto verification = [&, s = s, shape = shape](const std::string& method, int drafts) {
      return stack_.step(*s, table, *shape, {method, drafts, batch_of(cell)}).verification;
    };
    const Seconds plain = verification(PaperStack::kPlain, 0);
    int most = 0;
    while (most < kMost && verification(cell.text("method"), most + 1) <= kFlat * plain) ++most;
    return CellPrediction{to_double(most), std::nullopt,
                          "verification at most a tenth longer than a plain pass" +
                              std::string(most == kMost ? "; more than 32 not tried" : "")};
  }

  // A check of the paper: the mean of a column that it prints.
  std::optional<CellPrediction> mean_of_printed(const PaperCell& cell) const {
    const PaperTable* from = rates_.table(cell.text("of"));
    double sum = 0;
    int n = 0;
    if (from)
      for (const PaperCell& c : from->cells)
        if (c.column == "speedup" && c.text("task") == cell.text("task") && c.paper) sum += *c.paper, ++n;
    if (n == 0) return std::nullopt;
    return CellPrediction{sum / n, std::nullopt, ""};
  }

  static constexpr Bytes kGibibyte{1024.0 * 1024 * 1024};
  PaperStack stack_;
  InferredRates rates_{stack_};
  std::optional<PeakMemory> memory_;
  std::optional<Document> formulas_file_;
  std::optional<S3dFormulas> formulas_;
};

}  // namespace

std::vector<std::string> paper_names() { return {"specformer", "s3d", "clover", "space"}; }

Paper predict_paper(const Data& data, const std::string& name) {
  const std::vector<std::string> known = paper_names();
  if (std::ranges::find(known, name) == known.end()) {
    const auto near = nearest_word(name, known);
    throw InputErrors("unknown paper \"" + printable(name, 100) + "\"" +
                      (near ? "; did you mean \"" + *near + "\"?" : "; see `draftline list papers`"));
  }
  const Document file = Document::from_file(data / "papers" / (name + ".json"), *data.files);
  Paper paper = read_paper(file.root());
  InferredPaper predictor(data, file);
  predictor.read_from(paper);
  if (!file.root().failed()) predict(paper, std::ref(predictor));
  if (const auto cost = file.root().find("fitted_cost"); cost && !file.root().failed())
    predict_with_fitted_cost(
        paper, *cost, [&](std::optional<PaidCost> paid) { predictor.pay(paid); }, std::ref(predictor));
  paper.input_files = predictor.input_files();
  paper.input_files.merge(InputFiles(file.root().input_files()));
  file.finish();
  return paper;
}

}  // namespace draftline
