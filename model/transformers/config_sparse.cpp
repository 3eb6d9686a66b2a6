// SPDX-License-Identifier: Apache-2.0
// Networks whose attention chooses what it reads, beyond DeepSeek-V3.2: DeepSeek-V4, MiniMax-M3 and GLM-5.3-Flash. Keys
// and their defaults are those of DeepseekV4Config, MiniMaxM3VLTextConfig and Glm5NextTextConfig (transformers 5.24).
#include <algorithm>
#include <array>

#include "core/int_indexed.h"
#include "model/transformers/config_experts.h"
#include "model/transformers/config_families.h"

namespace draftline::config {

namespace {

int positive_or(const Reader& in, std::string_view key, int otherwise, int most = kMostColumns) {
  const auto found = given(in, key);
  return found ? found->positive_int(most) : otherwise;
}

// Residual streams, which are mixed around each sublayer.
void read_streams(const Reader& in, ConfigNetwork& s) {
  s.base.streams = positive_or(in, "hc_mult", 4, 64);
  if (const auto steps = given(in, "hc_sinkhorn_iters"))
    steps->integer(0, 1 << 10);  // of a matrix of 4 x 4: costs nothing
}

// ---- DeepSeek-V4

// Of a layer: the tokens of an entry, 0 if it has the window alone, and whether an indexer chooses entries.
struct Compression {
  int tokens = 0;
  bool chosen = false;
};
constexpr std::array<std::string_view, 3> kCompressions{"sliding_attention", "compressed_sparse_attention",
                                                        "heavily_compressed_attention"};

// Files have a number for each layer, and further ones for their MTP modules, or a word.
std::vector<Compression> read_compressions(const Reader& in, int layers) {
  const auto rates = given(in, "compress_rates");
  const auto rate = [&](std::string_view key, int otherwise) {
    const int value = rates ? positive_or(*rates, key, otherwise) : otherwise;
    if (value < 2) rates->fail("an entry must have at least 2 tokens");
    return value;
  };
  const std::array<Compression, 3> of_word{
      Compression{}, {rate(kCompressions[1], 4), true}, {rate(kCompressions[2], 128), false}};
  std::vector<Compression> all;
  if (const auto ratios = given(in, "compress_ratios")) {
    for (const Reader& ratio : ratios->items()) {
      const int tokens = ratio.integer(0, 1 << 16);
      const auto known = std::ranges::find(of_word, tokens, &Compression::tokens);
      if (known != of_word.end()) all.push_back(*known);
      else ratio.fail("must be 0, " + std::to_string(of_word[1].tokens) + " or " + std::to_string(of_word[2].tokens));
    }
    if (count(all) < layers) ratios->fail("must have a number for each of the " + std::to_string(layers) + " layers");
    all.resize(at(layers));
    return all;
  }
  const Reader types = in.at("layer_types");
  for (const Reader& type : types.items())
    all.push_back(of_word.at(at(std::ranges::find(kCompressions, type.word(kCompressions)) - kCompressions.begin())));
  if (!in.failed() && count(all) != layers)
    types.fail("must have a word for each of the " + std::to_string(layers) + " layers");
  return all;
}

CompressedAttention read_compressed(const Reader& in, const ConfigNetwork& s) {
  CompressedAttention a{.heads = s.attention.heads.heads,
                        .head_dim = s.attention.heads.head_dim,
                        .window = needed(in, {"sliding_window"}, kMostPositions),
                        .q_rank = needed(in, {"q_lora_rank"}, kMostColumns),
                        .output_groups = needed(in, {"o_groups"}, 1 << 12),
                        .output_rank = needed(in, {"o_lora_rank"}, kMostColumns >> 4)};
  Indexer i{.heads = needed(in, {"index_n_heads"}, 1 << 12),
            .head_dim = needed(in, {"index_head_dim"}, 1 << 12),
            .top_k = needed(in, {"index_topk"}, 1 << 16)};
  a.indexer = i;
  if (a.heads % a.output_groups != 0) in.at("o_groups").fail("must divide the " + std::to_string(a.heads) + " heads");
  if (1.0 * a.output_groups * a.output_rank > kMostColumns) in.at("o_lora_rank").fail("is too large for its groups");
  if (1.0 * i.heads * i.head_dim > kMostColumns) in.at("index_n_heads").fail("together are too wide");
  return a;
}

// The first layers choose their experts by the token, from a table.
void note_hashed(const Reader& in, ConfigNetwork& s) {
  const auto hashed = given(in, "num_hash_layers");
  if (hashed && hashed->integer(0, kMostLayers) > 0)
    note_unpriced(
        *hashed, s,
        "the first layers choose experts by a table of tokens, which is not counted: they are priced as if they "
        "chose by scores");
}

}  // namespace

void read_deepseek_v4(const Reader& in, ConfigNetwork& s) {
  s.whole.hidden = needed(in, {"hidden_size"}, kMostColumns);
  s.layers = needed(in, {"num_hidden_layers"}, kMostLayers);
  s.whole.vocabulary = needed(in, {"vocab_size"}, kMostVocabulary);
  read_activation(in, "hidden_act", {"silu"});
  read_heads(in, s, false);
  if (!in.failed() && s.attention.heads.kv_heads != 1)
    in.at("num_key_value_heads").fail("must be 1: all heads share a key");
  read_head_dim(in, s, "head_dim", 512);
  refuse(in, "attention_bias", kNoOutputBias);
  refuse(in, "mlp_bias", "a bias in the MLP is not modelled");
  read_positions(in, 1 << 20, s);
  read_epsilon(in, "rms_norm_eps", 1e-6, s);
  read_tied(in, false, s);
  if (const auto rotated = given(in, "qk_rope_head_dim")) rotated->positive_int(1 << 14);
  read_experts_with_bias(in, 1.5, s);
  demand_word(in, "scoring_func", "sqrtsoftplus", "only experts with such scores (sqrtsoftplus) are modelled");
  demand_word(in, "topk_method", "noaux_tc", "only the choice with a bias (noaux_tc) is modelled");
  read_streams(in, s);
  s.compressed = read_compressed(in, s);
  if (in.failed()) return;
  s.whole.intermediate = s.experts->per_token * s.experts->intermediate + s.experts->shared;  // of drafters
  for (const Compression& c : read_compressions(in, s.layers))
    s.layer_kinds.push_back(
        {.attention = AttentionKind::compressed, .experts = true, .chosen_entries = c.chosen, .compression = c.tokens});
  s.mtp_layer = LayerKind{.attention = AttentionKind::compressed, .experts = true};
  note_hashed(in, s);
}

// ---- MiniMax-M3

namespace {

// Whether each layer has it, by a list of zeros and ones.
std::vector<bool> read_each(const Reader& list, int layers) {
  std::vector<bool> all;
  for (const Reader& one : list.items()) all.push_back(one.integer(0, 1) == 1);
  if (count(all) != layers) list.fail("must have an entry for each of the " + std::to_string(layers) + " layers");
  return all;
}

std::vector<bool> read_words(const Reader& list, std::array<std::string_view, 2> words, int layers) {
  std::vector<bool> all;
  for (const Reader& one : list.items()) all.push_back(one.word(words) == words[1]);
  if (count(all) != layers) list.fail("must have a word for each of the " + std::to_string(layers) + " layers");
  return all;
}

// The older files have an object of their own for it.
BlockIndexer read_blocks(const Reader& in, const std::optional<Reader>& object) {
  const auto size = [&](std::string_view older, std::string_view key, int otherwise) {
    if (object)
      if (const auto found = given(*object, older)) return found->positive_int(1 << 16);
    return positive_or(in, key, otherwise, 1 << 16);
  };
  const BlockIndexer b{.heads = size("sparse_num_index_heads", "index_n_heads", 4),
                       .head_dim = size("sparse_index_dim", "index_head_dim", 128),
                       .block = size("sparse_block_size", "index_block_size", 128),
                       .top_k = size("sparse_topk_blocks", "index_topk_blocks", 16)};
  if (1.0 * b.block * b.top_k > kMostPositions || 1.0 * (b.heads + 1) * b.head_dim > kMostColumns)
    in.fail("the sizes of its chosen blocks are out of range");
  return b;
}

void set_attention_of_layers(const Reader& in, const std::optional<Reader>& object, ConfigNetwork& s) {
  std::vector<bool> sparse(at(s.layers), false);
  if (const auto types = given(in, "layer_types"))
    sparse = read_words(*types, {"full_attention", "minimax_m3_sparse"}, s.layers);
  else if (object)
    if (const auto each = given(*object, "sparse_attention_freq")) sparse = read_each(*each, s.layers);
  const bool stated = given(in, "layer_types") || (object && given(*object, "sparse_attention_freq"));
  if (!stated) in.note("lacks \"sparse_attention_freq\": no layer chooses blocks, all attend to the whole text");
  if (in.failed()) return;
  for (std::size_t i = 0; i < sparse.size(); ++i)
    if (sparse[i]) s.layer_kinds[i].attention = AttentionKind::blocks;
}

}  // namespace

void read_minimax_m3(const Reader& in, ConfigNetwork& s) {
  s.whole.hidden = needed(in, {"hidden_size"}, kMostColumns);
  s.layers = needed(in, {"num_hidden_layers"}, kMostLayers);
  s.whole.vocabulary = needed(in, {"vocab_size"}, kMostVocabulary);
  s.whole.intermediate = needed(in, {"dense_intermediate_size"}, kMostColumns);
  read_activation(in, "hidden_act", {"silu", "swigluoai"});
  read_heads(in, s, false);
  read_head_dim(in, s, "head_dim", 128);
  read_rope(in, s);
  if (const auto rotated = given(in, "rotary_dim"))
    s.rotary_share = 1.0 * rotated->integer(2, std::max(2, s.attention.heads.head_dim)) / s.attention.heads.head_dim;
  read_positions(in, 524288, s);
  read_epsilon(in, "rms_norm_eps", 1e-6, s);
  read_tied(in, false, s);
  refuse(in, "attention_output_gate", "a gate on the attention's output is not modelled for this architecture");
  if (flag(in, "use_qk_norm", true)) s.attention.qk_norm = QkNorm::each_head;
  demand_word(in, "qk_norm_type", "per_head", "only norms of each head (per_head) are modelled for this architecture");
  const bool named = given(in, "moe_intermediate_size").has_value();
  Experts e = read_experts(in,
                           {.count = "num_local_experts",
                            .intermediate = named ? "moe_intermediate_size" : "intermediate_size",
                            .normalise = true},
                           s.whole.hidden);
  e.score = Experts::Score::sigmoid;
  demand_word(in, "scoring_func", "sigmoid", "only experts with sigmoid scores are modelled for this architecture");
  e.choice_bias = flag(in, "use_routing_bias", true);
  if (const auto scale = given(in, "routed_scaling_factor")) e.scale = scale->number(1e-6, 1e6);
  e.shared =
      positive_or(in, "n_shared_experts", 1, 64) * positive_or(in, "shared_intermediate_size", 3072, kMostColumns >> 6);
  s.experts = e;
  if (in.failed()) return;
  std::vector<bool> experts(at(s.layers), true);
  if (const auto types = given(in, "mlp_layer_types")) experts = read_words(*types, {"dense", "sparse"}, s.layers);
  else if (const auto each = given(in, "moe_layer_freq")) experts = read_each(*each, s.layers);
  else if (const auto dense = given(in, "first_k_dense_replace"))
    std::fill_n(experts.begin(), dense->integer(0, s.layers), false);
  for (const bool each : experts) s.layer_kinds.push_back({.experts = each});
  const auto object = given(in, "sparse_attention_config");
  s.attention.blocks = read_blocks(in, object);
  set_attention_of_layers(in, object, s);
  // Modules have layers of their own, one after another.
  if (const auto modules = given(in, "num_mtp_modules")) s.whole.mtp_modules = modules->integer(0, 64);
}

// ---- GLM-5.3-Flash

void read_glm5_next(const Reader& in, ConfigNetwork& s) {
  read_latent(in, s);
  read_experts_with_bias(in, 2.5, s, 3);
  if (in.failed()) return;
  demand_word(in, "scoring_func", "sigmoid", "only experts with sigmoid scores are modelled for this architecture");
  const auto object = given(in, "linear_attn_config");
  const auto size = [&](std::string_view within, std::string_view key, int otherwise) {
    if (object)
      if (const auto found = given(*object, within)) return found->positive_int(1 << 12);
    return positive_or(in, key, otherwise, 1 << 12);
  };
  const int heads = size("num_heads", "linear_num_heads", 64), columns = size("head_dim", "linear_head_dim", 128);
  s.delta_net = DeltaNet{.key_heads = heads,
                         .value_heads = heads,
                         .key_dim = columns,
                         .value_dim = columns,
                         .kernel = size("short_conv_kernel_size", "linear_conv_kernel_dim", 4),
                         .state = DType::fp32,
                         .column_gates = DeltaNet::ColumnGates{.rank = columns}};
  if (s.layer_kinds.empty()) s.layer_kinds.assign(at(s.layers), LayerKind{.experts = true});
  std::vector<bool> attends;
  if (const auto types = given(in, "layer_types")) {
    static constexpr std::array<std::string_view, 3> words{"linear_attention", "indexed_attention", "full_attention"};
    for (const Reader& type : types->items()) attends.push_back(type.word(words) != words[0]);
    if (!one_for_each_layer(*types, count(attends), s)) return;
  } else {
    for (int i = 0; i < s.layers; ++i) attends.push_back(i % 4 == 3);
  }
  read_streams(in, s);
  read_choices(in, true, s);
  if (in.failed()) return;
  for (std::size_t i = 0; i < attends.size(); ++i)
    if (!attends[i]) s.layer_kinds[i].attention = AttentionKind::delta_net, s.layer_kinds[i].shares_choice = false;
  s.latent->indexer->pool = positive_or(in, "index_kpool", 16, 1 << 10);
}

}  // namespace draftline::config
