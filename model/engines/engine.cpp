// SPDX-License-Identifier: Apache-2.0
#include "model/engines/engine.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "core/json_parse.h"
#include "model/devices/origin.h"

namespace draftline {

namespace {

// What op_key (decoder/tape.h) may return, sorted: so a profile's misspelt row is an error and not a silent default.
// clang-format off
constexpr auto kOpKeys = std::to_array<std::string_view>({
    "add", "add_rms_norm", "add_scaled", "advance", "all_gather", "all_reduce", "argmax", "attention", "attention.prefill",
    "attention.verify", "causal_convolution", "clip_top_k", "commit", "concat_rows", "cosine_gate", "delta_rule",
    "embed", "expand_tree", "expert_combine", "expert_dispatch", "expert_mlp", "follow_path", "force_accepted",
    "gated_rms_norm", "gather", "gelu", "group_attention", "grouped_conv", "index_append", "layer_norm", "linear",
    "linear.absorbed", "linear.fp4", "linear.fp4-w4a4", "linear.fp8", "linear.fp8-w8a8", "linear.int4", "linear.int8",
    "linear.int8-w8a8", "map_ids", "quantise", "quantise.activation", "quantise.norm", "rms_norm", "rope_append",
    "sample", "select_entries", "select_tokens", "select_tree", "sigmoid_mul", "silu_add", "silu_mul", "soft_cap", "store",
    "top_k", "upload", "verify_greedy", "verify_relaxed", "verify_sampled", "walk_candidates"});
// clang-format on
constexpr std::string_view kDraft = "draft/";

OpCost read_op(const Reader& row) {
  constexpr double kMost = 1e6;
  OpCost c;
  const auto number = [&](std::string_view key, double& to, double most) {
    if (const auto value = row.find(key)) to = value->number(0, most);
  };
  number("launches", c.launches, kMost);
  number("group_launches", c.group_launches, kMost);
  number("host_launches", c.host_launches, kMost);
  number("traffic", c.traffic, kMost);
  number("weight_traffic", c.weight_traffic, kMost);
  number("cache_traffic", c.cache_traffic, kMost);
  number("group_traffic", c.group_traffic, kMost);
  if (const auto value = row.find("bytes_per_pair")) c.bytes_per_pair = value->quantity<Bytes>(0.0);
  if (const auto value = row.find("waits")) c.waits = value->integer(0, 1000);
  if (const auto value = row.find("fixed")) c.fixed = value->quantity<Seconds>(0.0);
  return c;
}

ExpertPadding read_expert_padding(const Reader& in) {
  constexpr int kMost = 1 << 16;
  ExpertPadding p;
  const Reader named = in.at("format");
  if (const NamedFormat* format = format_named(named.text())) p.format = format->layers;
  else named.fail("unknown format " + in_quotes(named.text()));
  if (const auto capability = in.find("compute_capability")) p.compute_capability = capability->text();
  p.hidden = in.at("hidden").positive_int(kMost);
  p.intermediate = in.at("intermediate").positive_int(kMost);
  in.done();
  return p;
}

class Profile {
 public:
  Profile(Reader in, Engine& engine) : in_(std::move(in)), engine_(engine) {}

  Seconds seconds(std::string_view key) {
    const auto value = entry(key);
    return value ? value->quantity<Seconds>(0.0) : Seconds{};
  }
  Seconds signed_seconds(std::string_view key) {
    constexpr double kLeast = -1e-3;
    const auto value = entry(key);
    return value ? value->quantity<Seconds>(kLeast) : Seconds{};
  }
  Bytes memory(std::string_view key) {
    const auto value = entry(key);
    return value ? value->quantity<Bytes>(0.0) : Bytes{};
  }
  double number(std::string_view key, double most) {
    const auto value = entry(key);
    return value ? value->number(0, most) : 0;
  }
  double share(std::string_view key) {  // 1 where the profile does not speak of it
    constexpr double kLeast = 0.05, kMost = 2;
    const auto value = entry(key);
    return value ? std::clamp(value->number(kLeast, kMost), kLeast, kMost) : 1;
  }
  std::optional<int> count(std::string_view key, int least, int most) {
    const auto value = entry(key);
    return value ? std::optional(value->integer(least, most)) : std::nullopt;
  }
  bool flag(std::string_view key) {
    const auto value = entry(key);
    return value && value->boolean();
  }
  std::vector<ExpertPadding> padding(std::string_view key) {
    std::vector<ExpertPadding> all;
    const auto found = in_.find(key);
    if (!found) return all;
    for (const Reader& rule : found->at("rules").items()) all.push_back(read_expert_padding(rule));
    if (read_profile_origin(*found)) engine_.guesses.emplace_back(key);
    found->done();
    return all;
  }
  std::vector<int> sizes(std::string_view key) {
    std::vector<int> sizes;
    const auto value = entry(key);
    if (!value) return sizes;
    for (const Reader& item : value->items()) {
      const int size = item.positive_int();
      if (!sizes.empty() && size <= sizes.back()) item.fail("captured sizes must increase");
      sizes.push_back(size);
    }
    return sizes;
  }

