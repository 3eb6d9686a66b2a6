// SPDX-License-Identifier: Apache-2.0
#include "papers/paper_stack.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace draftline {

namespace {

// The host's time for the launches of a step.
Seconds issue_time(std::span<const SegmentRun> step, const Device& d, Engine e, Speculation speculation) {
  const Seconds with = StepPrice(step, d, e, speculation).host_alone();
  e.issue = {};
  return with - StepPrice(step, d, e, speculation).host_alone();
}

bool names(const Reader& list, const std::string& name) {
  bool named = false;
  for (const Reader& item : list.items()) named |= item.text() == name;
  return named;
}

}  // namespace

PaperStack::PaperStack(const Data& data, const Document& file)
    : root_(file.root()), catalogue_(data), recordings_(finder()) {
  for (const Reader& in : root_.at("settings").items()) settings_.push_back(read(in));
}

PaperSetting PaperStack::read(const Reader& in) {
  PaperSetting s{in, {}, {}, nullptr, {}, nullptr};
  if (in.has("device")) s.device = catalogue_.device(value_of(in, "device"));
  if (const auto precision = in.find("precision")) {
    const Reader name = precision->at("value");
    if (const NamedFormat* format = format_named(name.text())) {
      s.precision = Precision(name.text(), format->layers, DType::fp16);
      s.precision.draft = format->layers;  // the papers load drafter and target alike
      s.precision.draft_given = true;
    } else {
      name.fail("unknown format");
    }
  }
  for (const Reader& t : in.at("tables").items()) s.tables.push_back(t.text());
  for (const auto& [key, value] : in.at("where").entries()) s.where.emplace_back(key, value.text());
  if (const auto engine = catalogue_.engine(value_of(in, "engine"))) s.engine = *engine;
  if (in.has("transformer")) s.transformer = catalogue_.transformer(value_of(in, "transformer"));
  s.ranks = value_of(in, "tensor_parallel").integer(1, 64);
  s.prompt_tokens = value_of(in, "prompt_tokens").positive_int(1 << 20);
  s.output_tokens = value_of(in, "output_tokens").integer(2, 1 << 20);
  if (const auto table = in.find("calibrated_in")) s.calibrated_in = table->text();
  if (const auto row = in.find("baseline")) s.baseline = row->text();
  if (const auto issue = in.find("issue")) {
    s.engine.issue = issue->at("value").quantity<Seconds>(0);
    s.calibrated = false;
  } else if (in.has("uncalibrated")) {
    s.calibrated = false;
  } else if (in.has("inferred_in")) {
    s.inferred_in = in.at("inferred_in").text();
    s.issue_is_calibrated = true;
  } else if (in.has("calibration")) {
    constexpr std::string_view kCalibrations[] = {"issue_by_batch"};
    s.issue_by_batch = value_of(in, "calibration").word(kCalibrations) == kCalibrations[0];
  } else {
    constexpr std::string_view kSlopes[] = {"rows", "tokens"};
    s.slope_is_of_rows = value_of(in, "slope").word(kSlopes) == "rows";
    if (const auto at = in.find("inferred_at")) s.inferred_at = at->positive_int();
  }
  return s;
}

const PaperSetting* PaperStack::setting_of(const PaperTable& table, const PaperCell& cell) const {
  for (const PaperSetting& s : settings_)
    if (std::ranges::find(s.tables, table.table) != s.tables.end() &&
        std::ranges::all_of(s.where, [&](const auto& w) { return cell.text(w.first) == w.second; }))
      return &s;
  return nullptr;
}

const Device& PaperStack::device(const PaperSetting& s, const PaperTable& table) {
  if (s.device) return *s.device;
  const auto name = table.context.find("device");
  return *catalogue_.device(name == table.context.end() ? "" : name->second, root_.file());  // the catalogue owns it
}

std::shared_ptr<const TransformerShape> PaperStack::transformer_named(const std::string& name) {
  return catalogue_.transformer(name, root_.file());
}

const TransformerShape* PaperStack::transformer(const PaperSetting& s, const PaperTable& table, const PaperCell& cell) {
  if (s.transformer) return s.transformer.get();
  std::string name = cell.text("transformer");
  if (const auto of_table = table.context.find("transformer"); name.empty() && of_table != table.context.end())
    name = of_table->second;
  return name.empty() ? nullptr : transformer_named(name).get();
}

