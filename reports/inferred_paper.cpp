// SPDX-License-Identifier: Apache-2.0
#include "reports/inferred_paper.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "sim/prediction.h"

namespace draftline {

namespace {

Reader value_of(const Reader& in, std::string_view key) { return in.at(key).at("value"); }

// What stands for the stack of some tables.
struct Setting {
  Reader in;
  std::vector<std::string> tables;
  std::vector<std::pair<std::string, std::string>> where;
  std::shared_ptr<const Device> device;
  Engine engine;
  std::shared_ptr<const TransformerShape> transformer;  // null: each row or table names its own, as with the device
  PrecisionChoice precision{"bf16", DType::bf16, DType::bf16};
  int ranks = 1, prompt_tokens = 0, output_tokens = 0, inferred_at = 0;
  std::string inferred_in = {};  // the table that gives acceptance away; "": the one at hand
  bool issue_given = false, slope_is_of_rows = false;
  bool issue_is_calibrated = false;  // per task, on the printed baseline, instead of a line through it
};

struct Step {
  Seconds time;
  Work work;
  int rows = 1;  // verified per sequence
};

// What a step without speculation costs beyond the priced program, from the printed baseline of one task.
struct Beyond {
  Seconds constant, per_sequence;
  std::optional<Seconds> issue = {};
  bool known = false;
};

class InferredPaper {
 public:
  InferredPaper(const std::filesystem::path& data, const Document& file)
      : root_(file.root()), catalogue_(data), predictor_([this](const Reader& in) {
          const auto shape = catalogue_.transformer(in);
          return shape ? *shape : TransformerShape{};
        }) {
    for (const Reader& in : root_.at("settings").items()) settings_.push_back(read(in));
  }

  void sees(const Paper& paper) { paper_ = &paper; }

  std::optional<CellPrediction> operator()(const PaperTable& table, const PaperCell& cell) {
    if (cell.column == "memory_speed") return memory_speed(table, cell);
    const Setting* s = setting_of(table, cell);
    const TransformerShape* shape = s ? transformer(*s, table, cell) : nullptr;
    if (!shape || cell.column == "peak_memory") return std::nullopt;
    const int b = batch_of(cell);
    const std::string method = cell.text("method");
    const Beyond& beyond = calibrated(table, *s, cell, *shape);
    const Seconds plain_time =
        step(*s, table, *shape, kPlain, 0, b, beyond.issue).time + beyond.constant + b * beyond.per_sequence;
    const PerSecond plain = b / plain_time;
    const double of_request = cell.column == "request_throughput" ? b : 1;
    if (is_plain(cell)) return CellPrediction{plain.value / of_request, std::nullopt, ""};
    if (!known(*s, method)) return std::nullopt;

    const int k = static_cast<int>(cell.number("draft_length").value_or(0));
    const Step mine = step(*s, table, *shape, method, k, b, beyond.issue);
    const auto costs = split(table, *s, cell, *shape);
    const auto length = acceptance(table, *s, cell, *shape, costs);
    if (!length) return std::nullopt;
    const Seconds time = mine.time + beyond.constant + b * (mine.rows * costs.first + *length * costs.second);
    const PerSecond throughput = b * *length / time;
    CellPrediction p;
    p.ours = cell.column == "speedup" ? throughput / plain : throughput.value / of_request;
    if (const auto printed = printed_throughput(table, cell)) {
      const double tokens = b * *length;
      p.peak_share = peak_share({mine.work.flops / tokens, mine.work.read / tokens, mine.work.written / tokens},
                                *printed, *device(*s, table), s->precision.activations);
    }
    const bool given_away = s->inferred_in.empty() ? s->inferred_at == b : table.table == s->inferred_in;
    if (given_away && cell.column != "speedup") p.note = "tokens per step inferred here: " + significant(*length);
    return p;
  }

 private:
  static std::string significant(double v) {
    std::string text = std::to_string(std::round(v * 100) / 100);
    return text.substr(0, text.find('.') + 3);
  }

