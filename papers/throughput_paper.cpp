// SPDX-License-Identifier: Apache-2.0
#include "papers/throughput_paper.h"

#include <map>
#include <nlohmann/json.hpp>

#include "papers/paper_stack.h"
#include "predict/prediction.h"

namespace draftline {

namespace {

class ThroughputPaper {
 public:
  ThroughputPaper(const std::filesystem::path& data, const Document& file)
      : root_(file.root()), catalogue_(data), prices_([this](const Reader& in) {
          const auto shape = catalogue_.transformer(in);
          return shape ? *shape : TransformerShape{};
        }) {
    const Reader setup = root_.at("setup");
    device_ = catalogue_.device(value_of(setup, "device"));
    engine_ = catalogue_.engine(value_of(setup, "engine"));
    prompt_tokens_ = value_of(setup, "prompt_tokens").positive_int(1 << 20);
    output_tokens_ = value_of(setup, "output_tokens").integer(2, 1 << 20);
    if (value_of(setup, "precision").text() != "bf16") setup.at("precision").fail("only \"bf16\" is known here");
  }

  const InputFiles& input_files() const { return catalogue_.input_files(); }

  std::optional<CellPrediction> operator()(const PaperTable& table, const PaperCell& cell) {
    const TransformerShape* shape = transformer(table, cell);
    const auto batch = cell.number("batch_size");
    if (!shape || !batch) return std::nullopt;
    const Setup setup{device_.get(),  nullptr,       shape, Precision(DType::bf16), {}, static_cast<int>(*batch),
                      prompt_tokens_, output_tokens_};
    if (cell.column == "largest_draft_length") return largest_draft_length(setup);
    const PaperCell* printed = beside(table, cell, "throughput");
    const PaperCell* length = beside(table, cell, "acceptance_length");
    const PaperCell* plain = baseline(table, cell);
    if (!length || !length->paper || !plain || !plain->paper) return std::nullopt;

    const std::string method = cell.text("method");
    const Calibrated& host = calibrated(setup, *plain->paper);
    const Step plain_step = step(setup, "autoregressive", 0, host.issue);
    const Step mine = step(setup, method, static_cast<int>(cell.number("draft_length").value_or(0)), host.issue);
    const double tokens = setup.batch_size * *length->paper;  // of a step
    const PerSecond throughput = tokens / mine.time, without = setup.batch_size / plain_step.time;
    CellPrediction p;
    const double speedup = throughput / without;
    p.ours = cell.column == "throughput" ? throughput.value
             : cell.column == "speedup"  ? speedup
                                         : *length->paper / speedup;
    if (printed && printed->paper)
      p.peak_share = peak_share(per_token(mine.work, tokens), PerSecond{*printed->paper}, *device_, DType::bf16);
    if (host.at_its_limit) p.note = "the printed baseline is faster than the device alone; issue time 0";
    return p;
  }

 private:
  struct Step {
    Seconds time;
    Work work;
    StepBreakdown at_middle;
  };
  struct Calibrated {
    Seconds issue;
    bool at_its_limit = false;
  };

  static Work per_token(const Work& w, double tokens) {
    return {w.flops / tokens, w.read / tokens, w.written / tokens};
  }
  static bool same_row(const PaperCell& a, const PaperCell& b) { return a.row == b.row; }
  static const PaperCell* beside(const PaperTable& t, const PaperCell& cell, std::string_view column) {
    for (const PaperCell& c : t.cells)
      if (c.column == column && same_row(c, cell)) return &c;
    return nullptr;
  }
  // The throughput without speculation of the same transformer and batch.
  static const PaperCell* baseline(const PaperTable& t, const PaperCell& cell) {
    for (const PaperCell& c : t.cells)
      if (c.column == "throughput" && c.text("method") == "autoregressive" &&
          c.text("transformer") == cell.text("transformer") && c.number("batch_size") == cell.number("batch_size"))
        return &c;
    return nullptr;
  }

  const TransformerShape* transformer(const PaperTable& table, const PaperCell& cell) {
    std::string name = cell.text("transformer");
    if (name.empty())
      if (const auto it = table.context.find("transformer"); it != table.context.end()) name = it->second;
    if (name.empty()) return nullptr;
    return catalogue_.transformer(name, root_.file()).get();  // the catalogue owns it
  }

