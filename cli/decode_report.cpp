// SPDX-License-Identifier: Apache-2.0
#include "cli/decode_report.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/json_writer.h"
#include "reports/point.h"

namespace draftline::cli {

double DecodeResult::tokens() const {
  double all = 0;
  for (const Generated& g : texts) all += to_double(g.tokens.size());
  return all;
}

double DecodeResult::acceptance_length() const {
  double emitted = 0, steps = 0;
  for (const Generated& g : texts) {
    for (const int a : g.accepted) emitted += a;
    steps += to_double(g.accepted.size());
  }
  return steps > 0 ? emitted / steps : 1;
}

void print_decoded(const DecodeOptions& o, const DecodeResult& r) {
  for (const Generated& g : r.texts) {
    for (std::size_t i = 0; i < g.tokens.size(); ++i) std::cout << (i ? " " : "") << g.tokens[i];
    std::cout << "\n";
  }
  std::cerr << r.tokens() / r.time.value << " tokens/s, " << r.acceptance_length()
            << " tokens per sequence and step (bonus included" << (o.forced() ? "; forced" : "")
            << (r.by.forced_by.empty() ? "" : " by a trace of a random " + r.by.forced_by) << r.by.weights.warning()
            << ")\n";
  r.timing.print(std::cerr, r.limits, o.format());
}

static void write_resolved(JsonWriter& w, const DecodeOptions& o, const DecodeResult& r) {
  w.member("transformer", r.shape.name);
  w.member("weights", r.target_kind);
  w.member("drafter_weights", r.by.weights.drafter_json());
  w.member("method", r.method.object());
  w.member("batch_size", r.slots);
  w.member("new_tokens", o.new_tokens);
  w.member("temperature", o.sampling.temperature);
  w.member("top_k", o.sampling.top_k);
  w.member("top_p", o.sampling.top_p);
  w.member("seed", o.seed);
  w.member("device", o.device);
  w.member("precision", name(o.format()));
  if (r.cuda) {
    w.member("device_name", r.cuda->facts.device);
    w.member("driver", r.cuda->facts.driver);
    w.member("runtime", r.cuda->facts.runtime);
    w.member("graphs", !o.no_graphs);
    if (!o.algorithms.empty()) w.member("algorithms", o.algorithms);
    w.member("products_timed", r.cuda->products_timed);
  }
  w.member("acceptance", o.forced() ? "forced" : "decoded");
  if (!o.accept.empty()) w.list("accept", o.accept);
  if (!o.accept_trace.empty()) w.member("accept_trace", o.accept_trace);
  if (!r.by.forced_by.empty()) w.member("accept_trace_random_weights", r.by.forced_by);
  if (r.limits != nullptr) w.member("limits", r.limits->name);
}

void write_decode_json(std::ostream& out, const DecodeOptions& o, const DecodeResult& r, const InputFiles& files,
                       const std::filesystem::path& data) {
  constexpr int kSchemaVersion = 1;
  JsonWriter w(out);
  w.begin_object();
  write_program(w, kSchemaVersion);
  write_input_files(w, files, data);
  w.object("resolved", [&] { write_resolved(w, o, r); });
  if (!r.failure.empty()) w.member("failed", r.failure);
  w.key("texts");
  w.begin_array();
  for (std::size_t i = 0; i < r.texts.size(); ++i) {
    w.begin_object();
    w.list("prompt", r.prompts[i]);
    w.list("tokens", r.texts[i].tokens);
    w.list("emitted_per_step", r.texts[i].accepted);
    w.end_object();
  }
  w.end_array();
  // Forced acceptance is an input. What a trained target accepts of a random drafter says nothing about the target, so
  // it counts as an input too.
  const bool assumed = o.forced() || (r.target_kind == "checkpoint" && r.by.weights.random_drafter());
  w.figure("acceptance_length", r.acceptance_length(), "tokens", assumed ? FigureKind::input : FigureKind::measured);
  w.figure("throughput", r.tokens() / r.time.value, "tokens/s", FigureKind::measured);
  w.figure("wall_time", r.time.value, "s", FigureKind::measured);
  r.timing.write(w, r.limits, o.format());
  w.end_object();
  w.finish();
}

}  // namespace draftline::cli
