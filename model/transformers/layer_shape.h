// SPDX-License-Identifier: Apache-2.0
// One layer of a decoder-only transformer with everything that it needs, whatever the other layers of its network have.
// A further kind of layer is one alternative more (docs/recipes/new_layer.md).
#pragma once
#include <optional>
#include <string>
#include <variant>

#include "core/quantity.h"
#include "model/transformers/dtype.h"
#include "model/transformers/parallelism.h"
#include "model/transformers/rope_shape.h"

namespace draftline {

enum class NormKind { rms, layer };  // layer: with bias
// Where the norms of a sublayer stand: before it (Llama), behind it (OLMo 2, EXAONE 4), or before and behind it (Gemma
// 3). What is behind it normalises what it adds to the residual stream.
enum class NormPlacement { before, behind, both };
// RMSNorm of queries and of keys before rope: over each head (Qwen3), over all heads at once (MiniMax-M2), or over each
// head without weights (Llama 4).
enum class QkNorm { none, each_head, all_heads, unweighted };
// gelu: two matrices, no gate. gated_gelu: by the tanh formula (Gemma). clamped_swiglu: gpt-oss.
enum class MlpKind { gated_silu, gelu, gated_gelu, clamped_swiglu };

// ---- attention

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

// What a row's token sees of the text before it: the last `tokens`, itself included, or of its own chunk of so many
// (Llama 4).
struct TextWindow {
  int tokens = 0;
  bool chunked = false;
  bool operator==(const TextWindow&) const = default;
};

// Attention whose cache holds keys and values of heads.
struct HeadAttention {
  AttentionHeads heads = {};
  std::optional<TextWindow> window = {};  // none: a token sees all of the text before it
  Rope rope = {};                         // no columns: nothing is rotated
  QkNorm qk_norm = QkNorm::none;
  bool value_norm = false;                 // of each head's values, without weights (Gemma 4)
  bool qkv_bias = false, o_bias = false;   // of the matrices before and behind it
  bool sinks = false;                      // a learned score in each head's softmax that attends to nothing (gpt-oss)
  bool output_gate = false;                // its result is multiplied by a gate of the token (Qwen3-Next)
  std::optional<double> query_scale = {};  // of queries against keys; none: 1 / sqrt(head_dim)
  double value_scale = 1;                  // of values, which stored weights take (MiMo-V2)
  // Columns of the matrix that gives queries, keys, values and gates.
  int projected_columns() const { return heads.projected_columns() + (output_gate ? heads.result_columns() : 0); }
  bool operator==(const HeadAttention&) const = default;
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
  std::optional<Indexer> indexer = {};  // none: attention to all tokens, or to those that another indexer chose
  bool operator==(const LatentAttention&) const = default;
};

struct LatentHeads {
  int heads = 0;
  LatentAttention dims = {};
  Rope rope = {};
  std::optional<double> query_scale = {};  // none: 1 / sqrt(head_dim())
  // It has no indexer, and reads the tokens that the last one before it chose (GLM-5.2, vLLM's IndexCache).
  bool shares_choice = false;
  int head_dim() const { return dims.nope_dim + dims.rope_dim; }
  int q_columns() const { return heads * head_dim(); }
  int expanded_columns() const { return heads * (dims.nope_dim + dims.value_dim); }  // keys' unrotated part, and values
  int result_columns() const { return heads * dims.value_dim; }
  bool operator==(const LatentHeads&) const = default;
};

// A gated delta network (Yang et al. 2024): a state [key_dim, value_dim] for each value head, and a causal convolution
// over the last `kernel` tokens of queries, keys and values.
struct DeltaNet {
  int key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0, kernel = 4;
  DType state = DType::bf16;  // in which engines keep it: config.json's mamba_ssm_dtype, else 16 bits
  int key_columns() const { return key_heads * key_dim; }
  int value_columns() const { return value_heads * value_dim; }
  int convolved_columns() const { return 2 * key_columns() + value_columns(); }
  double state_elements() const { return 1.0 * value_heads * key_dim * value_dim; }
  bool operator==(const DeltaNet&) const = default;
};

// ---- MLPs

struct NoMlp {  // attention alone (Kangaroo's adapter)
  bool operator==(const NoMlp&) const = default;
};

struct DenseMlp {
  int intermediate = 0;
  MlpKind kind = MlpKind::gated_silu;
  int gate_up_columns() const { return (kind == MlpKind::gelu ? 1 : 2) * intermediate; }
  bool operator==(const DenseMlp&) const = default;
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
  Parallelism parallel = {};             // of a shard: how the group's devices share the experts
  double overlap =
      0;  // of the experts of neighbouring tokens, beyond chance; not config.json's (inputs/expert_overlap.h)
  MlpKind kind = MlpKind::gated_silu;
  int stored() const;  // experts whose weights one device holds
  bool operator==(const Experts&) const = default;
};

// What comes out of either is normalised before both are added; the router reads the residual stream, normalised by
// itself, and each expert has a factor of its own (Gemma 4).
struct ExpertsBesideMlp {
  DenseMlp dense = {};
  Experts experts = {};
  bool operator==(const ExpertsBesideMlp&) const = default;
};

// ---- the layer

struct LayerShape {
  int hidden = 0;
  std::optional<int> inputs = {};  // columns that its attention reads; none: hidden
  std::variant<HeadAttention, LatentHeads, DeltaNet> attention = {};
  std::variant<NoMlp, DenseMlp, Experts, ExpertsBesideMlp> mlp = {};
  NormKind norm = NormKind::rms;
  double norm_epsilon = 1e-6;
  NormPlacement norms = NormPlacement::before;
  bool input_norm = true;  // false: what its attention reads is normalised already, or is not to be (EAGLE)
  bool parallel = false;   // attention and MLP read the same residual (Falcon)
  bool scaled = false;     // what leaves it is multiplied by a number of its own (Gemma 4)