std::optional<Reader> PaperStack::entry(const PaperSetting& s, const std::string& name) const {
  for (const Reader& e : s.in.at("methods").items())
    if (e.at("method").text() == name) return e;
  return std::nullopt;
}

bool PaperStack::is_plain(const PaperSetting& s, const std::string& name) const {
  if (name == kPlain || name == "baseline") return true;
  const auto e = entry(s, name);
  const auto ours = e ? e->at("parameters").find("name") : std::nullopt;
  return ours && ours->text() == kPlain;
}

const MethodChoice& PaperStack::method(const PaperSetting& s, const std::string& name, int draft_length,
                                       const TransformerShape& target) {
  auto& choice = methods_[{&s, name, draft_length}];
  if (choice) return *choice;
  const auto e = entry(s, name);
  const methods::Entry* ours = methods::find(name);
  nlohmann::json object = nlohmann::json::object();
  if (e) {
    e->at("parameters").entries();
    object = e->at("parameters").json();
    if (!object.contains("name")) object["name"] = name;
    for (nlohmann::json& value : object)
      if (value.is_object()) std::ranges::replace(value, nlohmann::json("draft_length"), nlohmann::json(draft_length));
  }
  const auto read = [&] {
    return read_whole(Document::from_text(object.dump(), root_.file()),
                      [](const Reader& in) { return MethodSpec(in); });
  };
  MethodSpec spec = e ? read() : ours != nullptr ? MethodSpec(*ours) : MethodSpec();
  if (draft_length > 0 && spec.entry().lengths.most > 0 && !spec.tree()) {
    auto chain = spec.with_draft_length(draft_length, target);
    if (!chain && object.contains("positions")) {  // the same drafter, trained for as many positions
      object["positions"] = draft_length;
      chain = read().with_draft_length(draft_length, target);
    }
    if (!chain)
      throw InputErrors(root_.place() + ": " + name + " can't draft " + std::to_string(draft_length) + " tokens");
    spec = *chain;
  }
  choice = std::make_unique<MethodChoice>(MethodChoice{spec});
  return *choice;
}

Engine PaperStack::engine_for(const PaperSetting& s, const std::string& name, std::optional<Seconds> issue) const {
  Engine engine = s.engine;
  if (const auto costs = s.in.find("engine_costs"))
    for (const Reader& e : costs->items())
      if (!e.has("methods") || names(e.at("methods"), name)) read_op_costs(e.at("ops"), engine);
  if (issue) engine.issue = *issue;
  engine.token = {};
  return engine;
}

const PaperStep& PaperStack::step(const PaperSetting& s, const PaperTable& table, const TransformerShape& shape,
                                  const PaperStepSpec& spec) {
  const auto& [name, draft_length, batch, issue] = spec;
  const Device& on = device(s, table);
  const auto paid = paid_ ? std::optional(paid_->each) : std::nullopt;
  auto [it, fresh] = steps_.try_emplace({&s, &on, &shape, name, draft_length, batch, issue, paid});
  if (!fresh) return it->second;
  const Setup setup{outliving(on), nullptr, outliving(shape), s.precision,
                    {s.ranks},     batch,   s.prompt_tokens,  s.output_tokens};
  const auto segments = recordings_.recorded_step(setup, method(s, name, draft_length, shape));
  const bool plain = is_plain(s, name);
  Engine engine = engine_for(s, name, issue);
  if (paid_ && paid_->of == CostOf::added_launch && !plain && engine.issue.value > 0) {
    const Seconds issued = issue_time(segments, on, engine, Speculation::on);
    const auto without = recordings_.recorded_step(setup, method(s, kPlain, 0, shape));
    const Seconds added = issued - issue_time(without, on, engine_for(s, kPlain, issue), Speculation::off);
    if (added.value > 0) engine.issue = engine.issue + (added / issued) * (paid_->each - engine.issue);
  }
  const StepPrice price(segments, on, engine, plain ? Speculation::off : Speculation::on);
  PaperStep& made = it->second;
  made.time = mean_step_time(price, s.prompt_tokens, s.output_tokens);
  const double middle = s.prompt_tokens + s.output_tokens / 2.0;
  made.work = price.work(middle);
  made.verification = price.breakdown(middle).of(Phase::verify);
  for (const SegmentRun& run : segments) made.rows = std::max(made.rows, verified_rows(run));
  if (paid_ && paid_->of == CostOf::drafted_row) made.time += batch * (made.rows - 1) * paid_->each;
  return made;
}

}  // namespace draftline
