// SPDX-License-Identifier: Apache-2.0
#include "reports/point.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/build_info.h"
#include "core/fingerprint.h"
#include "core/quantity_text.h"
#include "model/devices/fit_quality.h"

namespace draftline {

namespace {

void write_method(JsonWriter& w, const MethodChoice& m) {
  w.member("name", m.spec.name());
  if (m.spec.draft_length()) w.member("draft_length", m.spec.draft_length());
  if (!m.spec.parameters().empty()) w.member("parameters", m.spec.parameters());
  if (!m.acceptance.text().empty()) w.member("acceptance", nlohmann::json::parse(m.acceptance.text()));
}

// The lists whose product they are.
void write_parallelism(JsonWriter& w, const std::vector<Parallelism>& all) {
  const auto values = [&](auto of) {
    std::vector<std::decay_t<decltype(of(all.front()))>> distinct;
    for (const Parallelism& p : all)
      if (std::ranges::find(distinct, of(p)) == distinct.end()) distinct.push_back(of(p));
    return distinct;
  };
  w.list("tensor_parallel", values([](const Parallelism& p) { return p.devices; }));
  if (all.front().attention_replicas > 1 || all.back().attention_replicas > 1)
    w.list("data_parallel_attention", values([](const Parallelism& p) { return p.attention_replicas; }));
  if (std::ranges::any_of(all, [](const Parallelism& p) { return p.expert_parallel && p.expert_tensor > 1; }))
    w.list("expert_parallel", values([](const Parallelism& p) { return p.expert_groups(); }));
  else if (std::ranges::any_of(all, [](const Parallelism& p) { return p.expert_parallel; }))
    w.list("expert_parallel", values([](const Parallelism& p) { return p.expert_parallel; }));
  if (all.front().expert_balancedness > 0)
    w.list("expert_balancedness", values([](const Parallelism& p) { return p.expert_balancedness; }));
}

// The values of each option, in the order of the engines that have it.
void write_server_options(JsonWriter& w, const Scenario& s) {
  std::map<std::string_view, std::vector<nlohmann::json>> values;
  for (const auto& engine : s.engines)
    for (const ServerOption& o : server_options(*engine, *s.transformers.front()))
      values[o.key].push_back(std::visit([](auto v) { return nlohmann::json(v); }, o.value));
  for (const auto& [key, each] : values) w.list(key, each);
}

// The names of the precisions on each transformer, as "auto" is that of its checkpoint.
std::vector<std::string> precision_names(const Scenario& s) {
  std::vector<std::string> names;
  for (const PrecisionChoice& p : s.precisions)
    for (const auto& shape : s.transformers)
      if (const std::string name = p.of(*shape).name; std::ranges::find(names, name) == names.end())
        names.push_back(name);
  return names;
}

void write_resolved(JsonWriter& w, const Scenario& s) {
  w.begin_object();
  w.member("name", s.name);
  if (!s.question.empty()) w.member("question", s.question);
  if (!s.note.empty()) w.member("note", s.note);
  const auto of_name = [](const auto& p) { return p->name; };
  w.list("device", s.devices, of_name);
  write_parallelism(w, s.parallel);
  w.list("transformer", s.transformers, of_name);
  w.list("precision", precision_names(s));
  w.list("engine", s.engines, [](const auto& e) { return version_of(*e); });
  write_server_options(w, s);
  w.objects("method", s.methods, [&](const MethodChoice& m) { write_method(w, m); });
  if (!s.serving) w.list("batch_size", s.batch_sizes);
  if (!s.serving) w.member("gpu_memory_utilization", s.gpu_memory_utilization);
  w.list("prompt_tokens", s.prompt_tokens);
  if (s.cached_prompt_tokens > 0) w.member("cached_prompt_tokens", s.cached_prompt_tokens);
  if (s.shared_prefix && !s.serving)
    w.object("shared_prefix", [&] {
      w.member("tokens", s.shared_prefix->tokens);
      w.member("groups", s.shared_prefix->groups);
    });
  w.list("output_tokens", s.output_tokens);
  if (s.serving) {
    const Reader root = s.document.root();
    for (const char* part :
         {"workload", "scheduler", "policy", "replicas", "pipeline_parallel", "routing", "disaggregation"})
      if (const auto in = root.find(part)) w.member(part, in->json());
    if (const auto slo = root.find("slo", "latency_targets")) w.member("slo", slo->json());
    if (s.serving->replications) w.member("replications", *s.serving->replications);
  }
  w.member("points", s.points());
  w.end_object();
}

// "TP 2", behind what is there; nothing if the point has no such input.
void append_input(std::string& text, const Figure<PointOf>& f, const PointOf& p) {
  const Cell cell = cell_of(f.get(p), f.unit, f.column.text);
  if (!f.title.empty() && !cell.shown.empty()) text += (text.empty() ? "" : ", ") + f.title + " " + cell.shown;
}

}  // namespace

void write_program(JsonWriter& w, int schema_version) {
  w.member("schema_version", schema_version);
  w.member("commit", build_commit());
  w.member("model", build_model());
}

void write_input_files(JsonWriter& w, const InputFiles& files, const std::filesystem::path& data) {
  w.object("input_files", [&] {
    for (const auto& [file, fingerprint] : files) w.member(input_name(file, data), to_hex(fingerprint));
  });
}

void begin_document(JsonWriter& w, int schema_version, const Asked& asked, const Scenario& s) {
  const Reader root = s.document.root();
  w.begin_object();
  write_program(w, schema_version);
  write_input_files(w, root.input_files(), asked.data);
  w.object("question", [&] {
    w.member("verb", asked.verb);
    w.member("file", root.file().generic_string());
    w.member("seed", asked.seed);
    const AskedOptions &o = asked.options, usual;
    if (o.from != usual.from) w.member("from", o.from);
    if (o.kernels) w.member("explain", true);
    if (!o.oracle) w.member("no_oracle", true);
    if (!o.intervals) w.member("no_intervals", true);
    if (!o.load) w.member("no_load", true);
    if (o.most_devices != usual.most_devices) w.member("max_devices", o.most_devices);
    if (asked.verb == "plan") w.member("headroom", o.headroom);
    w.member("scenario", root.json());
  });
  w.key("resolved");
  write_resolved(w, s);
}

void write_resolved(std::ostream& out, const Scenario& s) {
  JsonWriter w(out);
  write_resolved(w, s);
  w.finish();
}

PointInputs::PointInputs(const Scenario& s, Format format, std::initializer_list<std::string_view> without)
    : scenario_(s), all_(point_figures(&s)), columns_(columns_of(all_, s, format)) {
  for (const std::string_view name : without) leave_out(name);
}

void PointInputs::leave_out(std::string_view name) {
  std::erase_if(columns_, [&](const auto& f) { return f.json.text() == name; });
}

std::vector<Table::Column> PointInputs::titles() const {
  std::vector<Table::Column> titles;
  add_titles(titles, columns_);
  return titles;
}

std::vector<Cell> PointInputs::cells(const Point& p) const {
  std::vector<Cell> cells;
  add_cells(cells, columns_, PointOf{scenario_, p});
  return cells;
}

std::string PointInputs::text(const Point& p) const {
  std::string text;
  for (const auto& f : columns_) append_input(text, f, PointOf{scenario_, p});
  return text;
}

// The inputs that all points have in common, whose columns are left out for that: "device h100-sxm, TP 1, ..".
static std::string common_inputs(const Scenario& s) {
  const Point first = point_at(s, 0);
  std::string text;
  for (const auto& f : point_figures(&s))
    if (f.column.show_if && !f.column.show_if(s)) append_input(text, f, PointOf{s, first});
  return text;
}

std::unique_ptr<Page> page_of(const Output& to, const Scenario& s) {
  auto page = new_page(to, s.name, s.document.root().input_files());
  page->say(s.question);
  if (to.format == Format::html) page->say("All points: " + common_inputs(s) + ".");
  return page;
}

void SkippedPoints::add(const std::string& point, const std::string& why) {
  if (count_++ == 0) first_ = point, why_ = why;
}

std::string SkippedPoints::sentence() const {
  if (count_ == 0) return "";
  const std::string first = first_.empty() ? "" : " (" + first_ + ")";
  return std::to_string(count_) + (count_ == 1 ? " point skipped" : " points skipped; the first") + first + ": " + why_;
}

std::string median_interval(const std::vector<RatioInterval>& all) {
  const auto off = [&](double RatioInterval::*end) {
    std::vector<double> ends;
    for (const RatioInterval& i : all) ends.push_back(i.*end);
    return significant(100 * (quantile(ends, 0.5) - 1), 2);
  };
  return off(&RatioInterval::low) + " to +" + off(&RatioInterval::high) + " %";
}

std::string method_text(const Scenario& s, const Point& p, bool with_length) {
  const MethodChoice& m = s.method(p);
  const auto k = m.spec.draft_length();
  std::string text = m.spec.label() + (k && with_length ? ", k " + std::to_string(*k) : "");
  if (differ_in_acceptance(s) && !m.acceptance.text().empty()) text += ", " + m.acceptance.text();
  return text;
}

void PointInputs::write(JsonWriter& w, const Point& p) const {
  w.object("inputs", [&] { write_members(w, all_, PointOf{scenario_, p}); });
}

}  // namespace draftline