  // The parameters with which the paper's code runs a method. "draft_length" is the paper's k.
  const MethodChoice& method(const std::string& name, int draft_length, const TransformerShape& target) {
    auto [it, fresh] = methods_.try_emplace({name, draft_length});
    if (!fresh) return *it->second;
    const methods::Entry* ours = methods::find(name);
    if (ours == nullptr) throw InputErrors(root_.place() + ": unknown method \"" + name + "\"");
    MethodSpec spec(*ours);
    bool in_tree = false;
    for (const Reader& entry : root_.at("methods").items()) {
      if (entry.at("method").text() != name) continue;
      for (const auto& [key, value] : entry.at("parameters").entries()) {
        nlohmann::json j = value.json();
        if (j.is_object())
          for (auto& inner : j)
            if (inner == "draft_length") {
              inner = draft_length;
              in_tree = true;
            }
        spec = spec.with_parameter(key, j);
      }
    }
    if (draft_length > 0 && !in_tree && spec.entry().lengths.most > 0) {
      auto chain = spec.with_draft_length(draft_length, target);
      if (!chain)  // the same drafter, trained for as many positions
        chain = spec.with_parameter("positions", draft_length).with_draft_length(draft_length, target);
      if (!chain)
        throw InputErrors(root_.place() + ": " + name + " can't draft " + std::to_string(draft_length) + " tokens");
      spec = *chain;
    }
    it->second = std::make_unique<MethodChoice>(MethodChoice{spec});
    return *it->second;
  }

  // The engine profile with the differences of the paper's code.
  Engine engine_for(const std::string& method, Seconds issue) const {
    Engine e = *engine_;
    e.issue = issue;
    for (const Reader& entry : root_.at("engine_costs").items()) {
      bool meant = !entry.has("methods");
      if (!meant)
        for (const Reader& m : entry.at("methods").items()) meant |= m.text() == method;
      if (meant) read_op_costs(entry.at("ops"), e);
    }
    return e;
  }

  Step step(const Setup& s, const std::string& name, int draft_length, Seconds issue) {
    const Engine engine = engine_for(name, issue);
    const auto segments = prices_.recorded_step(s, method(name, draft_length, *s.transformer));
    const Speculation speculation = name == "autoregressive" ? Speculation::off : Speculation::on;
    const StepPrice price(segments, *device_, engine, speculation);
    const double middle = s.prompt_tokens + s.output_tokens / 2.0;
    return {mean_step_time(price, s.prompt_tokens, s.output_tokens) + s.batch_size * engine.token, price.work(middle),
            price.breakdown(middle)};
  }

  // The issue time with which the plain step takes the printed time.
  const Calibrated& calibrated(const Setup& s, double printed) {
    auto [it, fresh] = calibrated_.try_emplace({s.transformer, s.batch_size, printed});
    if (!fresh) return it->second;
    const Seconds wanted = s.batch_size / PerSecond{printed};
    Seconds low, high{1e-3};
    if (step(s, "autoregressive", 0, low).time >= wanted) {
      it->second.at_its_limit = true;
      return it->second;
    }
    for (int i = 0; i < 40; ++i) {
      const Seconds middle = (low + high) / 2;
      (step(s, "autoregressive", 0, middle).time < wanted ? low : high) = middle;
    }
    it->second.issue = (low + high) / 2;
    return it->second;
  }

  // Figure 1: drafts per sequence whose verification takes at most a tenth longer than a plain step on the device.
  CellPrediction largest_draft_length(const Setup& s) {
    constexpr double kFlat = 1.1;
    constexpr int kMost = 32;
    const Seconds plain = step(s, "autoregressive", 0, engine_->issue).at_middle.of(Phase::verify);
    int most = 0;
    while (most < kMost && step(s, "specformer", most + 1, engine_->issue).at_middle.of(Phase::verify) <= kFlat * plain)
      ++most;
    return {static_cast<double>(most), std::nullopt,
            "verification at most a tenth longer than a plain pass" +
                std::string(most == kMost ? "; more than 32 not tried" : "")};
  }

  Reader root_;
  Catalogue catalogue_;
  StepPrices prices_;
  std::shared_ptr<const Device> device_;
  std::shared_ptr<const Engine> engine_;
  int prompt_tokens_ = 0, output_tokens_ = 0;
  std::map<std::pair<std::string, int>, std::unique_ptr<MethodChoice>> methods_;
  std::map<std::tuple<const TransformerShape*, int, double>, Calibrated> calibrated_;
};

}  // namespace

Paper predict_throughput_paper(const std::filesystem::path& data, const std::string& name) {
  const Document file = Document::from_file(data / "papers" / (name + ".json"));
  Paper paper = read_paper(file.root());
  ThroughputPaper predictor(data, file);
  if (!file.root().failed()) predict(paper, std::ref(predictor));
  paper.input_files = predictor.input_files();
  paper.input_files.merge(InputFiles(file.root().input_files()));
  file.finish();
  return paper;
}

}  // namespace draftline