 private:
  // The "value" of an entry with its origin; none where the profile does not speak of it.
  std::optional<Reader> entry(std::string_view key) {
    const auto found = in_.find(key);
    if (!found) return std::nullopt;
    const Reader value = found->at("value");
    for (const std::string_view bound : {"low", "high"}) found->find(bound);  // of a fit, for people
    if (read_profile_origin(*found)) engine_.guesses.emplace_back(key);
    found->done();
    return value;
  }

  Reader in_;
  Engine& engine_;
};

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
    if (std::find(kOpKeys.begin(), kOpKeys.end(), op_name) == kOpKeys.end())
      row.fail("unknown op \"" + std::string(op_name) + "\"" + did_you_mean(op_name, kOpKeys));
    engine.ops[name] = read_op(row);
    if (read_profile_origin(row)) engine.guesses.push_back("ops/" + name);
    row.done();
  }
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
  Profile profile(in, e);
  e.graphs = profile.flag("graphs");
  if (in.has("overlap")) e.overlap = profile.flag("overlap");
  if (e.graphs && !e.overlap) in.fail("\"graphs\" are launched beside the host: they need \"overlap\"");
  e.issue = profile.seconds("issue");
  e.record = profile.seconds("record");
  e.graph_launch = profile.seconds("graph_launch");
  e.step = profile.seconds("step");
  e.step_speculating = profile.seconds("step_speculating");
  e.step_searching = profile.seconds("step_searching");
  e.search = profile.seconds("search");
  e.launches_speculating = profile.number("launches_speculating", 1e6);
  e.layer_tree = profile.seconds("layer_tree");
  e.draft_pass = profile.seconds("draft_pass");
  e.draft_pass_exposed = profile.seconds("draft_pass_exposed");
  e.layer = profile.signed_seconds("layer");
  if (in.has("layer_rows")) e.layer_rows = profile.seconds("layer_rows");
  if (e.layer_rows && e.layer.value < 0) in.fail("\"layer_rows\" needs a \"layer\" that is not below 0");
  e.bandwidth_share = profile.share("bandwidth_share");
  e.token = profile.seconds("token");
  e.sync = profile.seconds("sync");
  e.graph_sizes = profile.sizes("graph_sizes");
  e.prompt_graphs = profile.count("prompt_graphs", 0, 1 << 20);
  e.chain = profile.count("chain", 1, 64);
  e.shards_drafts = profile.flag("shards_drafts");
  e.sampler_copies = profile.number("sampler_copies", 100);
  e.expert_buffers = profile.flag("expert_buffers");
  e.runtime_memory = profile.memory("runtime_memory");
  e.expert_padding = profile.padding("expert_padding");
  e.runtime_memory_nvlink = std::max(e.runtime_memory, profile.memory("runtime_memory_nvlink"));
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

Engine for_prompt(const Engine& e, int rows) {
  Engine prompt = e;
  if (e.prompt_graphs && rows > *e.prompt_graphs) prompt.graphs = false;
  return prompt;
}

bool version_less(std::string_view a, std::string_view b) {
  const auto next = [](std::string_view& v) {
    int n = 0;
    const auto [end, error] = std::from_chars(v.data(), v.data() + v.size(), n);
    if (error != std::errc{}) n = 0;
    v.remove_prefix(static_cast<std::size_t>(end - v.data()));
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
