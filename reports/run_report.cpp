// SPDX-License-Identifier: Apache-2.0
#include "reports/run_report.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/build_info.h"

namespace draftline {

namespace {

constexpr int kSchemaVersion = 1;

template <class T, class Name>
void write_names(JsonWriter& w, std::string_view key, const std::vector<T>& all, Name name) {
  w.key(key);
  w.begin_array();
  for (const T& v : all) w.value(name(v));
  w.end_array();
}

std::string percent(Seconds part, Seconds whole) { return std::to_string(std::lround(100 * (part / whole))) + " %"; }

// draft_model {"draft":"llama-3.2-1b"} reads draft_model draft:llama-3.2-1b.
// Without quotes and outer braces; an object of one member, in another, reads as a path: tree.optimal.budget:4.
std::string plain(const nlohmann::json& object) {
  std::string text;
  for (const auto& [key, value] : object.items()) {
    text += text.empty() ? key : "," + key;
    if (value.is_object() && value.size() == 1) text += "." + plain(value);
    else text += ":" + value.dump();
  }
  return text;
}

std::string method_label(const MethodChoice& m) {
  if (m.parameters.empty()) return m.name;
  std::string label = m.name + " " + plain(nlohmann::json::parse(m.parameters));
  std::erase(label, '"');
  return label;
}

}  // namespace

void write_resolved(JsonWriter& w, const Scenario& s) {
  w.begin_object();
  w.member("name", s.name);
  if (!s.question.empty()) w.member("question", s.question);
  if (!s.note.empty()) w.member("note", s.note);
  const auto of_name = [](const auto& p) { return p->name; };
  const auto itself = [](int n) { return n; };
  write_names(w, "device", s.devices, of_name);
  write_names(w, "tensor_parallel", s.tensor_parallel, itself);
  write_names(w, "transformer", s.transformers, of_name);
  write_names(w, "precision", s.precisions, [](const PrecisionChoice& p) { return p.name; });
  write_names(w, "engine", s.engines, [](const auto& e) { return e->name + "-" + e->version; });
  w.key("method");
  w.begin_array();
  for (const MethodChoice& m : s.methods) {
    w.begin_object();
    w.member("name", m.name);
    if (m.draft_length) w.member("draft_length", *m.draft_length);
    if (!m.parameters.empty()) w.member("parameters", nlohmann::json::parse(m.parameters));
    if (!m.acceptance.text.empty()) w.member("acceptance", nlohmann::json::parse(m.acceptance.text));
    w.end_object();
  }
  w.end_array();
  write_names(w, "batch_size", s.batch_sizes, itself);
  write_names(w, "prompt_tokens", s.prompt_tokens, itself);
  write_names(w, "output_tokens", s.output_tokens, itself);
  w.member("points", s.points());
  w.end_object();
}

void write_resolved(std::ostream& out, const Scenario& s) {
  JsonWriter w(out);
  write_resolved(w, s);
  w.finish();
}

RunReport::RunReport(std::ostream& out, Format format, const Scenario& scenario, std::size_t width)
    : out_(out), format_(format), scenario_(scenario), width_(width), table_(new_table()) {
  if (format_ != Format::json) return;
  json_ = std::make_unique<JsonWriter>(out);
  json_->begin_object();
  json_->member("schema_version", kSchemaVersion);
  json_->member("commit", build_commit());
  json_->key("resolved");
  write_resolved(*json_, scenario);
  json_->key("results");
  json_->begin_array();
}

// ---- text and CSV: what varies, then the figures

Table RunReport::new_table() const {
  const Scenario& s = scenario_;
  const bool all = format_ == Format::csv;
  std::vector<Table::Column> columns;
  const auto axis = [&](const char* title, const char* name, std::size_t n) {
    if (all || n > 1) columns.push_back({title, name});
  };
  axis("device", "device", s.devices.size());
  axis("ranks", "tensor_parallel", s.tensor_parallel.size());
  axis("transformer", "transformer", s.transformers.size());
  axis("precision", "precision", s.precisions.size());
  axis("engine", "engine", s.engines.size());
  columns.push_back({"method", "method"});
  columns.push_back({"drafts", "draft_length"});
  axis("prompt", "prompt_tokens", s.prompt_tokens.size());
  axis("output", "output_tokens", s.output_tokens.size());
  for (const Table::Column& c : std::initializer_list<Table::Column>{{"batch", "batch_size"},
                                                                     {"tokens/s", "throughput_per_s"},
                                                                     {"speedup", "speedup"},
                                                                     {"accepted", "acceptance_length"},
                                                                     {"step", "step_time_s"},
                                                                     {"draft", "draft_s"},
                                                                     {"verify", "verify_s"},
                                                                     {"link", "communication_s"},
                                                                     {"host", "host_s"},
                                                                     {"memory", "peak_memory_bytes"}})
    columns.push_back(c);
  if (all) columns.push_back({"skipped", "skipped"});
  return Table(std::move(columns));
}

std::vector<Cell> RunReport::row(const Outcome& o) const {
  const Scenario& s = scenario_;
  const bool all = format_ == Format::csv;
  const MethodChoice& m = s.methods[o.point.method];
  std::vector<Cell> cells;
  const auto axis = [&](std::size_t n, Cell cell) {
    if (all || n > 1) cells.push_back(std::move(cell));
  };
  const Engine& engine = *s.engines[o.point.engine];
  axis(s.devices.size(), s.devices[o.point.device]->name);
  axis(s.tensor_parallel.size(), s.tensor_parallel[o.point.ranks]);
  axis(s.transformers.size(), s.transformers[o.point.transformer]->name);
  axis(s.precisions.size(), s.precisions[o.point.precision].name);
  axis(s.engines.size(), engine.name + "-" + engine.version);
  cells.emplace_back(method_label(m));
  cells.push_back(m.draft_length ? Cell(*m.draft_length) : Cell());
  axis(s.prompt_tokens.size(), s.prompt_tokens[o.point.prompt]);
  axis(s.output_tokens.size(), s.output_tokens[o.point.output]);
  cells.emplace_back(s.batch_sizes[o.point.batch]);
  if (const auto* p = std::get_if<Prediction>(&o.result)) {
    const auto share = [&](Seconds t) { return Cell(t.value, percent(t, p->step_time)); };
    cells.emplace_back(p->throughput.value, std::to_string(std::lround(p->throughput.value)));
    cells.emplace_back(p->speedup, 3);
    cells.emplace_back(p->acceptance_length, 3);
    cells.emplace_back(p->step_time.value, to_text(p->step_time));
    cells.push_back(share(p->parts.draft));
    cells.push_back(share(p->parts.verify + p->parts.commit));
    cells.push_back(share(p->parts.communication));
    cells.push_back(share(p->parts.host));
    cells.emplace_back(p->memory.total().value, to_text(p->memory.total()));
    if (all) cells.emplace_back();
  } else {
    for (int i = 0; i < 9; ++i) cells.emplace_back();
    if (all) cells.emplace_back(std::get<std::string>(o.result));
  }
  return cells;
}

void RunReport::add(const Outcome& o) {
  constexpr std::size_t kRowsAtOnce = 4096;  // CSV is written as it goes
  if (const auto* why = std::get_if<std::string>(&o.result)) {
    ++skipped_;
    if (reason_.empty()) reason_ = *why;
    if (format_ == Format::table) return;
  }
  if (format_ == Format::json) return add_json(o);
  table_.add(row(o));
  if (format_ == Format::csv && table_.rows() >= kRowsAtOnce) {
    out_ << table_.to_csv(!header_written_);
    header_written_ = true;
    table_ = new_table();
  }
}

void RunReport::finish() {
  switch (format_) {
    case Format::json:
      json_->end_array();
      json_->end_object();
      json_->finish();
      return;
    case Format::csv: out_ << table_.to_csv(!header_written_); break;
    case Format::table:
      if (!scenario_.question.empty()) out_ << scenario_.question << "\n";
      out_ << table_.to_text(width_);
      if (!scenario_.note.empty()) out_ << scenario_.note << "\n";
      if (skipped_ > 0)
        out_ << skipped_ << (skipped_ == 1 ? " point skipped: " : " points skipped; the first: ") << reason_ << "\n";
      break;
  }
  out_.flush();
  if (!out_) throw OutputError("standard output can't be written");
}

// ---- JSON

void RunReport::add_json(const Outcome& o) {
  const Scenario& s = scenario_;
  const MethodChoice& m = s.methods[o.point.method];
  const Engine& engine = *s.engines[o.point.engine];
  JsonWriter& w = *json_;
  w.begin_object();
  w.key("inputs");
  w.begin_object();
  w.member("device", s.devices[o.point.device]->name);
  w.member("tensor_parallel", s.tensor_parallel[o.point.ranks]);
  w.member("transformer", s.transformers[o.point.transformer]->name);
  w.member("precision", s.precisions[o.point.precision].name);
  w.key("engine");
  w.value(engine.name + "-" + engine.version);
  w.member("method", m.name);
  w.member("draft_length", m.draft_length);
  if (!m.parameters.empty()) w.member("parameters", nlohmann::json::parse(m.parameters));
  w.member("batch_size", s.batch_sizes[o.point.batch]);
  w.member("prompt_tokens", s.prompt_tokens[o.point.prompt]);
  w.member("output_tokens", s.output_tokens[o.point.output]);
  w.end_object();
  if (const auto* why = std::get_if<std::string>(&o.result)) {
    w.member("skipped", *why);
  } else {
    const Prediction& p = std::get<Prediction>(o.result);
    constexpr auto predicted = FigureKind::predicted;
    w.figure("throughput", p.throughput.value, "tokens/s", predicted);
    w.figure("throughput_with_prefill", p.throughput_with_prefill.value, "tokens/s", predicted);
    w.figure("speedup", p.speedup, "", predicted);
    w.figure("step_time", p.step_time, predicted);
    w.figure("prefill_time", p.prefill_time, predicted);
    w.figure("acceptance_length", p.acceptance_length, "tokens", FigureKind::input);
    w.figure("peak_memory", p.memory.total(), predicted);
    w.figure("arithmetic_intensity", p.work.flops / p.work.bytes(), predicted);
    w.key("breakdown");
    w.begin_object();
    w.figure("draft", p.parts.draft, predicted);
    w.figure("verify", p.parts.verify, predicted);
    w.figure("commit", p.parts.commit, predicted);
    w.figure("communication", p.parts.communication, predicted);
    w.figure("host", p.parts.host, predicted);
    w.end_object();
  }
  w.end_object();
}

}  // namespace draftline