  Setting read(const Reader& in) {
    Setting s{in, {}, {}, nullptr, {}, nullptr};
    if (in.has("device")) s.device = catalogue_.device(value_of(in, "device"));
    if (const auto precision = in.find("precision")) {
      s.precision.matrices = dtype_named(precision->at("value").text()).value_or(DType::bf16);
      s.precision.activations = DType::fp16;
    }
    for (const Reader& t : in.at("tables").items()) s.tables.push_back(t.text());
    for (const auto& [key, value] : in.at("where").entries()) s.where.emplace_back(key, value.text());
    if (const auto engine = catalogue_.engine(value_of(in, "engine"))) s.engine = *engine;
    if (in.has("transformer")) s.transformer = catalogue_.transformer(value_of(in, "transformer"));
    s.ranks = value_of(in, "tensor_parallel").integer(1, 64);
    s.prompt_tokens = value_of(in, "prompt_tokens").positive_int(1 << 20);
    s.output_tokens = value_of(in, "output_tokens").integer(2, 1 << 20);
    if (const auto issue = in.find("issue")) {
      s.engine.issue = issue->at("value").quantity<Seconds>(0);
      s.issue_given = true;
    } else if (in.has("inferred_in")) {
      s.inferred_in = in.at("inferred_in").text();
      s.issue_is_calibrated = true;
    } else {
      constexpr std::string_view kSlopes[] = {"rows", "tokens"};
      s.slope_is_of_rows = value_of(in, "slope").choice(kSlopes) == 0;
      s.inferred_at = in.at("inferred_at").positive_int();
    }
    return s;
  }

  const Setting* setting_of(const PaperTable& table, const PaperCell& cell) const {
    for (const Setting& s : settings_)
      if (std::find(s.tables.begin(), s.tables.end(), table.table) != s.tables.end() &&
          std::all_of(s.where.begin(), s.where.end(), [&](const auto& w) { return cell.text(w.first) == w.second; }))
        return &s;
    return nullptr;
  }
  static int batch_of(const PaperCell& cell) { return static_cast<int>(cell.number("batch_size").value_or(1)); }
  static bool is_plain(const PaperCell& cell) {
    return cell.text("method") == kPlain || cell.text("method") == "baseline";
  }
  static bool known(const Setting& s, const std::string& method) {
    for (const Reader& entry : s.in.at("methods").items())
      if (entry.at("method").text() == method) return true;
    return false;
  }
  const Device* device(const Setting& s, const PaperTable& table) {
    if (s.device) return s.device.get();
    auto& found = devices_[table.context.at("device")];
    if (!found) {
      const Document d = Document::from_text(nlohmann::json(table.context.at("device")).dump(), root_.file());
      found = catalogue_.device(d.root());
      d.finish();
    }
    return found.get();
  }
  const TransformerShape* transformer(const Setting& s, const PaperTable& table, const PaperCell& cell) {
    if (s.transformer) return s.transformer.get();
    std::string name = cell.text("transformer");
    if (const auto of_table = table.context.find("transformer"); name.empty() && of_table != table.context.end())
      name = of_table->second;
    auto& shape = shapes_[name];
    if (!shape) {
      const Document d = Document::from_text(nlohmann::json(name).dump(), root_.file());
      shape = catalogue_.transformer(d.root());
      d.finish();
    }
    return shape.get();
  }

  const MethodChoice& method(const Setting& s, const std::string& name, int draft_length) {
    auto& choice = methods_[{&s, name, draft_length}];
    if (choice) return *choice;
    nlohmann::json object{{"name", name}};
    for (const Reader& entry : s.in.at("methods").items())
      if (entry.at("method").text() == name)
        for (const auto& [key, value] : entry.at("parameters").entries()) object[key] = value.json();
    if (draft_length > 0 && !object.contains("tree")) object["draft_length"] = draft_length;

    const std::string ours = object["name"].get<std::string>();
    const Document d = Document::from_text(object.dump(), root_.file());
    object.erase("name");
    choice = std::make_unique<MethodChoice>(MethodChoice{d.root(), ours, object.dump(), std::nullopt, {}});
    return *choice;
  }

