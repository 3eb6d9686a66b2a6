// SPDX-License-Identifier: Apache-2.0
// Mixtures of experts: DeepSeek's line from its first mixture on, with latent attention from V2 on, GLM-4.5, Mixtral
// and MiniMax-M2. Keys and their defaults are those of transformers 4.57.
#include "model/transformers/config_experts.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/int_indexed.h"
#include "model/transformers/config_families.h"

namespace draftline::config {

namespace {

constexpr int kMostExperts = 1 << 16;

// Which layers have experts: all behind the first few, `otherwise` where the file doesn't say how many, or as
// transformers 5 writes of each.
void first_layers_dense(const Reader& in, ConfigNetwork& s, int otherwise = 0) {
  const auto found = given(in, "first_k_dense_replace");
  const int dense = found ? found->integer(0, std::max(s.layers, 0)) : std::min(otherwise, s.layers);
  if (found || dense > 0) {
    s.layer_kinds.assign(at(s.layers), {.experts = true});
    std::fill_n(s.layer_kinds.begin(), dense, LayerKind{});
  }
  const auto types = given(in, "mlp_layer_types");
  if (!types) return;
  if (types->size() != at(s.layers))
    return types->fail("must have one word for each of the " + std::to_string(s.layers) + " layers");
  static constexpr std::array<std::string_view, 2> words{"dense", "sparse"};
  s.layer_kinds.clear();
  for (const Reader& type : types->items()) s.layer_kinds.push_back({.experts = type.word(words) == "sparse"});
}

void read_shared(const Reader& in, Experts& e) {
  const auto shared = given(in, {"n_shared_experts", "num_shared_experts"});
  if (!shared) return;
  e.shared = shared->integer(0, kMostExperts);
  if (std::int64_t{e.shared} * e.intermediate > kMostColumns) shared->fail("are too many");
  else e.shared *= e.intermediate;
}

void read_groups(const Reader& in, Experts& e) {
  const auto groups = given(in, "n_group"), best = given(in, "topk_group");
  if (groups) e.groups = groups->positive_int(kMostExperts);
  if (best) e.groups_per_token = best->positive_int(kMostExperts);
  else e.groups_per_token = e.groups;
  if (e.count % e.groups != 0) groups->fail("must divide the experts, " + std::to_string(e.count));
  else if (e.groups_per_token > e.groups) best->fail("must be at most n_group, " + std::to_string(e.groups));
  else if (best && e.count / e.groups * e.groups_per_token < e.per_token)
    best->fail("these groups have fewer experts than a token needs, " + std::to_string(e.per_token));
}

double read_scale(const Reader& in, double otherwise) {
  const auto found = given(in, {"routed_scaling_factor", "router_scaling_factor"});
  return found ? found->number(1e-6, 1e6) : otherwise;
}

void every_layer(const Reader& in) {
  if (const auto step = given(in, "moe_layer_freq"); step && step->positive_int() != 1)
    step->fail("experts in only some of the layers are not modelled; must be 1");
}

}  // namespace

// "num_key_value_heads" repeats the heads.
void read_latent_sizes(const Reader& in, ConfigNetwork& s, std::string_view activation) {
  read_ungated(in, s);
  read_latent_heads(in, s, activation);
}

void read_latent_heads(const Reader& in, ConfigNetwork& s, std::string_view activation) {
  read_activation(in, "hidden_act", {activation});
  s.attention.heads.heads = s.attention.heads.kv_heads = needed(in, {"num_attention_heads"}, kMostColumns);
  LatentAttention l;
  if (const auto rank = given(in, "q_lora_rank")) l.q_rank = rank->positive_int(kMostColumns);
  l.kv_rank = needed(in, {"kv_lora_rank"}, kMostColumns);
  l.nope_dim = needed(in, {"qk_nope_head_dim"}, 1 << 14);
  l.rope_dim = in.at("qk_rope_head_dim").integer(0, 1 << 14);  // 0: no position (GLM-5.3-Flash)
  l.value_dim = needed(in, {"v_head_dim"}, 1 << 14);
  l.paired = flag(in, "rope_interleave", true);
  if (l.rope_dim % 2 != 0) in.at("qk_rope_head_dim").fail("must be even, because rope rotates pairs of columns");
  if (std::int64_t{s.attention.heads.heads} * (l.nope_dim + std::max(l.value_dim, l.rope_dim)) > kMostColumns ||
      std::int64_t{s.attention.heads.heads} * l.kv_rank > 16 * std::int64_t{kMostColumns})
    in.at("num_attention_heads").fail("all heads together are too wide");
  s.latent = l;
  s.attention.heads.head_dim = l.nope_dim + l.rope_dim;
  refuse(in, "attention_bias", kNoOutputBias);
  read_positions(in, 4096, s);
  read_epsilon(in, "rms_norm_eps", 1e-6, s);
  read_tied(in, false, s);
  // Scores grow with the stretched context: by the square of YaRN's factor.
  auto scaling = given(in, "rope_scaling");
  if (const auto newer = given(in, "rope_parameters")) scaling = newer;
  if (!s.attention.rope.scaling || s.attention.rope.scaling->kind != RopeScaling::Kind::yarn || !scaling) return;
  if (const auto of_all = given(*scaling, "mscale_all_dim")) {
    const double by = yarn_scale(s.attention.rope.scaling->factor, of_all->number(0, 1e6));
    s.attention.query_scale = by * by / std::sqrt(1.0 * s.attention.heads.head_dim);
  }
}

void read_latent(const Reader& in, ConfigNetwork& s, std::string_view activation) {
  read_latent_sizes(in, s, activation);
  if (s.attention.rope.growth) in.fail("latent attention with scaled queries (llama_4_scaling_beta) is not modelled");
}

void read_experts_everywhere(const Reader& in) {
  constexpr auto kWhy = "layers with and without experts in one model are not modelled; must be ";
  if (const auto step = given(in, "decoder_sparse_step"); step && step->positive_int() != 1)
    step->fail(std::string(kWhy) + "1");
  if (const auto dense = given(in, "mlp_only_layers"); dense && !dense->items().empty())
    dense->fail(std::string(kWhy) + "empty");
}

Experts read_experts(const Reader& in, const ExpertKeys& keys, int hidden) {
  Experts e;
  e.count = needed(in, {keys.count}, kMostExperts);
  e.per_token = needed(in, {keys.per_token}, kMostExperts);
  e.intermediate = needed(in, {keys.intermediate}, kMostColumns);
  e.normalise = flag(in, "norm_topk_prob", keys.normalise);
  if (e.per_token > e.count)
    in.at(keys.per_token).fail("must be at most " + std::string(keys.count) + ", " + std::to_string(e.count));
  if (too_many_rows(e, hidden)) in.at(keys.count).fail(kTooManyRows);
  return e;
}

void read_deepseek(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.kv_heads_may_lack = true, .positions = 2048, .epsilon = 1e-6}, s);
  refuse(in, "attention_bias", kNoOutputBias);
  if (!given(in, "n_routed_experts")) return;
  Experts e = read_experts(in, {.count = "n_routed_experts"}, s.whole.hidden);
  read_shared(in, e);
  first_layers_dense(in, s);
  every_layer(in);
  demand_word(in, "scoring_func", "softmax", "only experts with softmax scores are modelled");
  s.experts = e;
}

