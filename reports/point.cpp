// SPDX-License-Identifier: Apache-2.0
#include "reports/point.h"

#include <nlohmann/json.hpp>

#include "core/build_info.h"
#include "core/fingerprint.h"

namespace draftline {

namespace {

std::string version_of(const Engine& e) { return e.name + "-" + e.version; }

// The method's name, drafts, parameters and acceptance, as members of an open object.
void write_method(JsonWriter& w, std::string_view name, const MethodChoice& m, bool always_drafts) {
  w.member(name, m.spec.name());
  if (always_drafts || m.spec.draft_length()) w.member("draft_length", m.spec.draft_length());
  if (!m.spec.parameters().empty()) w.member("parameters", m.spec.parameters());
  if (!m.acceptance.text().empty()) w.member("acceptance", nlohmann::json::parse(m.acceptance.text()));
}

void write_resolved(JsonWriter& w, const Scenario& s) {
  w.begin_object();
  w.member("name", s.name);
  if (!s.question.empty()) w.member("question", s.question);
  if (!s.note.empty()) w.member("note", s.note);
  const auto of_name = [](const auto& p) { return p->name; };
  w.list("device", s.devices, of_name);
  w.list("tensor_parallel", s.tensor_parallel);
  w.list("transformer", s.transformers, of_name);
  w.list("precision", s.precisions, [](const PrecisionChoice& p) { return p.name; });
  w.list("engine", s.engines, [](const auto& e) { return version_of(*e); });
  w.objects("method", s.methods, [&](const MethodChoice& m) { write_method(w, "name", m, false); });
  if (!s.serving) w.list("batch_size", s.batch_sizes);
  w.list("prompt_tokens", s.prompt_tokens);
  w.list("output_tokens", s.output_tokens);
  if (s.serving) {
    const Reader root = s.document.root();
    for (const char* part :
         {"workload", "scheduler", "policy", "replicas", "pipeline_parallel", "routing", "disaggregation"})
      if (const auto in = root.find(part)) w.member(part, in->json());
    if (const auto slo = root.find("slo", "latency_targets")) w.member("slo", slo->json());
    w.member("replications", s.serving->replications);
  }
  w.member("points", s.points());
  w.end_object();
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
    if (!o.oracle) w.member("no_oracle", true);
    if (!o.load) w.member("no_load", true);
    if (o.most_devices != usual.most_devices) w.member("max_devices", o.most_devices);
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

std::vector<Table::Column> point_columns(const Scenario& s, bool all) {
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
  if (!s.serving) columns.push_back({"batch", "batch_size"});
  else
    for (const std::string& name : s.serving->axes) columns.push_back({name});
  return columns;
}

std::vector<Cell> point_cells(const Scenario& s, const Point& p, bool all) {
  const MethodSpec& m = s.methods[p.method].spec;
  std::vector<Cell> cells;
  const auto axis = [&](std::size_t n, Cell cell) {
    if (all || n > 1) cells.push_back(std::move(cell));
  };
  axis(s.devices.size(), s.devices[p.device]->name);
  axis(s.tensor_parallel.size(), s.tensor_parallel[p.ranks]);
  axis(s.transformers.size(), s.transformers[p.transformer]->name);
  axis(s.precisions.size(), s.precisions[p.precision].name);
  axis(s.engines.size(), version_of(*s.engines[p.engine]));
  cells.emplace_back(m.label());
  cells.push_back(m.draft_length() ? Cell(*m.draft_length()) : Cell());
  axis(s.prompt_tokens.size(), s.prompt_tokens[p.prompt]);
  axis(s.output_tokens.size(), s.output_tokens[p.output]);
  if (!s.serving) cells.emplace_back(s.batch_sizes[p.batch]);
  else
    for (const std::string& value : s.serving->choices[p.serving].varying) cells.emplace_back(value);
  return cells;
}

void write_inputs(JsonWriter& w, const Scenario& s, const Point& p) {
  const MethodChoice& m = s.methods[p.method];
  w.object("inputs", [&] {
    w.member("device", s.devices[p.device]->name);
    w.member("tensor_parallel", s.tensor_parallel[p.ranks]);
    w.member("transformer", s.transformers[p.transformer]->name);
    w.member("precision", s.precisions[p.precision].name);
    w.member("engine", version_of(*s.engines[p.engine]));
    write_method(w, "method", m, true);
    if (!s.serving) w.member("batch_size", s.batch_sizes[p.batch]);
    w.member("prompt_tokens", s.prompt_tokens[p.prompt]);
    w.member("output_tokens", s.output_tokens[p.output]);
    if (s.serving)
      for (std::size_t i = 0; i < s.serving->axes.size(); ++i)
        w.member(s.serving->axes[i], s.serving->choices[p.serving].varying[i]);
  });
}

}  // namespace draftline
