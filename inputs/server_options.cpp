// SPDX-License-Identifier: Apache-2.0
#include "inputs/server_options.h"

#include <algorithm>
#include <array>

#include "core/quantity_text.h"
#include "inputs/axes.h"
#include "methods/table.h"
#include "model/devices/library_fits.h"
#include "model/engines/engine_fields.h"

namespace draftline {

namespace {

constexpr std::string_view kEager = "enforce_eager", kGraphMode = "cudagraph_mode", kAsync = "async_scheduling",
                           kNoOverlap = "disable_overlap_schedule", kLargestGraph = "max_cudagraph_capture_size",
                           kEagerDrafter = "eager_drafter", kTf32 = "tf32", kMoeBackend = "moe_backend";

constexpr std::string_view kTriton = "triton";

struct Word {
  std::string_view key, family, title;
};
constexpr std::array<Word, 8> kWords{{{kEager, "vllm", "vLLM"},
                                      {kEagerDrafter, "vllm", "vLLM"},
                                      {kGraphMode, "vllm", "vLLM"},
                                      {kLargestGraph, "vllm", "vLLM"},
                                      {kAsync, "vllm", "vLLM"},
                                      {kTf32, "vllm", "vLLM"},
                                      {kMoeBackend, "vllm", "vLLM"},
                                      {kNoOverlap, "sglang", "SGLang"}}};

ModeFacts facts_of(const MethodSpec& m, const Engine& e, const TransformerShape& target) {
  return {.method = std::string(engine_name(m, e)),
          .speculating = !m.is_plain(),
          .recurrent = target.states().has_value(),
          .experts = target.experts() != nullptr};
}

bool is_overlapped(const Engine& e, const ModeFacts& facts) { return mode_of(e, facts).overlapped; }

// Notes where an option belongs to another engine.
bool is_known(const Reader& in, const Word& word, const Scenario& s) {
  for (const auto& e : s.engines)
    if (e && e->family != word.family) {
      in.fail("is an option of " + std::string(word.title) + ", which " + e->name + " " + e->version +
              " does not have");
      return false;
    }
  return true;
}

// Notes a method with which an engine refuses the overlap that the options ask for.
void refuse_overlap(const Reader& in, const Scenario& s) {
  if (s.transformers.empty() || !s.transformers.front()) return;
  for (const auto& e : s.engines)
    for (const MethodChoice& m : s.methods) {
      if (!e || !e->options.overlap.value_or(false)) continue;
      const ModeRule* rule = first_rule(e->modes.scheduling, facts_of(m.spec, *e, *s.transformers.front()), e->options);
      if (rule == nullptr || !rule->refuses) continue;
      in.fail(e->name + " " + e->version + " does not overlap scheduling" +
              (m.spec.is_plain() ? "" : " with " + std::string(m.spec.name())) + ": leave the option out");
      return;
    }
}

// The library of the experts; empty: the engine chooses.
std::string read_moe_backend(const Reader& in) {
  if (in.text() == "auto") return {};
  if (in.text() != kTriton) in.fail("must be auto or triton: the experts of other backends have no times of their own");
  return std::string(kTriton);
}

using Engines = std::vector<std::shared_ptr<const Engine>>;

// Each engine with each value of an option.
template <class T, class Set>
void multiply(Engines& engines, const std::vector<T>& values, Set set) {
  Engines all;
  for (const auto& e : engines)
    for (const T& value : values) {
      if (!e) continue;
      auto with = std::make_shared<Engine>(*e);
      set(*with, value);
      all.push_back(std::move(with));
    }
  engines = std::move(all);
}

}  // namespace

std::string_view engine_name(const MethodSpec& m, const Engine& e) {
  const methods::EngineNames names = m.entry().engines;
  if (e.family == "vllm") return names.vllm;
  if (e.family == "sglang") return names.sglang;
  if (e.family == "tensorrt-llm") return names.tensorrt_llm;
  return e.family == "llama.cpp" ? names.llama_cpp : "";
}

void read_server_options(const Reader& scenario, Scenario& s) {
  const auto flag = [](const Reader& r) { return r.boolean(); };
  for (const Word& word : kWords) {
    const auto in = scenario.find(word.key);
    if (!in || !is_known(*in, word, s)) continue;
    if (word.key == kGraphMode) {
      multiply(s.engines, alternatives<CudagraphMode>(*in, [](const Reader& r) { return r.value_in(kCudagraphModes); }),
               [](Engine& with, CudagraphMode mode) { with.options.cudagraph_mode = mode; });
      for (const auto& e : s.engines)
        if (e->options.enforce_eager && e->options.cudagraph_mode != CudagraphMode{}) {
          in->fail("\"enforce_eager\" turns graphs off: leave one of them out");
          break;
        }
      continue;
    }
    if (word.key == kLargestGraph) {
      multiply(s.engines, alternatives<int>(*in, [](const Reader& r) { return r.positive_int(1 << 16); }),
               [](Engine& with, int rows) { with = with_largest_graph(std::move(with), rows); });
      if (std::ranges::any_of(s.engines, [](const auto& e) { return e && e->options.enforce_eager; }))
        in->fail("\"enforce_eager\" turns graphs off: leave one of them out");
      continue;
    }
    if (word.key == kMoeBackend) {
      multiply(s.engines, alternatives<std::string>(*in, [](const Reader& r) { return read_moe_backend(r); }),
               [](Engine& with, const std::string& library) { with.options.moe_backend = library; });
      if (std::ranges::all_of(s.engines, [](const auto& e) { return !e || e->options.moe_backend.empty(); })) continue;
      for (const auto& d : s.devices)
        if (d && !has_expert_fits(*d, kTriton))
          in->note(d->name + " was not measured with these experts: its own are used");
      continue;
    }
    multiply(s.engines, alternatives<char>(*in, flag), [&](Engine& with, char on) {
      if (word.key == kEager) with.options.enforce_eager = on != 0;
      else if (word.key == kEagerDrafter) with.options.eager_drafter = on != 0;
      else if (word.key == kTf32) with.options.tf32 = on != 0;
      else with.options.overlap = (word.key == kNoOverlap) != (on != 0);
    });
    if (word.key == kAsync || word.key == kNoOverlap) refuse_overlap(*in, s);
  }
  if (const auto speed = scenario.find("host_speed"))
    multiply(s.engines, alternatives<double>(*speed, [](const Reader& r) { return r.number(0.05, 20); }),
             [](Engine& with, double v) { with = with_host_speed(std::move(with), v); });
  for (const auto& e : s.engines) {
    auto varying = e ? std::make_shared<Engine>(*e) : nullptr;
    if (varying) varying->options.lengths_by_batch = true;
    s.engines_by_batch.push_back(std::move(varying));
  }
}

std::string options_text(const Engine& e) {
  std::string all;
  const ModeOptions& o = e.options;
  if (o.enforce_eager) all += ", " + std::string(kEager);
  if (o.eager_drafter) all += ", " + std::string(kEagerDrafter);
  if (o.tf32) all += ", " + std::string(kTf32);
  if (!o.moe_backend.empty()) all += ", experts of " + o.moe_backend;
  if (o.cudagraph_mode) all += ", " + std::string(text(*o.cudagraph_mode));
  if (o.largest_graph) all += ", graphs up to " + std::to_string(*o.largest_graph);
  if (o.overlap && e.family == "sglang") all += *o.overlap ? ", overlap schedule" : ", " + std::string(kNoOverlap);
  else if (o.overlap) all += ", " + std::string(*o.overlap ? "" : "no ") + std::string(kAsync);
  if (o.host_speed != 1) all += ", host_speed " + significant(o.host_speed, 3);
  return all;
}

std::vector<ServerOption> server_options(const Engine& e, const TransformerShape& target) {
  std::vector<ServerOption> all;
  const ModeFacts plain = facts_of(MethodSpec(), e, target);
  for (const Word& word : kWords) {
    if (e.family != word.family) continue;
    if (word.key == kEager) all.push_back({word.key, e.options.enforce_eager});
    if (word.key == kEagerDrafter && e.options.eager_drafter) all.push_back({word.key, true});
    if (word.key == kMoeBackend && !e.options.moe_backend.empty()) all.push_back({word.key, kTriton});
    if (word.key == kTf32 && e.options.tf32) all.push_back({word.key, true});
    if (word.key == kGraphMode) all.push_back({word.key, text(captured_by(e, plain))});
    if (word.key == kLargestGraph && e.options.largest_graph) all.push_back({word.key, 1.0 * *e.options.largest_graph});
    if (word.key == kAsync) all.push_back({word.key, is_overlapped(e, plain)});
    if (word.key == kNoOverlap) all.push_back({word.key, !is_overlapped(e, plain)});
  }
  if (e.options.host_speed != 1) all.push_back({"host_speed", e.options.host_speed});
  return all;
}

}  // namespace draftline