void read_deepseek_v2(const Reader& in, ConfigNetwork& s) {
  read_latent(in, s);
  Experts e = read_experts(in, {.count = "n_routed_experts"}, s.whole.hidden);
  read_shared(in, e);
  e.scale = read_scale(in, 1);
  refuse(in, "norm_topk_prob",
         "must be false, because DeepSeek's code and transformers scale normalised weights differently");
  demand_word(in, "scoring_func", "softmax", "only experts with softmax scores are modelled for this architecture");
  const auto method = given(in, "topk_method");
  const std::string word = method ? method->text() : "greedy";
  if (word == "group_limited_greedy") read_groups(in, e);
  else if (word != "greedy") method->fail("unknown; known: greedy, group_limited_greedy");
  first_layers_dense(in, s);
  every_layer(in);
  s.experts = e;
}

void read_experts_with_bias(const Reader& in, double scale, ConfigNetwork& s, int dense, const ExpertKeys& keys) {
  ExpertKeys all = keys;
  all.normalise = true;
  Experts e = read_experts(in, all, s.whole.hidden);
  read_shared(in, e);
  e.score = Experts::Score::sigmoid;
  e.choice_bias = true;
  e.scale = read_scale(in, scale);
  read_groups(in, e);
  first_layers_dense(in, s, dense);
  s.experts = e;
}

