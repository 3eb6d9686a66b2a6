// SPDX-License-Identifier: Apache-2.0
// The complete shape of one layer of a decoder-only transformer. Layers of one network may differ. A new kind of layer
// is a new alternative of the variants (docs/recipes/new_layer.md).
#pragma once
#include <array>
#include <optional>
#include <string>
#include <variant>

#include "core/quantity.h"
#include "model/transformers/dtype.h"
#include "model/transformers/expert_routing.h"
#include "model/transformers/parallelism.h"
#include "model/transformers/rope_shape.h"

namespace draftline {

enum class NormKind { rms, layer };  // layer: with bias
// The position of a sublayer's norms: before it (Llama), behind it (OLMo 2, EXAONE 4), or both (Gemma 3). A norm
// behind the sublayer normalises its output before it is added to the residual stream.
enum class NormPlacement { before, behind, both };
// RMSNorm of queries and of keys before rope: over each head (Qwen3), over all heads at once (MiniMax-M2), or over
// each head without weights (Llama 4).
enum class QkNorm { none, each_head, all_heads, unweighted };
// gelu, squared_relu: two matrices, no gate. gated_gelu: by the tanh formula (Gemma). clamped_swiglu: gpt-oss.
enum class MlpKind { gated_silu, gelu, gated_gelu, clamped_swiglu, squared_relu };
constexpr bool is_gated(MlpKind k) { return k != MlpKind::gelu && k != MlpKind::squared_relu; }

// ---- attention

struct NoAttention {  // an MLP alone (Nemotron-H)
  bool operator==(const NoAttention&) const = default;
};

// The heads of a layer's attention.
struct AttentionHeads {
  int heads = 0, kv_heads = 0;
  int head_dim = 0, value_dim = 0;  // columns of queries and keys; of values and results
  bool values_are_keys = false;     // before norms and rope: one matrix gives both (Gemma 4)
  int q_columns() const { return heads * head_dim; }
  int k_columns() const { return kv_heads * head_dim; }
  int v_columns() const { return kv_heads * value_dim; }
  int result_columns() const { return heads * value_dim; }
  int projected_columns() const { return q_columns() + k_columns() + (values_are_keys ? 0 : v_columns()); }
  bool operator==(const AttentionHeads&) const = default;
};

// The tokens to which a row's token attends: the last `tokens` tokens, itself included, or the earlier tokens of its
// own chunk of `tokens` tokens (Llama 4).
struct TextWindow {
  int tokens = 0;
  bool chunked = false;
  bool operator==(const TextWindow&) const = default;
};

// Attention that reads only the best `top_k` blocks of `block` tokens (MiniMax-M3, 2026). Heads of an indexer, one for
// each KV head, score every token; all of them share a key. A block is as good as its best token.
struct BlockIndexer {
  int heads = 0, head_dim = 0, block = 0, top_k = 0;
  DType keys = DType::bf16;  // cached format
  int tokens() const { return block * top_k; }
  bool operator==(const BlockIndexer&) const = default;
};

// Attention with a cache of keys and values for each KV head.
struct HeadAttention {
  AttentionHeads heads = {};
  std::optional<TextWindow> window = {};  // none: a token attends to all tokens before it
  Rope rope = {};                         // no columns: nothing is rotated
  QkNorm qk_norm = QkNorm::none;
  bool value_norm = false;                 // norm of each head's values, without weights (Gemma 4)
  bool qkv_bias = false, o_bias = false;   // biases of the matrices before and behind it
  bool sinks = false;                      // a learned score in each head's softmax that attends to nothing (gpt-oss)
  bool output_gate = false;                // its result is multiplied by a gate per token (Qwen3-Next)
  std::optional<double> query_scale = {};  // scale of the scores; none: 1 / sqrt(head_dim)
  double value_scale = 1;                  // scale of the values, contained in stored weights (MiMo-V2)
  bool gate_each_head = false;             // its result has a gate per head, from a matrix of its own (Step-3.5)
  std::optional<BlockIndexer> blocks = {};
  // Columns of the matrix that gives queries, keys, values and gates.
  int projected_columns() const { return heads.projected_columns() + (output_gate ? heads.result_columns() : 0); }
  bool operator==(const HeadAttention&) const = default;
};

// Sparse attention over latents (DeepSeek-V3.2, 2025, section 2.1): an indexer scores each token of the text by the
// sum over its heads of w relu(q k), where all heads share a key. Attention reads only the `top_k` best tokens.
struct Indexer {
  int heads = 0, head_dim = 0, top_k = 0;  // a head's first rope_dim columns are rotated
  DType keys = DType::fp8;     // cached format, with one 32-bit scale per key (vLLM: DeepseekV32IndexerCache)
  double norm_epsilon = 1e-6;  // of the keys' LayerNorm
  bool paired = false;         // like LatentAttention::paired
  int pool = 1;                // tokens that share a key, made of theirs by learned weights (GLM-5.3-Flash)
  Bytes key_bytes() const;     // for one token in one layer
  bool operator==(const Indexer&) const = default;
};

// Attention over a compressed latent, from which keys and values are expanded (DeepSeek-V2, 2024, section 2.1). A
// head's first `nope_dim` columns are not rotated; its last `rope_dim` are, and all heads share that part of the key.
struct LatentAttention {
  int q_rank = 0;   // columns of the latent of queries; 0: queries are computed from the hidden state
  int kv_rank = 0;  // columns of the cached latent, without the shared part of the key
  int nope_dim = 0, rope_dim = 0, value_dim = 0;
  // The most rows of a sequence for which an engine computes a whole prompt in the absorbed form, with a 16-bit and an
  // 8-bit cache. Values of vLLM, from kernel names in aiconfigurator's mla_context_module.csv (FLASH_ATTN_MLA to 512
  // rows, FLASHMLA to 128).
  int most_absorbed = 512, most_absorbed_8bit = 128;
  // Whether the two columns of each rotated pair are adjacent in stored weights; otherwise the first columns of all
  // pairs precede the second columns.
  bool paired = true;
  double norm_epsilon = 1e-6;           // of the latents' norms: a constant of transformers, whatever the network's
  std::optional<Indexer> indexer = {};  // none: attention to all tokens, or to those chosen by another layer's indexer
  bool operator==(const LatentAttention&) const = default;
};

struct LatentHeads {
  int heads = 0;
  LatentAttention dims = {};
  Rope rope = {};
  std::optional<double> query_scale = {};  // none: 1 / sqrt(head_dim())
  // The layer has no indexer and reads the tokens chosen by the last indexer before it (GLM-5.2, vLLM's IndexCache).
  bool shares_choice = false;
  bool output_gate = false;     // its result is multiplied by a gate per column, from a matrix of its own (Kimi-K3)
  bool gate_each_head = false;  // likewise by a gate per head (Ling 3)
  int head_dim() const { return dims.nope_dim + dims.rope_dim; }
  int q_columns() const { return heads * head_dim(); }
  int expanded_columns() const { return heads * (dims.nope_dim + dims.value_dim); }  // keys' unrotated part, and values
  int result_columns() const { return heads * dims.value_dim; }
  bool operator==(const LatentHeads&) const = default;
};

// Attention whose heads share one key, which is also their value (DeepSeek-V4, 2026, section 2.3). A row reads the
// last `window` tokens, and entries into which every `compression` tokens before it are compressed: all of them, or
// the best ones by an indexer, whose keys are compressed likewise.
struct CompressedAttention {
  int heads = 0, head_dim = 0, window = 0;
  int q_rank = 0;                          // columns of the latent of queries
  int output_groups = 1, output_rank = 0;  // each group of heads has a matrix that narrows its result
  int compression = 0;                     // tokens of an entry; 0: there is the window alone
  bool overlaps = false;                   // an entry is made of its tokens and of as many before them
  std::optional<Indexer> indexer = {};     // none: all entries are read
  int q_columns() const { return heads * head_dim; }
  int group_columns() const { return output_groups * output_rank; }
  int series() const { return compression == 0 ? 0 : overlaps ? 2 : 1; }  // of keys before they are compressed
  // Columns of the matrix that gives those keys and their weights, an indexer's too.
  int compressed_columns() const { return 2 * series() * (head_dim + (indexer ? indexer->head_dim : 0)); }
  bool operator==(const CompressedAttention&) const = default;
};

// What a recurrent layer keeps of a sequence: a state [key_dim, value_dim] for each value head, and the rows before
// the next one of a causal convolution over the last `kernel` tokens.
struct StateForm {
  int key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0;
  int convolved_columns = 0, kernel = 4;
  DType format = DType::bf16;  // of states in memory
  bool state_space = false;    // a selective state space's (Mamba), not a delta network's
  int key_columns() const { return key_heads * key_dim; }
  int value_columns() const { return value_heads * value_dim; }
  double elements() const { return 1.0 * value_heads * key_dim * value_dim; }
  bool operator==(const StateForm&) const = default;
};

// A gated delta network (Yang et al. 2024): a state [key_dim, value_dim] for each value head, and a causal convolution
// over the last `kernel` tokens of queries, keys and values.
struct DeltaNet {
  // Gates of a head's columns of keys (its decay) and of its results, instead of one decay per head (Kimi Delta
  // Attention, 2025, section 3). They come from matrices of this rank; those of results may have full rank.
  struct ColumnGates {
    int rank = 0;
    bool full_rank_results = false, full_rank_decays = false;
    bool operator==(const ColumnGates&) const = default;
  };
  int key_heads = 0, value_heads = 0, key_dim = 0, value_dim = 0, kernel = 4;
  DType state = DType::bf16;  // format in memory: config.json's mamba_ssm_dtype, else 16 bits
  std::optional<ColumnGates> column_gates = {};
  int key_columns() const { return key_heads * key_dim; }
  int value_columns() const { return value_heads * value_dim; }
  int convolved_columns() const { return 2 * key_columns() + value_columns(); }
  int decays() const { return column_gates ? value_heads * key_dim : value_heads; }  // of a token
  StateForm form() const;
  bool operator==(const DeltaNet&) const = default;
};

// A selective state space (Mamba-2: Dao and Gu 2024, section 7): with every token each head's state [state_dim,
// head_dim] decays by a factor, and the token's input is added along B. C reads the result. The heads of a group share
// B and C. A causal convolution over the last `kernel` tokens of inputs, B and C comes first.
struct Mamba2 {
  int heads = 0, head_dim = 0, groups = 1, state_dim = 0, kernel = 4;
  int chunk = 256;            // rows of a chunk in which engines compute prompts
  DType state = DType::bf16;  // format in memory: config.json's mamba_ssm_cache_dtype, else 16 bits
  bool norm = true;           // of the gated result, over each group's columns (Falcon-H1 may have none)
  bool norm_before_gate = false;
  bool convolution_bias = true;
  int columns() const { return heads * head_dim; }  // of inputs, gates and results
  int convolved_columns() const { return columns() + 2 * groups * state_dim; }
  int projected_columns() const { return columns() + convolved_columns() + heads; }  // gates; inputs, B, C; steps
  StateForm form() const;
  bool operator==(const Mamba2&) const = default;
};

// A selective state space with a decay for each column and each element of its state (Mamba-1: Gu and Dao 2023,
// section 3). A causal convolution over the last `kernel` tokens of the inputs comes first; B, C and the latent of the
// steps are computed from its result.
struct Mamba1 {
  int columns = 0, state_dim = 0, step_rank = 0, kernel = 4;
  DType state = DType::bf16;
  bool norms = false;  // of B, C and the latent of the steps (Jamba)
  bool convolution_bias = true;
  int selected_columns() const { return step_rank + 2 * state_dim; }
  StateForm form() const;
  bool operator==(const Mamba1&) const = default;
};

// Linear attention with a fixed decay of each head's state [head_dim, head_dim] (Lightning Attention: Qin et al.
// 2024). Its result is normalised and multiplied by a gate per column.
struct LinearAttention {
  int heads = 0, head_dim = 0;
  bool qk_norm = false;  // of each head
  DType state = DType::fp32;
  int columns() const { return heads * head_dim; }
  StateForm form() const;
  bool operator==(const LinearAttention&) const = default;
};

// Attention and a state space read the same normalised rows, and their results are added (Falcon-H1).
struct AttentionBesideMamba {
  HeadAttention attention = {};
  Mamba2 mamba = {};
  bool operator==(const AttentionBesideMamba&) const = default;
};

// ---- MLPs

struct NoMlp {  // attention alone (Kangaroo's adapter)
  bool operator==(const NoMlp&) const = default;
};

struct DenseMlp {
  int intermediate = 0;
  MlpKind kind = MlpKind::gated_silu;
  bool bias = false;  // of both matrices (GPT-NeoX)
  int gate_up_columns() const { return (is_gated(kind) ? 2 : 1) * intermediate; }
  bool operator==(const DenseMlp&) const = default;
};

struct Experts {  // a mixture-of-experts MLP
  enum class Score { softmax, sigmoid, softmax_of_chosen };
  int count = 0, per_token = 0, intermediate = 0;
  bool normalise = true;                 // the chosen experts' weights sum to 1
  int shared = 0;                        // columns of the shared MLP, which computes every token
  bool shared_gate = false;              // the shared MLP's output is multiplied by a gate per token (Qwen3-Next)
  Score score = Score::softmax;          // softmax_of_chosen: only over the chosen experts (gpt-oss)
  bool choice_bias = false;              // a bias on the scores for the choice, not for the weights (DeepSeek-V3)
  int groups = 1, groups_per_token = 1;  // a token's experts lie within its best groups (DeepSeek-V2)
  double scale = 1;                      // factor on the chosen experts' sum
  bool weighs_inputs = false;            // the weight multiplies an expert's input, not its output (Llama 4)
  bool bias = false;                     // biases of the router and of both matrices (gpt-oss)
  bool router_fp32 = false;              // the router multiplies in 32 bits (MiniMax-M2)
  Parallelism parallel = {};             // in a shard: how the group's devices share the experts
  ExpertRouting routing = {};            // not from config.json (inputs/expert_routing.h)
  MlpKind kind = MlpKind::gated_silu;
  int latent = 0;  // columns to which a matrix narrows the experts' rows and from which another widens their sum
                   // (Nemotron-3-Super); 0: experts compute the hidden state. The router and the shared MLP do.
  int gate_up_columns() const { return (is_gated(kind) ? 2 : 1) * intermediate; }
  int row_columns(int hidden) const { return latent > 0 ? latent : hidden; }
  double expert_elements(int hidden) const;  // of one expert's matrices
  int stored() const;                        // experts whose weights one device holds
  bool operator==(const Experts&) const = default;
};

// Both outputs are normalised before they are added. The router has its own norm of the residual stream, and each
// expert has its own factor (Gemma 4).
struct ExpertsBesideMlp {
  DenseMlp dense = {};
  Experts experts = {};
  bool operator==(const ExpertsBesideMlp&) const = default;
};

// ---- the layer

// Factors on what a layer's matrices compute, contained in stored weights (Granite 4, Falcon-H1).
struct MatrixFactors {
  double qkv = 1, keys = 1, gate = 1;                // keys: in addition to qkv
  std::array<double, 5> mamba_in = {1, 1, 1, 1, 1};  // of gates, inputs, B, C and steps
  double o = 1, mamba_out = 1, down = 1;             // of the results of attention, of a state space and of an MLP
  bool operator==(const MatrixFactors&) const = default;
};

struct LayerShape {
  int hidden = 0;
  std::optional<int> inputs = {};  // columns of the attention's input; none: hidden
  std::variant<HeadAttention, LatentHeads, DeltaNet, Mamba2, AttentionBesideMamba, NoAttention, CompressedAttention,
               Mamba1, LinearAttention>
      attention = {};
  std::variant<NoMlp, DenseMlp, Experts, ExpertsBesideMlp> mlp = {};
  NormKind norm = NormKind::rms;
  double norm_epsilon = 1e-6;
  NormPlacement norms = NormPlacement::before;
  bool input_norm = true;  // false: the attention's input is normalised already, or must not be (EAGLE)
  bool parallel = false;   // attention and MLP read the same residual (Falcon)
  MatrixFactors factors = {};
  bool scaled = false;  // the layer's output is multiplied by a stored number (Gemma 4)
  // Residual streams. A sublayer reads a mix of them, and its result is mixed into them, by weights that a matrix
  // computes from all of them (hyper-connections: DeepSeek-V4, 2026, section 2.2).
  int streams = 1;