  const Step& step(const Setting& s, const PaperTable& table, const TransformerShape& shape, const std::string& name,
                   int draft_length, int batch, std::optional<Seconds> issue) {
    const Device& on = *device(s, table);
    auto [it, fresh] =
        steps_.try_emplace({&s, &on, &shape, name, draft_length, batch, issue.value_or(Seconds{}).value});
    if (!fresh) return it->second;
    Engine engine = s.engine;
    if (const auto costs = s.in.find("engine_costs"))
      for (const Reader& entry : costs->items())
        for (const Reader& m : entry.at("methods").items())
          if (m.text() == name) read_op_costs(entry.at("ops"), engine);
    if (issue) engine.issue = *issue;
    engine.token = {};  // the printed baseline says what a token costs
    const Setup setup{&on, nullptr, &shape, s.precision, s.ranks, batch, s.prompt_tokens, s.output_tokens};
    const auto segments = predictor_.recorded_step(setup, method(s, name, draft_length));
    const StepPrice price(segments, batch, on, engine, name != kPlain);
    Step& made = it->second;
    made.time = mean_step_time(price, s.prompt_tokens, s.output_tokens);
    made.work = price.work(s.prompt_tokens + s.output_tokens / 2.0);
    for (const SegmentRun& run : segments)
      for (const Pass& p : run.tape->passes) made.rows = std::max(made.rows, p.rows.widest);
    return made;
  }

