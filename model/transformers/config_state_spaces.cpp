// SPDX-License-Identifier: Apache-2.0
// Networks with selective state spaces (Mamba-2, and Mamba-1 in Jamba). Keys and their defaults are those of
// NemotronHConfig of the published repositories, and of GraniteMoeHybridConfig, FalconH1Config and JambaConfig
// (transformers 4.57; the names of kinds of layers: 5.23 too).
#include <algorithm>
#include <array>

#include "core/int_indexed.h"
#include "model/transformers/config_experts.h"
#include "model/transformers/config_families.h"

namespace draftline::config {

namespace {

// Names of the keys that each family gives to the same sizes.
struct MambaKeys {
  std::string_view heads, head_dim, groups, state, kernel, chunk, convolution_bias, bias;
  int default_groups = 1;
};

// Of Bamba, from which Granite 4 and Falcon-H1 descend.
constexpr MambaKeys kBambaKeys{.heads = "mamba_n_heads",
                               .head_dim = "mamba_d_head",
                               .groups = "mamba_n_groups",
                               .state = "mamba_d_state",
                               .kernel = "mamba_d_conv",
                               .chunk = "mamba_chunk_size",
                               .convolution_bias = "mamba_conv_bias",
                               .bias = "mamba_proj_bias"};

int size_or(const Reader& in, std::string_view key, int otherwise) {
  const auto found = given(in, key);
  return found ? found->positive_int(kMostColumns) : otherwise;
}

void check_sizes(const Reader& in, const Mamba2& m) {
  if (m.heads % m.groups != 0)
    in.fail("the " + std::to_string(m.heads) + " heads of its state spaces are not a multiple of their " +
            std::to_string(m.groups) + " groups");
  const auto too_many = [](double a, double b) { return a * b > kMostColumns; };
  if (too_many(m.heads, m.head_dim) || too_many(2.0 * m.groups, m.state_dim) || too_many(m.head_dim, m.state_dim) ||
      m.kernel < 2)
    in.fail("the sizes of its state spaces are out of range");
}

// JsonDialect::python reads Infinity as a text; transformers 5 writes an object, {"__float__": "Infinity"}.
bool is_infinite(const Reader& in) {
  const Reader text = in.is_object() ? in.at("__float__") : in;
  return text.is_string() && text.text() == "Infinity";
}

// The kernels of engines limit the steps of prompts alone, so that no finite limit means the same in every pass.
void read_step_limit(const Reader& in) {
  const auto limit = given(in, "time_step_limit");
  if (!limit) return;
  const auto ends = limit->items();
  if (ends.size() != 2 || ends[0].number() != 0 || !is_infinite(ends[1]))
    limit->fail("a limit of the steps other than from 0 to infinity is not modelled");
}

Mamba2 read_mamba(const Reader& in, const MambaKeys& keys) {
  Mamba2 m{.heads = needed(in, {keys.heads}, 1 << 14),
           .head_dim = needed(in, {keys.head_dim}, 1 << 14),
           .groups = size_or(in, keys.groups, keys.default_groups),
           .state_dim = needed(in, {keys.state}, 1 << 14),
           .kernel = size_or(in, keys.kernel, 4),
           .chunk = size_or(in, keys.chunk, 256),
           .convolution_bias = flag(in, keys.convolution_bias, true)};
  refuse(in, keys.bias, "a bias in the matrices of state spaces is not modelled");
  read_step_limit(in);
  if (const auto state = given(in, "mamba_ssm_cache_dtype")) {
    static constexpr std::array<std::string_view, 3> words{"float32", "bfloat16", "float16"};
    if (state->word(words) == "float32") m.state = DType::fp32;
  }
  if (!in.failed()) check_sizes(in, m);
  return m;
}

// The name of a kind of layer before transformers 5.23.
std::string_view older_kind(std::string_view kind) {
  if (kind == "linear_attention") return "mamba";
  return kind == "full_attention" ? "attention" : kind;
}

// ---- Nemotron-H, Nemotron-3: each layer is one sublayer

// The kinds of layers: a letter for each (M, *, -, E), or a word.
std::vector<LayerKind> read_sublayers(const Reader& in) {
  const LayerKind attention{.rope = false, .mlp = false}, experts{.attention = AttentionKind::none, .experts = true},
      state_space{.attention = AttentionKind::mamba, .mlp = false}, dense{.attention = AttentionKind::none};
  std::vector<LayerKind> kinds;
  if (const auto words = given(in, "layers_block_type")) {
    static constexpr std::array<std::string_view, 6> known{"mamba", "attention",        "mlp",
                                                           "moe",   "linear_attention", "full_attention"};
    for (const Reader& each : words->items()) {
      const std::string_view word = older_kind(each.word(known));
      kinds.push_back(word == "mamba"       ? state_space
                      : word == "attention" ? attention
                      : word == "moe"       ? experts
                                            : dense);
    }
    return kinds;
  }
  const Reader pattern = in.at("hybrid_override_pattern");
  for (const char letter : pattern.text()) {
    if (letter == 'M') kinds.push_back(state_space);
    else if (letter == '*') kinds.push_back(attention);
    else if (letter == 'E') kinds.push_back(experts);
    else if (letter == '-') kinds.push_back(dense);
    else {
      pattern.fail("may only contain the letters M (state space), * (attention), - (MLP) and E (experts)");
      break;
    }
  }
  return kinds;
}

bool any_experts(const std::vector<LayerKind>& kinds) {
  return std::any_of(kinds.begin(), kinds.end(), [](const LayerKind& k) { return k.experts; });
}

// The file has one size, or a list of one.
int read_intermediate(const Reader& in) {
  const auto found = given(in, "intermediate_size");
  if (!found || !found->is_array()) return needed(in, {"intermediate_size"}, kMostColumns);
  const auto all = found->items();
  if (all.size() != 1) {
    found->fail("MLPs of unlike widths are not modelled for this architecture");
    return 0;
  }
  return all.front().positive_int(kMostColumns);
}

void read_nemotron_experts(const Reader& in, ConfigNetwork& s) {
  read_experts_with_bias(in, 1, s);
  if (in.failed()) return;
  const auto shared = given(in, "n_shared_experts");
  const int count = shared ? shared->integer(0, 1 << 10) : 1;
  const int columns = needed(in, {"moe_shared_expert_intermediate_size"}, kMostColumns);
  if (std::int64_t{count} * columns > kMostColumns) shared->fail("are too many");
  else s.experts->shared = count * columns;
  s.experts->latent = size_or(in, "moe_latent_size", 0);
}

// Sizes of experts, which transformers writes for a network without them too.
void pass_over_experts(const Reader& in) {
  for (const char* size : {"n_routed_experts", "n_shared_experts", "num_experts_per_tok", "moe_intermediate_size",
                           "moe_shared_expert_intermediate_size", "moe_latent_size", "routed_scaling_factor"})
    in.find(size);
}

// ---- Granite 4

std::vector<LayerKind> read_granite_layers(const Reader& in, const ConfigNetwork& s) {
  const auto position = given(in, "position_embedding_type");
  const bool rope = position && position->text() == "rope", experts = s.experts.has_value();
  const Reader types = in.at(in.has("layers_block_type") ? "layers_block_type" : "layer_types");
  static constexpr std::array<std::string_view, 5> known{"multihead_latent_attention", "mamba", "attention",
                                                         "linear_attention", "full_attention"};
  std::vector<LayerKind> kinds;
  for (const Reader& type : types.items()) {
    const std::string_view word = older_kind(type.word(known));
    if (word == known[0]) type.fail("is not modelled for this architecture; modelled: mamba, attention");
    kinds.push_back(
        {.attention = word == "mamba" ? AttentionKind::mamba : AttentionKind::full, .experts = experts, .rope = rope});
  }
  one_for_each_layer(types, count(kinds), s);
  return kinds;
}

constexpr double kMostFactor = 1e9;
double factor(const Reader& in, std::string_view key) {
  const auto found = given(in, key);
  return found ? found->number(1e-9, kMostFactor) : 1;
}

// ---- Falcon-H1

template <std::size_t N>
std::array<double, N> factors(const Reader& in, std::string_view key) {
  std::array<double, N> all;
  all.fill(1);
  const auto found = given(in, key);
  if (!found) return all;
  const std::vector<double> numbers = found->numbers(1e-9, kMostFactor);
  if (numbers.size() == N) std::ranges::copy(numbers, all.begin());
  else found->fail("must be " + std::to_string(N) + " numbers");
  return all;
}

MatrixFactors read_falcon_factors(const Reader& in) {
  const auto [gate, down] = factors<2>(in, "mlp_multipliers");
  MatrixFactors all{.qkv = factor(in, "attention_in_multiplier"),
                    .keys = factor(in, "key_multiplier"),
                    .gate = gate,
                    .mamba_in = factors<5>(in, "ssm_multipliers"),
                    .o = factor(in, "attention_out_multiplier"),
                    .mamba_out = factor(in, "ssm_out_multiplier"),
                    .down = down};
  for (double& each : all.mamba_in) each *= factor(in, "ssm_in_multiplier");
  return all;
}

}  // namespace

void read_nemotron_h(const Reader& in, ConfigNetwork& s) {
  s.whole.hidden = needed(in, {"hidden_size"}, kMostColumns);
  s.whole.vocabulary = needed(in, {"vocab_size"}, kMostVocabulary);
  s.whole.intermediate = read_intermediate(in);
  read_heads(in, s, true);
  read_head_dim(in, s, in.has("attention_head_dim") ? "attention_head_dim" : "head_dim", 128);
  read_positions(in, 4096, s);
  read_epsilon(in, "layer_norm_epsilon", 1e-5, s);
  read_tied(in, false, s);
  read_activation(in, "mlp_hidden_act", {"relu2"});
  read_activation(in, "mamba_hidden_act", {"silu"});
  s.mlp = MlpKind::squared_relu;
  for (const char* bias : {"attention_bias", "mlp_bias", "use_bias"})
    refuse(in, bias, "a bias in the linear layers is not modelled for this architecture");
  s.mamba = read_mamba(in, {.heads = "mamba_num_heads",
                            .head_dim = "mamba_head_dim",
                            .groups = "n_groups",
                            .state = "ssm_state_size",
                            .kernel = "conv_kernel",
                            .chunk = "chunk_size",
                            .convolution_bias = "use_conv_bias",
                            .bias = "mamba_proj_bias",
                            .default_groups = 8});
  if (const auto least = given(in, "time_step_min"); least && least->number() > 0)
    s.whole.notes.push_back("time_step_min limits no step, as in vLLM; transformers 5 limits those of prompts by it");
  if (const auto window = given(in, "sliding_window")) window->fail("a window is not modelled for this architecture");
  if (const auto other = given(in, "norm_eps"); other && other->number() != s.whole.norm_epsilon)
    s.whole.notes.push_back("norm_eps is not used: all norms have layer_norm_epsilon");
  const std::vector<LayerKind> kinds = read_sublayers(in);
  if (in.failed()) return;
  s.layers = count(kinds);
  if (const auto layers = given(in, "num_hidden_layers"); layers && layers->positive_int(kMostLayers) != s.layers)
    layers->fail("must be the number of kinds of layers, " + std::to_string(s.layers));
  if (any_experts(kinds)) read_nemotron_experts(in, s);
  else pass_over_experts(in);
  s.layer_kinds = kinds;
  s.mtp_layer = LayerKind{.experts = s.experts.has_value(), .rope = false};
  if (const auto mtp = given(in, "mtp_hybrid_override_pattern"); mtp && mtp->text() != "*E")
    mtp->fail("only MTP modules of attention and experts (*E) are modelled");
  if (const auto mtp = given(in, "mtp_layers_block_type")) {
    const auto words = mtp->items();
    if (words.size() != 2 || older_kind(words[0].text()) != "attention" || words[1].text() != "moe")
      mtp->fail("only MTP modules of attention and experts are modelled");
  }
}

void read_granite_hybrid(const Reader& in, ConfigNetwork& s) {
  read_gated(in, s);
  read_heads(in, s, true);
  read_head_dim(in, s);
  read_positions(in, 2048, s);
  read_epsilon(in, "rms_norm_eps", 1e-6, s);
  read_tied(in, false, s);
  refuse(in, "attention_bias", "a bias in the attention is not modelled for this architecture");
  s.attention.query_scale = factor(in, "attention_multiplier");
  s.whole.embedding_scale = factor(in, "embedding_multiplier");
  s.whole.logit_factor = 1 / factor(in, "logits_scaling");
  const double results = factor(in, "residual_multiplier");
  s.base.factors = {.o = results, .mamba_out = results, .down = results};
  s.mamba = read_mamba(in, kBambaKeys);
  const int shared = needed(in, {"shared_intermediate_size"}, kMostColumns);
  const auto experts = given(in, "num_local_experts");
  if (experts && experts->integer(0, 1 << 16) > 0) {
    Experts e = read_experts(in, {.count = "num_local_experts", .intermediate = "intermediate_size", .normalise = true},
                             s.whole.hidden);
    e.score = Experts::Score::softmax_of_chosen;
    e.shared = shared;
    s.experts = e;
  } else {
    s.whole.intermediate = shared;
    in.find("num_experts_per_tok");  // which transformers writes all the same
  }
  if (!in.failed()) s.layer_kinds = read_granite_layers(in, s);
}

void read_falcon_h1(const Reader& in, ConfigNetwork& s) {
  read_like_llama(in, {.kv_heads_may_lack = true, .positions = 8192, .epsilon = 1e-5, .theta = 1e11}, s);
  for (const char* bias : {"attention_bias", "mlp_bias", "projectors_bias"})
    refuse(in, bias, "a bias in the linear layers is not modelled for this architecture");
  demand(in, "mamba_use_mlp", true, "layers without an MLP are not modelled for this architecture");
  if (given(in, "attn_layer_indices"))
    in.at("attn_layer_indices").fail("attention in some layers alone is not modelled for this architecture");
  Mamba2 m = read_mamba(in, kBambaKeys);
  m.norm = flag(in, "mamba_rms_norm", false);
  m.norm_before_gate = flag(in, "mamba_norm_before_gate", true) && m.norm;
  if (const auto columns = given(in, "mamba_d_ssm"); columns && columns->positive_int(kMostColumns) != m.columns())
    columns->fail("must be the columns of all heads of its state spaces, " + std::to_string(m.columns()));
  s.mamba = m;
  s.whole.embedding_scale = factor(in, "embedding_multiplier");
  s.whole.logit_factor = factor(in, "lm_head_multiplier");
  s.base.factors = read_falcon_factors(in);
  s.layer_kinds.assign(at(std::max(s.layers, 0)), LayerKind{.attention = AttentionKind::beside_mamba});
}

// One layer of each period attends, one of each other period has experts.
void read_jamba(const Reader& in, ConfigNetwork& s) {
  read_gated(in, s);
  read_heads(in, s, true);
  read_head_dim(in, s);
  read_positions(in, 262144, s);
  read_epsilon(in, "rms_norm_eps", 1e-6, s);
  read_tied(in, false, s);
  refuse(in, "mamba_proj_bias", "a bias in the matrices of state spaces is not modelled");
  const auto rank = given(in, "mamba_dt_rank");  // a number, or "auto"
  const bool stated = rank && !rank->is_string();
  const int expand = size_or(in, "mamba_expand", 2);
  Mamba1 m{.columns = s.whole.hidden,
           .state_dim = size_or(in, "mamba_d_state", 16),
           .step_rank = stated ? rank->positive_int(kMostColumns) : (s.whole.hidden + 15) / 16,
           .kernel = size_or(in, "mamba_d_conv", 4),
           .norms = true,
           .convolution_bias = flag(in, "mamba_conv_bias", true)};
  if (in.failed()) return;
  if (1.0 * m.columns * expand > kMostColumns || 1.0 * m.columns * m.state_dim * expand > 16.0 * kMostColumns ||
      m.kernel < 2)
    return in.fail("the sizes of its state spaces are out of range");
  m.columns *= expand;
  s.mamba1 = m;
  if (const auto experts = given(in, "num_experts"); !experts || experts->integer(1, 1 << 16) > 1)
    s.experts = read_experts(in, {.count = "num_experts", .intermediate = "intermediate_size"}, s.whole.hidden);
  const int period = size_or(in, "attn_layer_period", 8), expert_period = size_or(in, "expert_layer_period", 2);
  const auto first = [&](std::string_view key, int otherwise, int most) {
    const auto found = given(in, key);
    return found ? found->integer(0, most - 1) : otherwise;
  };
  const int attends = first("attn_layer_offset", 4, period), experts = first("expert_layer_offset", 1, expert_period);
  for (int i = 0; i < s.layers; ++i)
    s.layer_kinds.push_back({.attention = i % period == attends ? AttentionKind::full : AttentionKind::mamba,
                             .experts = s.experts && i % expert_period == experts,
                             .rope = false});
}

}  // namespace draftline::config
