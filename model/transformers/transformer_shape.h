// SPDX-License-Identifier: Apache-2.0
// The shape of a decoder-only transformer, read from a Hugging Face config.json.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/reader.h"
#include "model/transformers/parallelism.h"
#include "model/transformers/precision.h"

namespace draftline {

enum class NormKind { rms, layer };  // layer: with bias
// Where the norms of a sublayer stand: before it (Llama), behind it (OLMo 2, EXAONE 4), or before and behind it (Gemma
// 3). What is behind it normalises what it adds to the residual stream.
enum class NormPlacement { before, behind, both };
// RMSNorm of queries and of keys before rope: over each head (Qwen3), or over all heads at once (MiniMax-M2).
enum class QkNorm { none, each_head, all_heads };
// gelu: two matrices, no gate. gated_gelu: by the tanh formula (Gemma). clamped_swiglu: gpt-oss.
enum class MlpKind { gated_silu, gelu, gated_gelu, clamped_swiglu };

// The heads of a layer's attention.
struct AttentionHeads {
  int heads = 0, kv_heads = 0;
  int head_dim = 0, value_dim = 0;  // columns of a query and of a key; of a value and of a result
  bool values_are_keys = false;     // before norms and rope: one matrix gives both (Gemma 4)
  int q_columns() const { return heads * head_dim; }
  int k_columns() const { return kv_heads * head_dim; }
  int v_columns() const { return kv_heads * value_dim; }
  int result_columns() const { return heads * value_dim; }
  int projected_columns() const { return q_columns() + k_columns() + (values_are_keys ? 0 : v_columns()); }
  bool operator==(const AttentionHeads&) const = default;
};

// Which layers have a learned score in each head's softmax that attends to nothing: all (gpt-oss), or those with a
// sliding window (MiMo-V2).
enum class Sinks { none, windowed, all };

// What a layer's attention sees of the text up to a token.
enum class AttentionKind {
  full,
  sliding,   // the last `window` tokens, this one included
  chunked,   // of its own chunk of `window` tokens, those up to this one (Llama 4)
  delta_net  // a state of fixed size instead of keys and values (Qwen3-Next)
};

struct LayerKind {  // how a layer differs from others of its network
  AttentionKind attention = AttentionKind::full;
  bool experts = false;  // whether its MLP is the mixture of experts
  bool rope = true;      // whether queries and keys are rotated
  // Sparse attention without an indexer of its own: it reads the tokens that the last indexer before it chose (GLM-5.2,
  // vLLM's IndexCache).
  bool shares_choice = false;
  bool operator==(const LayerKind&) const = default;
};

struct Experts {  // a mixture-of-experts MLP
  enum class Score { softmax, sigmoid, softmax_of_chosen };
  int count = 0, per_token = 0, intermediate = 0;
  bool normalise = true;                 // the chosen experts' weights sum to 1
  int shared = 0;                        // columns of an MLP beside them that every token passes
  bool shared_gate = false;              // what comes out of that MLP is multiplied by a gate of the token (Qwen3-Next)
  Score score = Score::softmax;          // softmax_of_chosen: over the chosen alone (gpt-oss)
  bool choice_bias = false;              // a bias on the scores that decides the choice, not the weights (DeepSeek-V3)
  int groups = 1, groups_per_token = 1;  // a token's experts lie within its best groups (DeepSeek-V2)
  double scale = 1;                      // of the chosen experts' sum
  bool weighs_inputs = false;            // the weight multiplies what an expert reads, not what it writes (Llama 4)
  bool bias = false;                     // of the router and of both matrices (gpt-oss)
  // They stand beside a dense MLP. What comes out of either is normalised before both are added; the router reads the
  // residual stream, normalised by itself, and each expert has a factor of its own (Gemma 4).
  bool beside_mlp = false;
  Parallelism parallel = {};  // of a shard: how the group's devices share the experts
  double overlap =
      0;  // of the experts of neighbouring tokens, beyond chance; not config.json's (inputs/expert_overlap.h)
  int stored() const;  // experts whose weights one device holds
  bool operator==(const Experts&) const = default;
};

// Sparse attention over latents (DeepSeek-V3.2, 2025, section 2.1): heads of an indexer score each token of the text by
// the sum over heads of w relu(q k), where all heads share a key, and attention reads the `top_k` best tokens alone.
struct Indexer {
  int heads = 0, head_dim = 0, top_k = 0;  // a head's first columns are rotated, as many as of the shared key
  DType keys =
      DType::fp8;  // in which engines keep them, with one scale of 32 bits each (vLLM: DeepseekV32IndexerCache)
  double norm_epsilon = 1e-6;  // of the keys' LayerNorm
  bool paired = false;         // as LatentAttention::paired
  Bytes key_bytes() const;     // of a token in one layer
  bool operator==(const Indexer&) const = default;
};

// Attention over a compressed latent, from which keys and values are expanded (DeepSeek-V2, 2024, section 2.1). A
// head's first `nope_dim` columns are not rotated; its last `rope_dim` are, and all heads share that part of the key.
struct LatentAttention {
  int q_rank = 0;   // columns of the latent from which queries are expanded; 0: they come from the hidden state
  int kv_rank = 0;  // columns of the latent that is cached, beside the shared part of the key
  int nope_dim = 0, rope_dim = 0, value_dim = 0;
  // Rows of a sequence up to which an engine absorbs a whole prompt, over a cache of 16 bits and of 8: vLLM, by the
  // kernels that aiconfigurator's mla_context_module.csv names (FLASH_ATTN_MLA to 512 rows, FLASHMLA to 128).
  int most_absorbed = 512, most_absorbed_8bit = 128;
  // Whether the columns of a stored rotated part lie pair by pair; else the pairs' first halves precede the second.
  bool paired = true;
  double norm_epsilon = 1e-6;           // of the latents' norms: transformers, whatever the network's is
  std::optional<Indexer> indexer = {};  // none: attention to all tokens
  bool operator==(const LatentAttention&) const = default;
};

// A gated delta network (Yang et al. 2024): a state [key_dim, value_dim] for each value head, and a causal convolution
// over the last `kernel` tokens of queries, keys and values.
struct DeltaNet {
  int key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0, kernel = 4;
  DType state = DType::bf16;  // in which engines keep it: config.json's mamba_ssm_dtype, else 16 bits
  int key_columns() const { return key_heads * key_dim; }
  int value_columns() const { return value_heads * value_dim; }
  int convolved_columns() const { return 2 * key_columns() + value_columns(); }
  double state_elements() const { return static_cast<double>(value_heads) * key_dim * value_dim; }
  bool operator==(const DeltaNet&) const = default;
};

// Rope whose frequencies are stretched for a longer context, as config.json may describe it.
struct RopeScaling {
  enum class Kind { linear, llama3, yarn, longrope, proportional } kind = Kind::linear;
  double factor = 1, low_frequency_factor = 1, high_frequency_factor = 4;
  int original_context = 8192;
  // YaRN (Peng et al. 2023): turns in the original context beyond which a wave is kept, below which it is stretched.
  double beta_fast = 32, beta_slow = 1;
  bool whole_columns = true;  // YaRN: the columns at which that is so are rounded ("truncate")
  std::vector<double> short_factors = {}, long_factors = {};  // longrope: of each pair of columns
  bool long_text = false;                                     // longrope: the long ones are meant
  double attention_factor = 1;                                // of sines and cosines
  double turned = 1;  // proportional: the share of the waves, from the shortest on, that turn (Gemma 4)
  bool operator==(const RopeScaling&) const = default;
};

struct WindowRope {  // of layers with a sliding window, which is not scaled (Gemma 3, MiMo-V2)
  double theta = 10000;
  double share = 1;  // of a head's columns that are rotated
  bool operator==(const WindowRope&) const = default;
};

// Queries are multiplied by 1 + scale ln(1 + floor((position + offset) / every)), in layers without rope (Llama 4) or
// in those with it (Ministral 3).
struct QueryGrowth {
  double every = 8192, scale = 0.1;
  int offset = 1;
  bool rotated = false;
  bool operator==(const QueryGrowth&) const = default;
};

struct TransformerShape {
  std::string name;
  std::string architecture;  // as config.json names it, "LlamaForCausalLM"
  std::string source;        // of a shipped shape: key of data/sources.json and place in it
  int hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, intermediate = 0, vocabulary = 0;
  std::optional<int> value_dim;                  // columns of a value; none: as many as of a key
  bool values_are_keys = false;                  // as of AttentionHeads, in layers without a window
  std::optional<AttentionHeads> windowed_heads;  // of layers with a sliding window, where those differ (MiMo-V2)
  std::optional<int> max_positions;  // longest text; every config.json gives one, a shape made by hand may not
  bool tied_embeddings = false;      // the LM head is the embedding
  bool qkv_bias = false;             // Qwen2
  QkNorm qk_norm = QkNorm::none;
  bool rotated_qk_norm = false;     // Llama 4: the same without weights, in layers with rope
  bool value_norm = false;          // the same of each head's values, without weights (Gemma 4)
  bool parallel_attention = false;  // Falcon: attention and MLP read the same residual
  NormKind norm = NormKind::rms;
  MlpKind mlp = MlpKind::gated_silu;
  double norm_epsilon = 1e-6;
  double rope_theta = 10000;
  double rotary_share = 1;  // of a head's columns (ChatGLM: 0.5)
  std::optional<RopeScaling> rope_scaling;
  std::vector<LayerKind> layer_kinds;  // one for each layer; empty: all have full attention, and experts if it has any
  int window = 0;                      // of sliding and chunked layers, in tokens
  std::optional<WindowRope> window_rope;  // of sliding layers, where it differs
  Sinks sinks = Sinks::none;
  bool output_gate = false;  // attention's result is multiplied by a gate of the token (Qwen3-Next)
  bool o_bias = false;       // of the attention's output matrix (gpt-oss)
  NormPlacement norms = NormPlacement::before;
  bool norms_before() const { return norms != NormPlacement::behind; }
  bool norms_behind() const { return norms != NormPlacement::before; }
  bool layer_scale = false;           // what leaves a layer is multiplied by a number of its own (Gemma 4)
  std::optional<double> logit_cap;    // logits x become cap * tanh(x / cap) (Gemma 4)
  double embedding_scale = 1;         // Gemma: the root of the hidden size
  std::optional<double> query_scale;  // of queries against keys; none: 1 / sqrt(head_dim)
  double value_scale = 1;             // of values, which stored weights take (MiMo-V2)
  std::optional<QueryGrowth> query_growth;
  std::optional<LatentAttention> latent;  // heads then have nope_dim + rope_dim columns, and kv_heads is heads
  std::optional<DeltaNet> delta_net;      // of layers of that kind
  std::optional<Experts> experts;
  int mtp_modules = 0;                  // that predict tokens behind the next, in its own checkpoints
  std::optional<LayerKind> mtp_layer;   // of a module; none: as the last layer, or plain (methods/mtp_sequential)
  std::optional<Precision> checkpoint;  // formats of a quantised checkpoint (model/transformers/quantization_config)
  std::vector<std::string> notes;       // what the file says and the shape leaves out, and why that is sound

