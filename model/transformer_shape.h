// SPDX-License-Identifier: Apache-2.0
// The shape of a decoder-only transformer, read from a Hugging Face config.json.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/reader.h"
#include "model/precision.h"

namespace draftline {

enum class NormKind { rms, layer };       // layer: with bias
enum class MlpKind { gated_silu, gelu };  // gelu: two matrices, no gate

struct Experts {  // a mixture-of-experts MLP in every layer but the first ones
  int count = 0, per_token = 0, intermediate = 0;
  bool normalise = true;  // the chosen experts' weights sum to 1
  int shared = 0;         // columns of an MLP beside them that every token passes
  int dense_layers = 0;   // first layers, which have a plain MLP
  double overlap = 0;     // of the experts of neighbouring tokens, beyond chance; not config.json's (inputs/routing.h)
  bool operator==(const Experts&) const = default;
};

// As config.json may describe it: frequencies stretched for a longer context.
struct RopeScaling {
  enum class Kind { linear, llama3 } kind = Kind::linear;
  double factor = 1, low_frequency_factor = 1, high_frequency_factor = 4;
  int original_context = 8192;
  bool operator==(const RopeScaling&) const = default;
};

struct TransformerShape {
  std::string name;
  std::string architecture;  // as config.json names it, "LlamaForCausalLM"
  std::string source;        // of a shipped shape: key of data/sources.json and place in it
  int hidden = 0, layers = 0, heads = 0, kv_heads = 0, head_dim = 0, intermediate = 0, vocabulary = 0;
  std::optional<int> max_positions;  // longest text; every config.json gives one, a shape made by hand may not
  bool tied_embeddings = false;      // the LM head is the embedding
  bool qkv_bias = false;             // Qwen2
  bool qk_norm = false;              // Qwen3: RMSNorm over each head of q and k
  bool parallel_attention = false;   // Falcon: attention and MLP read the same residual
  NormKind norm = NormKind::rms;
  MlpKind mlp = MlpKind::gated_silu;
  double norm_epsilon = 1e-6;
  double rope_theta = 10000;
  double rotary_share = 1;  // of a head's columns (ChatGLM: 0.5)
  std::optional<RopeScaling> rope_scaling;
  std::optional<Experts> experts;
  std::optional<Precision> checkpoint;  // formats of a quantised checkpoint (model/quantization_config)
  std::vector<std::string> notes;       // what the file says and the shape leaves out, and why that is sound

  int q_columns() const { return heads * head_dim; }
  int kv_columns() const { return kv_heads * head_dim; }
  bool operator==(const TransformerShape&) const = default;
};

// Parameters of the matrices, in symbols: A, F, Y = A + F, H.
double attention_parameters(const TransformerShape&);  // A
double mlp_parameters(const TransformerShape&);        // F; of all experts and their router, where there are any
double layer_parameters(const TransformerShape&);      // Y
double matrix_parameters(
    const TransformerShape&);                     // of all layers; Y each, but for dense ones before those with experts
double head_parameters(const TransformerShape&);  // H: the LM head, equal in size to the embedding
double parameters(const TransformerShape&);       // all, embeddings and norms included, tied ones once
double active_parameters(const TransformerShape&);  // read for one token: its experts alone, no embedding table

// One rank's share under tensor parallelism; KV heads are replicated where there are fewer of them than ranks, and what
// the ranks don't divide evenly (MLP columns, vocabulary) is rounded up.
// InputErrors if the ranks don't divide the heads, or neither divide nor are a multiple of the KV heads.
TransformerShape shard(const TransformerShape&, int ranks);
std::optional<std::string> refuses_shards(const TransformerShape&, int ranks);  // why shard() throws; none: it does not

// A config.json: keys that are not needed are left alone; a mistake for an architecture that is not known and for what
// the shape can't express. Its name is that of the file, or of the folder of a "config.json". (In
// transformer_config.cpp.)
TransformerShape read_transformer(Reader);

}  // namespace draftline
