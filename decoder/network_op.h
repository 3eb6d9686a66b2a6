// SPDX-License-Identifier: Apache-2.0
// The ops of networks: products, norms, gates, experts, attention in its forms, recurrences, and what devices that
// share a network say to each other. As decoder/op.h, which includes it: n counts rows.
#pragma once
#include <string_view>

#include "decoder/op_fields.h"
#include "decoder/tensor.h"
#include "model/transformers/transformer_shape.h"
#include "model/work.h"

namespace draftline {

struct Embed {  // ids [n] -> [n, hidden], times `scale`
  static constexpr std::string_view key = "embed";
  Weight table;
  Tensor ids;
  float scale;
  Out y;
  FIELDS(table, ids, scale, y)
};
struct Linear {  // [n, in] x [in, out] (+ bias [1, out]) -> [n, out]
  static constexpr std::string_view key = "linear";
  Tensor x;
  Weight w;
  std::optional<Weight> bias;
  Out y;
  FIELDS(x, w, bias, y)
};
// Quantises rows for a product, with a scale for each `group` of columns (0: the row): x [n, c] -> y [n, c], scales [n,
// groups]. `after`: what made x, as engines may fuse the two. Only priced: no backend computes in fewer than 16 bits.
struct Quantise {
  static constexpr std::string_view key = "quantise";
  enum class After : std::uint8_t { any, norm, activation };
  Tensor x;
  int group;
  After after;
  Out y, scales;
  FIELDS(x, group, after, y, scales)
};
struct RmsNorm {  // normalises each group of `width` columns: [n, c] -> [n, c]; w [1, c] or [1, width], or ones
  static constexpr std::string_view key = "rms_norm";
  Tensor x;
  std::optional<Weight> w;
  int width;
  float epsilon;
  Out y;
  FIELDS(x, w, width, epsilon, y)
};
struct AddRmsNorm {  // sum = h + delta; y = norm(sum): [n, c] each
  static constexpr std::string_view key = "add_rms_norm";
  Tensor h, delta;
  Weight w;
  float epsilon;
  Out sum, y;
  FIELDS(h, delta, w, epsilon, sum, y)
};
struct LayerNorm {  // [n, c] -> [n, c]
  static constexpr std::string_view key = "layer_norm";
  Tensor x;
  Weight w, bias;
  float epsilon;
  Out y;
  FIELDS(x, w, bias, epsilon, y)
};
struct Add {
  static constexpr std::string_view key = "add";
  Tensor a, b;
  Out y;
  FIELDS(a, b, y)
};
struct SiluMul {  // [n, 2f] -> [n, f]: silu(left half) * right half
  static constexpr std::string_view key = "silu_mul";
  Tensor gate_up;
  Out y;
  FIELDS(gate_up, y)
};
struct GeluMul {  // [n, 2f] -> [n, f]: gelu(left half), by the tanh formula, * right half; engines run both gates alike
  static constexpr std::string_view key = "silu_mul";
  Tensor gate_up;
  Out y;
  FIELDS(gate_up, y)
};
struct SiluAdd {  // a + silu(b): [n, c] each
  static constexpr std::string_view key = "silu_add";
  Tensor a, b;
  Out y;
  FIELDS(a, b, y)
};
struct Gelu {  // [n, c] -> [n, c]
  static constexpr std::string_view key = "gelu";
  Tensor x;
  Out y;
  FIELDS(x, y)
};
struct CosineGate {  // multiplies each head of v by the cosine of those of q and k: [n, heads * dim] each
  static constexpr std::string_view key = "cosine_gate";
  Tensor q, k, v;
  int head_dim;
  Out y;
  FIELDS(q, k, v, head_dim, y)
};
struct SigmoidMul {  // [n, c] by the sigmoid of a gate [n, c], or [n, 1] for all columns -> [n, c]
  static constexpr std::string_view key = "sigmoid_mul";
  Tensor x, gate;
  Out y;
  FIELDS(x, gate, y)
};
struct AddScaled {  // (a + b) * scale: [n, c] each; scale [1, 1] -> [n, c]
  static constexpr std::string_view key = "add_scaled";
  Tensor a, b;
  Weight scale;
  Out y;
  FIELDS(a, b, scale, y)
};
struct SoftCap {  // cap * tanh(x / cap): [n, c] -> [n, c]
  static constexpr std::string_view key = "soft_cap";
  Tensor x;
  float cap;
  Out y;
  FIELDS(x, cap, y)
};
// How a router chooses a token's experts and weighs them: as Experts of the same names, which the shape has.
struct ExpertChoice {
  int experts = 0, per_token = 0;
  bool normalise = true;
  Experts::Score score = Experts::Score::softmax;
  int groups = 1, groups_per_token = 1;
  double scale = 1;
  bool weighs_inputs = false;
};
// gate_up [experts * hidden, 2f], down [experts * f, hidden]. Biases, where there are: of the choice and of the router
// [1, experts], of each expert's matrices [experts, 2f] and [experts, hidden].
struct ExpertWeights {
  Weight router, gate_up, down;
  std::optional<Weight> choice_bias = {}, router_bias = {}, gate_up_bias = {}, down_bias = {};
  std::optional<Weight> expert_scale = {};  // [1, experts]: a factor of each one's weight
};
// y[i, c] = sum over taps t of (base[t, c] + delta[i, t, group of c]) * x[i - t, c], within blocks of `block` rows: a
// depthwise convolution whose kernel depends on the row. x [n, c]; base [taps, c]; delta [n, taps * groups].
struct GroupedConv {
  static constexpr std::string_view key = "grouped_conv";
  Tensor x, delta;
  Weight base;
  int block;
  Out y;
  FIELDS(x, delta, base, block, y)
};
struct MixtureOfExperts {  // [n, hidden] -> [n, hidden]
  static constexpr std::string_view key = "expert_mlp";
  Tensor x;
  std::optional<Tensor> routed;  // what the router reads, [n, hidden]; none: x
  ExpertWeights w;
  ExpertChoice choice;
  MlpKind gate;
  int sequences;   // that the rows belong to, as far as it is known (0)
  double overlap;  // of what neighbouring rows of a sequence choose: it decides what the op costs, not what it computes
  int devices;     // that share the experts, each whole ones
  double balancedness;  // of the devices' rows, as in model/work.h
  Out y;
  FIELDS(x, routed, w, choice, gate, sequences, overlap, devices, balancedness, y)
};
// g sigmoid(slope g) (u + 1), g being at most `limit` and u within +-limit (gpt-oss model card, 2025, section 2.2).
inline constexpr struct { float slope = 1.702F, limit = 7; } kClampedSwiglu;
// Rotates q into y, and appends the rotated k, and v, to the cache behind the tail: q [n, heads * dim] -> [n, heads *
// dim]. Without queries q and y have no columns; without keys k and v have none, and nothing is appended.
struct RopeAppend {
  static constexpr std::string_view key = "rope_append";
  Tensor q, k, v;
  Rope rope;
  PassRef pass;
  Cache cache;
  int layer;
  Out y;
  FIELDS(q, k, v, rope, pass, cache, layer, y)
};
struct Attend {  // q [n, heads * dim] over the cache -> [n, heads * value_dim]
  static constexpr std::string_view key = "attention";
  Tensor q;
  PassRef pass;
  Cache cache;
  int layer;
  float scale;                  // of q against keys
  std::optional<Weight> sinks;  // [1, heads]: a score of each head's softmax that attends to nothing
  Out y;
  FIELDS(q, pass, cache, layer, scale, sinks, y)
};
// Latent attention (DeepSeek-V2, 2024, section 2.1). A head's query is `nope` columns and then `rope` that are rotated;
// kv_b [kv_rank, heads * (nope + value)] expands a latent to each head's key and value. Absorbed, queries are taken to
// the latents, which all heads then read; expanded, each head has keys and values of its own.
struct LatentAppend {  // rotates the queries' last columns and the shared key, appends the latent and that key
  static constexpr std::string_view key = "rope_append";
  Tensor q, latent, shared_key;  // [n, heads * (nope + rope)], [n, kv_rank], [n, rope]
  LatentAttention dims;
  Rope rope;
  PassRef pass;
  Cache cache;
  int layer;
  Out q_rope, k_rope;  // rotated: [n, heads * rope], [n, rope]
  FIELDS(q, latent, shared_key, dims, rope, pass, cache, layer, q_rope, k_rope)
};
// Each head's first columns times the transpose of its keys' part of kv_b -> [n, heads * kv_rank].
struct AbsorbQueries {
  static constexpr std::string_view key = "linear.absorbed";
  Tensor q;
  Weight kv_b;
  LatentAttention dims;
  Out y;
  FIELDS(q, kv_b, dims, y)
};
struct ExpandValues {  // [n, heads * kv_rank] times each head's values' part of kv_b -> [n, heads * value]
  static constexpr std::string_view key = "linear.absorbed";
  Tensor x;
  Weight kv_b;
  LatentAttention dims;
  Out y;
  FIELDS(x, kv_b, dims, y)
};
struct LatentAttend {  // absorbed, over the cache: [n, heads * kv_rank] and [n, heads * rope] -> [n, heads * kv_rank]
  static constexpr std::string_view key = "attention";
  Tensor q, q_rope;
  float scale;                   // of scores
  std::optional<Tensor> tokens;  // of SelectTokens, which alone are read
  PassRef pass;
  Cache cache;
  int layer;
  Out y;
  FIELDS(q, q_rope, scale, tokens, pass, cache, layer, y)
};
// Sparse attention (Indexer). IndexAppend rotates the indexer's queries into y and puts its rotated key beside the
// row's latent: q [n, heads * dim] -> [n, heads * dim], k [n, dim].
struct IndexAppend {
  static constexpr std::string_view key = "index_append";
  Tensor q, k;
  Rope rope;
  PassRef pass;
  Cache cache;
  int layer;
  Out y;
  FIELDS(q, k, rope, pass, cache, layer, y)
};
// Each row's best cache entries of those that it may attend to, ascending; -1 where there are fewer: q [n, heads *
// dim], weights [n, heads] -> int32 [n, top_k]. Of equal scores the earlier entry is better.
struct SelectTokens {
  static constexpr std::string_view key = "select_tokens";
  Tensor q, weights;
  PassRef pass;
  Cache cache;
  int layer;
  Out y;
  FIELDS(q, weights, pass, cache, layer, y)
};
// Expanded, among the rows of whole prompts, causal: q as LatentAppend's, kv [n, heads * (nope + value)] -> [n, heads *
// value].
struct ExpandedAttend {
  static constexpr std::string_view key = "attention.prefill";
  Tensor q, q_rope, kv, k_rope;
  LatentAttention dims;
  float scale;
  PassRef pass;
  Out y;
  FIELDS(q, q_rope, kv, k_rope, dims, scale, pass, y)
};
// Attention within each group of `group` rows, in both directions or causal; it has no cache and no positions.
struct GroupAttend {
  static constexpr std::string_view key = "group_attention";
  Tensor q, k, v;
  int group, head_dim;
  bool causal;
  Out y;
  FIELDS(q, k, v, group, head_dim, causal, y)
};
// Normalises each group of `width` columns, times silu(gate): [n, c] each; w [1, width]
struct GatedRmsNorm {
  static constexpr std::string_view key = "gated_rms_norm";
  Tensor x, gate;
  Weight w;
  int width;
  float epsilon;
  Out y;
  FIELDS(x, gate, w, width, epsilon, y)
};
// silu of each column's sum over the last rows of its sequence, weighted by w [kernel, c], the oldest first: [n, c] ->
// [n, c]
struct Convolve {
  static constexpr std::string_view key = "causal_convolution";
  Tensor x;
  Weight w;
  PassRef pass;
  StateCache cache;
  int layer;
  Out y;
  FIELDS(x, w, pass, cache, layer, y)
};
// The gated delta rule: qkv [n, convolved columns], whose queries and keys are normalised first; gates [n, 2 heads]: b,
// then a, where beta = sigmoid(b) and the decay is exp(-exp(a_log) softplus(a + dt_bias)) -> [n, value columns]
struct GatedDeltaRule {
  static constexpr std::string_view key = "delta_rule";
  Tensor qkv, gates;
  Weight a_log, dt_bias;
  PassRef pass;
  StateCache cache;
  int layer;
  Out y;
  FIELDS(qkv, gates, a_log, dt_bias, pass, cache, layer, y)
};
struct SumOverRanks {  // tensor parallelism: the sum of y over the ranks, in place
  static constexpr std::string_view key = "all_reduce";
  Out y;
  int ranks;
  FIELDS(y, ranks)
};
struct GatherOverRanks {  // tensor parallelism: the columns of all ranks side by side: [n, c] -> [n, c * ranks]
  static constexpr std::string_view key = "all_gather";
  Tensor x;
  int ranks;
  Out y;
  FIELDS(x, ranks, y)
};
// Data-parallel attention before and behind a layer of experts, on each of `ranks` devices. It dispatches the rows of
// all: [n, c] -> [n * ranks, c], by all_gather, or by all_to_all, where `copies` of each row are sent, to the devices
// of its experts, and the shape is the largest there can be. Or it combines what the experts made of them: [n * ranks,
// c] -> [n, c], by reduce_scatter or all_to_all.
struct ExchangeRows {
  static constexpr std::string_view key = "expert_dispatch";  // or "expert_combine"
  Tensor x;
  Collective collective;
  int ranks;
  double copies;
  bool combines;
  Out y;
  FIELDS(x, collective, ranks, copies, combines, y)
};

}  // namespace draftline