  LayerKind layer(int index) const;  // counted from 0
  int layers_of(AttentionKind) const;
  bool has_indexer(const LayerKind& k) const { return latent && latent->indexer && !k.shares_choice; }
  AttentionHeads heads_of(const LayerKind& = {}) const;  // of latent attention: those that latents are expanded to
  bool has_sinks(const LayerKind&) const;
  bool operator==(const TransformerShape&) const = default;
};

// The network with every layer of that kind, whose heads, sinks and rope are then the only ones.
TransformerShape with_layers_of(const TransformerShape&, const LayerKind&);
bool all_windowed(const TransformerShape&);  // whether each layer gives back what lies before its window
// Whether engines reuse the KV cache of prefixes that texts share. They do not if all layers have windows, or if some
// keep recurrent states.
bool shares_prefixes(const TransformerShape&);

// Parameters of the matrices, in symbols: A, F, Y = A + F, H.
double attention_parameters(const TransformerShape&, const LayerKind& = {});  // A
double mlp_parameters(const TransformerShape&);    // F; of all experts and their router, where there are any
double layer_parameters(const TransformerShape&);  // Y
// The parameters of all layers: A of each layer's kind of attention, and F, or a dense MLP in a layer without experts.
double matrix_parameters(const TransformerShape&);
double head_parameters(const TransformerShape&);    // H: the LM head, equal in size to the embedding
double parameters(const TransformerShape&);         // all, embeddings and norms included, tied ones once
double active_parameters(const TransformerShape&);  // read for one token: its experts alone, no embedding table

// The share of one device. KV heads are replicated where there are fewer of them than devices; what the devices don't
// divide evenly (MLP columns, experts, vocabulary) is rounded up. Throws InputErrors if refuses_shards() has a reason:
// if the devices don't divide the heads, or neither divide nor are a multiple of the KV heads; if replicas do not
// divide the devices; if there are no experts to divide.
TransformerShape shard(const TransformerShape&, const Parallelism&);
std::optional<std::string> refuses_shards(const TransformerShape&, const Parallelism&);  // why shard() throws, if so

// Reads a config.json. Keys that are not needed are left alone. An architecture that is not known is noted as a
// mistake, and so is what the shape can't express. The name of the shape is that of the file, or of the folder of a
// "config.json". (In transformer_config.cpp.)
TransformerShape read_transformer(Reader);

}  // namespace draftline