void read_deepseek_v3(const Reader& in, ConfigNetwork& s) {
  read_latent(in, s);
  read_experts_with_bias(in, 2.5, s);
  demand_word(in, "scoring_func", "sigmoid", "only experts with sigmoid scores are modelled for this architecture");
  demand_word(in, "topk_method", "noaux_tc",
              "only the choice with a bias (noaux_tc) is modelled for this architecture");
  every_layer(in);
}

// `paired`: unless the file says otherwise.
static void read_indexer(const Reader& in, bool paired, ConfigNetwork& s) {
  Indexer i;
  i.heads = needed(in, {"index_n_heads"}, 1 << 12);
  i.head_dim = needed(in, {"index_head_dim"}, 1 << 12);
  i.top_k = needed(in, {"index_topk"}, 1 << 16);
  i.paired = flag(in, "indexer_rope_interleave", paired);
  if (s.latent->q_rank == 0)
    in.at("q_lora_rank").fail("must be above 0, because an indexer reads the latent of the queries");
  if (!in.failed() && i.head_dim < s.latent->rope_dim)
    in.at("index_head_dim").fail("must be at least qk_rope_head_dim, " + std::to_string(s.latent->rope_dim));
  s.latent->indexer = i;
}

// Tells which layers share the choice of an indexer before them. The file has a word for each layer, or a letter (F or
// S), or it says that every so many layers, counted from an offset, one has an indexer of its own (transformers:
// GlmMoeDsaConfig; vLLM: the index cache of deepseek_v2.py).
static std::vector<bool> read_shared_choices(const Reader& in, int layers) {
  std::vector<bool> shares;
  const auto one_for_each = [&](const Reader& list, std::size_t size) {
    if (size != at(layers)) list.fail("must have one entry for each of the " + std::to_string(layers) + " layers");
    else if (shares.front()) list.fail("the first layer can't share an indexer's choice");
  };
  if (const auto types = given(in, "indexer_types")) {
    static constexpr std::array<std::string_view, 2> words{"full", "shared"};
    for (const Reader& type : types->items()) shares.push_back(type.word(words) == "shared");
    one_for_each(*types, shares.size());
  } else if (const auto pattern = given(in, "index_topk_pattern")) {
    const std::string letters = pattern->text();
    for (const char letter : letters) shares.push_back(letter == 'S');
    if (letters.find_first_not_of("FS") != std::string::npos)
      pattern->fail("may only contain the letters F (full) and S (shared)");
    else one_for_each(*pattern, shares.size());
  } else {
    const auto every = given(in, "index_topk_freq"), offset = given(in, "index_skip_topk_offset");
    const int of = every ? every->positive_int(kMostLayers) : 1, from = offset ? offset->integer(0, kMostLayers) : 2;
    if (every && !offset) in.note("lacks \"index_skip_topk_offset\": 2 is assumed");
    for (int i = 0; i < layers; ++i) shares.push_back(std::max(i - from + 1, 0) % of != 0);
    if (offset && layers > 0 && shares.front()) offset->fail("the first layer can't share an indexer's choice");
  }
  return shares;
}

static void read_sparse(const Reader& in, bool paired, ConfigNetwork& s) {
  read_deepseek_v3(in, s);
  read_choices(in, paired, s);
}