  bool norms_before() const { return norms != NormPlacement::behind; }
  bool norms_behind() const { return norms != NormPlacement::before; }
  const HeadAttention* heads() const;  // also those beside a state space
  const LatentHeads* latent() const { return std::get_if<LatentHeads>(&attention); }
  const DeltaNet* delta_net() const { return std::get_if<DeltaNet>(&attention); }
  const Mamba2* mamba() const;  // also one beside attention
  const CompressedAttention* compressed() const { return std::get_if<CompressedAttention>(&attention); }
  int sublayers() const { return (has_attention() ? 1 : 0) + (has_mlp() ? 1 : 0); }
  int stream_columns() const { return streams * hidden; }
  int stream_weights() const { return (2 + streams) * streams; }  // of one row, for one sublayer (StreamMix::mixes)
  std::optional<StateForm> states() const;                        // none: the layer is not recurrent
  bool attends() const { return heads() != nullptr || latent() != nullptr || compressed() != nullptr; }
  bool has_attention() const { return !std::holds_alternative<NoAttention>(attention); }  // or what takes its place
  bool has_mlp() const { return !std::holds_alternative<NoMlp>(mlp); }
  const Experts* experts() const;     // also those beside a dense MLP
  const DenseMlp* dense_mlp() const;  // also a dense MLP beside experts
  std::optional<TextWindow> window() const;
  Rope* rope();  // null: the layer has no rope
  const Rope* rope() const { return const_cast<LayerShape*>(this)->rope(); }
  bool shares_choice() const { return latent() != nullptr && latent()->shares_choice; }
  bool sees_all() const { return attends() && !window(); }  // attends to all of the text
  bool operator==(const LayerShape&) const = default;
};

// A layer of Llama's kind: RMSNorm before each sublayer, all columns of a head rotated, a gated MLP, no biases.
LayerShape llama_layer(int hidden, const AttentionHeads&, int intermediate);

// Parameters of matrices (symbols: A, F, Y = A + F) and of vectors (norms, biases, sinks, convolutions).
double attention_parameters(const LayerShape&);
double mlp_parameters(const LayerShape&);    // with all stored experts and their router, if any
double layer_parameters(const LayerShape&);  // of both; matrices only
double vector_parameters(const LayerShape&);
double idle_parameters(const LayerShape&);  // the part that one token does not read: experts that it did not choose
double cached_elements(const LayerShape&);  // per token of the cache; 0 for a recurrent state

// The share of one device. KV heads are replicated if there are fewer KV heads than devices. MLP columns and experts
// that the devices don't divide evenly are rounded up.
LayerShape shard(const LayerShape&, const Parallelism&);
// The part of a layer that `ranks` tensor-parallel ranks can't divide, for messages: "divide the 6 heads of NETWORK".
// None if they divide it.
std::optional<std::string> undivided(const LayerShape&, int ranks, const std::string& network);
int share_of(int columns, int ranks);  // rounded up

}  // namespace draftline
