// SPDX-License-Identifier: Apache-2.0
#include "model/engines/engine.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/int_indexed.h"
#include "core/json_parse.h"
#include "model/devices/link.h"
#include "model/devices/origin.h"
#include "model/engines/engine_fields.h"

namespace draftline {

namespace {

// What op_key (decoder/tape.h) may return, sorted: so a profile's misspelt row is an error and not a silent default.
// clang-format off
constexpr auto kOpKeys = std::to_array<std::string_view>({
    "add", "add_rms_norm", "add_scaled", "advance", "all_gather", "all_reduce", "argmax", "attention",
    "attention.prefill", "attention.prefill.latent", "attention.verify", "causal_convolution", "clip_top_k",
    "commit", "commit_states",
    "concat_rows", "cosine_gate", "delta_rule", "embed", "expand_tree", "expert_combine", "expert_dispatch",
    "expert_mlp", "follow_path", "force_accepted", "gated_rms_norm", "gather", "gelu", "group_attention",
    "grouped_conv", "gru_cell", "index_append", "layer_norm", "linear", "linear.absorbed", "linear.fp4", "linear.fp4-w4a4",
    "linear.fp8", "linear.fp8-w8a8", "linear.int4", "linear.int8", "linear.int8-w8a8", "map_ids", "quantise",
    "quantise.activation", "quantise.norm", "rms_norm", "rope_append", "sample", "select_entries", "select_tokens",
    "select_tree", "selective_scan", "sigmoid_mul", "silu_add", "silu_mul", "soft_cap", "squared_relu", "store",
    "top_k", "upload", "verify_greedy", "verify_relaxed", "verify_sampled", "walk_candidates"});
// clang-format on
constexpr std::string_view kDraft = "draft/";

// "overlapped" or "serial".
std::string_view mode_of_scheduling(const Engine& e, const ModeFacts& facts) {
  if (e.options.overlap == false) return "serial";
  const ModeRule* rule = first_rule(e.modes.scheduling, facts, e.options);
  return rule == nullptr ? "overlapped" : std::string_view(rule->mode);
}

std::vector<ExpertPadding> read_padding(const Reader& in) {
  std::vector<ExpertPadding> all;
  for (const Reader& rule : in.at("rules").items()) {
    ExpertPadding& p = all.emplace_back();
    const Reader named = rule.at("format");
    if (const NamedFormat* format = format_named(named.text())) p.format = format->layers;
    else named.fail("unknown format " + in_quotes(named.text()));
    read_row(padding_fields(), rule, p);
    rule.done();
  }
  return all;
}

}  // namespace

OpCost OpCost::of_heads(int heads, int kv_heads) const {
  OpCost c = *this;
  if (heads > kv_heads) {
    c.launches += group_launches;
    c.cache_traffic += group_traffic * heads / kv_heads;
  }
  c.group_launches = c.group_traffic = 0;
  return c;
}

std::span<const std::string_view> op_keys() { return kOpKeys; }

OpCost Engine::cost_of(std::string_view op_key, bool drafting) const {
  const auto row_of = [&](std::string_view prefix) -> const OpCost* {
    for (std::string key = std::string(prefix) + std::string(op_key);;) {
      if (const auto row = ops.find(key); row != ops.end()) return &row->second;
      const std::size_t dot = key.rfind('.');
      if (dot == std::string::npos) return nullptr;
      key.resize(dot);
    }
  };
  const OpCost* row = drafting ? row_of(kDraft) : nullptr;
  if (!row) row = row_of("");
  return row ? *row : OpCost{};
}

void read_op_costs(Reader ops, Engine& engine) {
  for (const auto& [name, row] : ops.entries()) {
    const std::string_view op_name = std::string_view(name).substr(name.starts_with(kDraft) ? kDraft.size() : 0);
    if (!std::binary_search(op_keys().begin(), op_keys().end(), op_name))
      row.fail("unknown op \"" + std::string(op_name) + "\"" + did_you_mean(op_name, op_keys()));
    read_row(op_fields(), row, engine.ops[name] = {});
    if (read_profile_origin(row)) engine.guesses.push_back("ops/" + name);
    row.done();
  }
}

// The 90 % interval of a fitted value. But for front_end, the values of terms without a prior are not varied, so their
// bounds are for people alone.
static void read_interval(const EngineField& field, const Reader& entry, Engine& e) {
  const auto low = entry.find("low"), high = entry.find("high");
  if ((!field.prior && field.key != "front_end") || !low || !high) return;
  Engine ends = e;
  const auto value_of = [&](const Reader& bound) {
    read_value(field, bound, ends);
    return field.value(ends);
  };
  const Interval interval{value_of(*low), value_of(*high)};
  if (interval.low > interval.high) high->fail("is below \"low\"");
  else if (const double value = field.value(e);
           field.key == "front_end" && (value < interval.low || value > interval.high))
    entry.at("value").fail("is not between \"low\" and \"high\"");
  e.intervals[std::string(field.key)] = interval;
}

Engine read_engine(Reader in) {
  Engine e;
  e.name = in.at("name").text();
  e.version = in.at("version").text();
  const auto family = in.find("engine");
  e.family = family ? family->text() : e.name;
  e.source = in.at("source").text();
  in.at("locator").text();
  if (const auto title = in.find("title")) title->text();
  if (const auto model = in.find("model")) model->text();  // of the draftline that calibrated it, and from what
  if (const auto files = in.find("input_files")) files->entries();
  const auto noted = [&](const Reader& entry, std::string_view key) {
    if (read_profile_origin(entry)) e.guesses.emplace_back(key);
    entry.done();
  };
  for (const EngineField& field : engine_fields())
    if (const auto entry = in.find(field.key)) {
      read_value(field, entry->at("value"), e);
      read_interval(field, *entry, e);
      if (const auto without = field.key == "launch_overlap" ? entry->find("not_on") : std::nullopt)
        for (const Reader& capability : without->items()) e.no_launch_overlap_on.push_back(capability.text());
      noted(*entry, field.key);
    }
  const auto read_error = [&](const char* key, RatioInterval& to) {
    const auto error = in.find(key);
    if (!error) return;
    to = {error->at("low").number(0.01, 1), error->at("high").number(1, 100)};
    noted(*error, key);
  };
  read_error("step_error", e.step_error);
  read_error("prompt_error", e.prompt_error);
  if (const auto padding = in.find("expert_padding")) {
    e.expert_padding = read_padding(*padding);
    noted(*padding, "expert_padding");
  }
  e.runtime_memory_nvlink = std::max(e.runtime_memory, e.runtime_memory_nvlink);
  if (e.graphs && !e.overlap) in.fail("\"graphs\" are launched beside the host: they need \"overlap\"");
  if (const auto modes = in.find("modes")) e.modes = read_engine_modes(*modes, e.guesses);
  if (const auto scheduler = in.find("scheduler")) e.scheduler = read_engine_scheduler(*scheduler, e.guesses);
  if (const auto attention = in.find("attention")) e.attention = read_attention_rules(*attention, e.guesses);
  if (const auto links = in.find("links")) e.links = read_engine_links(*links, e.guesses);
  read_op_costs(in.at("ops"), e);
  if (e.step_speculating < e.step)
    in.fail("step_speculating (" + to_text(e.step_speculating) + ") is below step (" + to_text(e.step) +
            "): overlap that is lost can't save time");
  in.done();
  return e;
}

bool ExpertPadding::applies(std::string_view capability, int ranks) const {
  return has_capability(compute_capability, capability) && ranks < below_ranks.value_or(ranks + 1);
}

double Engine::launch_overlap_on(std::string_view compute_capability) const {
  const auto is_that = [&](const std::string& c) { return has_capability(c, compute_capability); };
  return std::ranges::any_of(no_launch_overlap_on, is_that) ? 0 : launch_overlap;
}

StepMode Engine::step_mode() const {
  if (mode) return *mode;
  const Graphs all = graphs ? Graphs::full : Graphs::none;
  return {all, all, all, true};
}

CudagraphMode captured_by(const Engine& e, const ModeFacts& facts) {
  if (e.options.enforce_eager || !e.graphs) return {};
  if (e.options.cudagraph_mode) return *e.options.cudagraph_mode;
  const CudagraphMode whole{Graphs::full, Graphs::full};
  const ModeRule* usual = first_rule(e.modes.cudagraph_mode, facts, e.options);
  return usual == nullptr ? whole : value_named(kCudagraphModes, usual->mode).value_or(whole);
}

Engine with_largest_graph(Engine e, int rows) {
  std::vector<int>& sizes = e.graph_sizes;
  e.options.largest_graph = rows;
  if (sizes.empty()) return e;  // graphs of all sizes
  const int step = sizes.size() < 2 ? 8 : sizes.back() - sizes[sizes.size() - 2];
  std::erase_if(sizes, [&](int size) { return size > rows; });
  for (int size = sizes.empty() ? rows : sizes.back() + step; size <= rows; size += step) sizes.push_back(size);
  if (e.prompt_graphs) e.prompt_graphs = sizes.back();
  return e;
}

bool is_captured(const Engine& e, int sequences, int rows) {
  return e.graph_sizes.empty() || (e.graphs_by_sequence ? sequences : rows) <= e.graph_sizes.back();
}

StepMode mode_of(const Engine& e, const ModeFacts& facts) {
  StepMode mode{.overlapped = mode_of_scheduling(e, facts) == "overlapped"};
  const auto most = [&](const std::vector<ModeRule>& rules) { return graphs_of(first_rule(rules, facts, e.options)); };
  const CudagraphMode captured = captured_by(e, facts);
  const Graphs mixed = std::min({most(e.modes.target), most(e.modes.mixed), captured.mixed});
  if (is_captured(e, facts.sequences, facts.rows))
    mode.target = facts.uniform ? std::min(most(e.modes.target), captured.uniform) : mixed;
  if (!e.options.eager_drafter && captured.mixed != Graphs::none && is_captured(e, facts.sequences, facts.sequences))
    mode.drafter = most(e.modes.drafter);
  mode.prompts = mixed;
  return mode;
}

Engine in_mode(Engine e, const StepMode& mode) {
  e.mode = mode;
  if (!mode.overlapped) {
    e.step = std::max(e.step, e.step_serial);
    e.step_speculating = std::max(e.step_speculating, e.step_serial_speculating);
  }
  return e;
}

Engine with_fused_all_reduce(Engine e, Bytes row) {
  constexpr std::string_view kNorm = "add_rms_norm";
  OpCost norm = e.cost_of(kNorm);
  norm.launches = 0;
  e.ops.insert_or_assign(std::string(kNorm), norm);
  e.links = e.links.with_fused(row);
  return e;
}

Engine for_prompt(const Engine& e, int rows) {
  Engine prompt = e;
  StepMode mode = e.step_mode();
  mode.overlapped = false;  // no other step comes before it
  mode.target = mode.drafter = e.prompt_graphs && rows > *e.prompt_graphs ? Graphs::none : mode.prompts;
  prompt.mode = mode;
  return prompt;
}

bool version_less(std::string_view a, std::string_view b) {
  const auto next = [](std::string_view& v) {
    int n = 0;
    const auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), n);
    if (error != std::errc{}) n = 0;
    v.remove_prefix(at(end - v.data()));
    if (!v.empty()) v.remove_prefix(1);
    return n;
  };
  while (!a.empty() || !b.empty()) {
    const int x = next(a), y = next(b);
    if (x != y) return x < y;
  }
  return false;
}

}  // namespace draftline