void read_choices(const Reader& in, bool paired, ConfigNetwork& s) {
  read_indexer(in, paired, s);
  const std::vector<bool> shares = read_shared_choices(in, s.layers);
  if (in.failed() || std::find(shares.begin(), shares.end(), true) == shares.end()) return;
  if (s.layer_kinds.empty()) s.layer_kinds.assign(shares.size(), {.experts = s.experts.has_value()});
  for (std::size_t i = 0; i < shares.size(); ++i) s.layer_kinds[i].shares_choice = shares[i];
}

void read_deepseek_v32(const Reader& in, ConfigNetwork& s) { read_sparse(in, false, s); }

void read_glm_moe_dsa(const Reader& in, ConfigNetwork& s) { read_sparse(in, true, s); }

void read_glm4_moe(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.positions = 131072, .epsilon = 1e-5, .head_dim = 128}, s);
  if (!given(in, "partial_rotary_factor") && s.rotary_share == 1) s.rotary_share = 0.5;
  s.attention.qkv_bias = flag(in, "attention_bias", false);
  if (flag(in, "use_qk_norm", false)) s.attention.qk_norm = QkNorm::each_head;
  read_experts_with_bias(in, 1, s);
}

void read_glm4_moe_lite(const Reader& in, ConfigNetwork& s) {
  read_latent(in, s);
  read_experts_with_bias(in, 1.8, s, 1);
}

void read_hy_v3(const Reader& in, ConfigNetwork& s) {
  read_like_llama(
      in, {.positions = 131072, .epsilon = 1e-5, .head_dim = 128, .theta = 11158840, .qk_norm = QkNorm::each_head}, s);
  read_biases(in, s);
  refuse(in, "mlp_bias", "a bias in the MLP is not modelled");
  read_experts_with_bias(in, 2.826, s, 1, {.count = "num_experts"});
}

void read_dots1(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.kv_heads_may_lack = true, .positions = 2048, .epsilon = 1e-6, .qk_norm = QkNorm::each_head}, s);
  read_biases(in, s);
  read_experts_with_bias(in, 1, s);
  s.experts->normalise = flag(in, "norm_topk_prob", false);
  const auto first = given(in, "max_window_layers");
  const int full = first ? first->integer(0, kMostLayers) : 62;
  read_layer_types(
      in, AttentionKind::sliding, read_window(in, 4096), [full](int layer) { return layer >= full; }, s);
}

void read_minimax_m2(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.positions = 196608, .epsilon = 1e-6, .head_dim = 128}, s);
  if (const auto rotary = given(in, "rotary_dim"))
    s.rotary_share = 1.0 * rotary->integer(2, std::max(2, s.attention.heads.head_dim)) / s.attention.heads.head_dim;
  if (flag(in, "use_qk_norm", true)) s.attention.qk_norm = QkNorm::all_heads;
  demand_word(in, "qk_norm_type", "per_layer",
              "only norms over all heads (per_layer) are modelled for this architecture");
  Experts e = read_experts(in, {.count = "num_local_experts", .intermediate = "intermediate_size", .normalise = true},
                           s.whole.hidden);
  e.score = Experts::Score::sigmoid;
  e.router_fp32 = true;  // vLLM 0.19, models/minimax_m2.py: params_dtype of the gate
  demand_word(in, "scoring_func", "sigmoid", "only experts with sigmoid scores are modelled for this architecture");
  e.choice_bias = flag(in, "use_routing_bias", true);
  if (const auto shared = given(in, "shared_intermediate_size"); shared && shared->integer(0, kMostColumns) != 0)
    shared->fail("must be 0: shared experts are not modelled for this architecture");
  if (const auto types = given(in, "attn_type_list"))
    for (const Reader& type : types->items())
      if (type.integer(0, 1) != 1) return type.fail("layers of linear attention are not modelled; must be 1");
  if (const auto dense = given(in, "mlp_intermediate_size"))  // no layer has it, but drafters are built like one
    s.whole.intermediate = dense->positive_int(kMostColumns);
  s.experts = e;
}

void read_mixtral(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.positions = 131072, .epsilon = 1e-5}, s);
  s.experts = read_experts(in, {.count = "num_local_experts", .intermediate = "intermediate_size", .normalise = true},
                           s.whole.hidden);
  read_sliding_window(in, {}, s);
}

}  // namespace draftline::config