  static bool same_task(const PaperCell& a, const PaperCell& b) {
    return a.text("task") == b.text("task") && a.text("model") == b.text("model") &&
           a.text("transformer") == b.text("transformer");
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

  // A straight line through what the printed baseline of a task needs beyond the priced program.
  const Beyond& calibrated(const PaperTable& table, const Setting& s, const PaperCell& cell,
                           const TransformerShape& shape) {
    Beyond& line =
        beyond_[table.table + "/" + cell.text("model") + "/" + cell.text("transformer") + "/" + cell.text("task")];
    if (line.known || s.issue_given) return line;
    if (s.issue_is_calibrated) {
      for (const PaperCell& c : table.cells)
        if (const auto x = throughput_of(c); x && is_plain(c) && same_task(c, cell))
          line.issue = issue_for(s, table, shape, *x);
      line.known = true;
      return line;
    }
    double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
    for (const PaperCell& c : table.cells) {
      const auto x = throughput_of(c);
      if (!x || c.set_apart || !is_plain(c) || !same_task(c, cell)) continue;
      const int b = batch_of(c);
      const double y = (b / *x - step(s, table, shape, kPlain, 0, b, {}).time).value;
      n += 1, sx += b, sy += y, sxx += static_cast<double>(b) * b, sxy += b * y;
    }
    const double spread = n * sxx - sx * sx, slope = spread > 0 ? std::max(0.0, (n * sxy - sx * sy) / spread) : 0;
    line.per_sequence = Seconds{slope};
    line.constant = Seconds{n > 0 ? (sy - slope * sx) / n : 0};
    line.known = true;
    return line;
  }

  // The issue time at which a step without speculation takes what is printed.
  Seconds issue_for(const Setting& s, const PaperTable& table, const TransformerShape& shape, PerSecond printed) {
    Seconds low, high{1e-3};
    for (int i = 0; i < 30; ++i) {
      const Seconds middle = (low + high) / 2;
      (step(s, table, shape, kPlain, 0, 1, middle).time < 1 / printed ? low : high) = middle;
    }
    return (low + high) / 2;
  }

  // M of S3D's equation 13, from the printed columns: speedup over relative memory; overall the mean of the tasks.
  static std::optional<CellPrediction> memory_speed(const PaperTable& table, const PaperCell& cell) {
    const auto printed = [&](const std::string& method, const std::string& task, std::string_view column) {
      for (const PaperCell& c : table.cells)
        if (c.column == column && c.text("method") == method && c.text("task") == task) return c.paper;
      return std::optional<double>();
    };
    double sum = 0;
    int tasks = 0;
    for (const PaperCell& c : table.cells) {
      const std::string task = c.text("task");
      if (c.column != "throughput" || c.text("method") != cell.text("method")) continue;
      if (cell.text("task") != "overall" && task != cell.text("task")) continue;
      const auto v0 = printed("baseline", task, "throughput"), m0 = printed("baseline", task, "peak_memory"),
                 m1 = printed(cell.text("method"), task, "peak_memory");
      if (!c.paper || !v0 || !m0 || !m1) return std::nullopt;
      sum += (*c.paper / *v0) / (*m1 / *m0);
      ++tasks;
    }
    if (tasks == 0) return std::nullopt;
    return CellPrediction{sum / tasks, std::nullopt, ""};
  }

  // The slope's parts: of each verified row, of each emitted token.
  std::pair<Seconds, Seconds> split(const PaperTable& table, const Setting& s, const PaperCell& cell,
                                    const TransformerShape& shape) {
    const Seconds slope = calibrated(table, s, cell, shape).per_sequence;
    if (!s.slope_is_of_rows) return {Seconds{}, slope};
    Seconds row = slope;
    for (const PaperCell& c : table.cells)

      if (is_plain(c) && c.text("model") == cell.text("model") && throughput_of(c))
        row = std::min(row, calibrated(table, s, c, shape).per_sequence);
    return {row, slope - row};
  }

  // Printed beside it, or what makes the cell of the batch size that is given away come out.
  std::optional<double> acceptance(const PaperTable& table, const Setting& s, const PaperCell& cell,
                                   const TransformerShape& shape, std::pair<Seconds, Seconds> costs) {
    for (const PaperCell& c : table.cells)
      if (c.column == "acceptance_length" && c.row == cell.row) return c.paper;
    if (!s.inferred_in.empty()) return acceptance_of_table(s, cell);
    for (const PaperCell& c : table.cells) {
      const auto printed = throughput_of(c);
      if (!printed || c.number("batch_size") != s.inferred_at || c.text("method") != cell.text("method") ||
          c.number("draft_length") != cell.number("draft_length") || !same_task(c, cell))
        continue;
      const int b = s.inferred_at;
      const Step& mine =
          step(s, table, shape, c.text("method"), static_cast<int>(c.number("draft_length").value_or(0)), b, {});
      const Seconds fixed = mine.time + calibrated(table, s, c, shape).constant + b * mine.rows * costs.first;
      const double rest = 1 - *printed * costs.second;  // of the time, once each token has had its own
      if (rest <= 0) return std::nullopt;
      return *printed * fixed / (b * rest);
    }
    return std::nullopt;
  }

  // What the same method and task need in the table that gives acceptance away.
  std::optional<double> acceptance_of_table(const Setting& s, const PaperCell& cell) {
    for (const PaperTable& t : paper_->tables)
      for (const PaperCell& c : t.cells) {
        const auto printed = throughput_of(c);
        if (t.table != s.inferred_in || !printed || c.text("method") != cell.text("method") ||
            c.text("task") != cell.text("task"))
          continue;
        const TransformerShape& shape = *transformer(s, t, c);
        return *printed * step(s, t, shape, c.text("method"), 0, 1, calibrated(t, s, c, shape).issue).time;
      }
    return std::nullopt;
  }

  static constexpr const char* kPlain = "autoregressive";
  const Paper* paper_ = nullptr;
  Reader root_;
  Catalogue catalogue_;
  Predictor predictor_;
  std::vector<Setting> settings_;
  std::map<std::string, std::shared_ptr<const TransformerShape>> shapes_;
  std::map<std::tuple<const void*, std::string, int>, std::unique_ptr<MethodChoice>> methods_;
  std::map<std::tuple<const void*, const void*, const void*, std::string, int, int, double>, Step> steps_;
  std::map<std::string, std::shared_ptr<const Device>> devices_;
  std::map<std::string, Beyond> beyond_;
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