  bool norms_before() const { return norms != NormPlacement::behind; }
  bool norms_behind() const { return norms != NormPlacement::before; }
  const HeadAttention* heads() const { return std::get_if<HeadAttention>(&attention); }
  const LatentHeads* latent() const { return std::get_if<LatentHeads>(&attention); }
  const DeltaNet* delta_net() const { return std::get_if<DeltaNet>(&attention); }
  const Experts* experts() const;     // also those beside a dense MLP
  const DenseMlp* dense_mlp() const;  // also one beside experts
  std::optional<TextWindow> window() const { return heads() != nullptr ? heads()->window : std::nullopt; }
  Rope* rope();  // null: it has no such positions
  const Rope* rope() const { return const_cast<LayerShape*>(this)->rope(); }
  bool shares_choice() const { return latent() != nullptr && latent()->shares_choice; }
  bool sees_all() const { return delta_net() == nullptr && !window(); }  // attends to all of the text
  bool operator==(const LayerShape&) const = default;
};

// A layer of Llama's kind: RMSNorm before each sublayer, all columns of a head rotated, a gated MLP, no biases.
LayerShape llama_layer(int hidden, const AttentionHeads&, int intermediate);

// Parameters of matrices, in symbols: A, F, Y = A + F; and of vectors: norms, biases, sinks, convolutions.
double attention_parameters(const LayerShape&);
double mlp_parameters(const LayerShape&);    // of all stored experts and their router, where there are any
double layer_parameters(const LayerShape&);  // of both: the matrices alone
double vector_parameters(const LayerShape&);
double idle_parameters(
    const LayerShape&);  // of those, what one token does not read: the experts that it did not choose
double cached_elements(const LayerShape&);  // of a token, in its cache; of a state none

// The share of one device. KV heads are replicated where there are fewer of them than devices; what the devices don't
// divide evenly (MLP columns, experts) is rounded up.
LayerShape shard(const LayerShape&, const Parallelism&);
// What so many tensor-parallel ranks do not divide, if so: "divide the 6 heads of NETWORK".
std::optional<std::string> undivided(const LayerShape&, int ranks, const std::string& network);
int share_of(int columns, int ranks);  // rounded up

}  // namespace draftline
