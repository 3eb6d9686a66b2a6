// SPDX-License-Identifier: Apache-2.0
#include "decoder/compressed_attention.h"

namespace draftline {

CompressedWeights make_compressed(WeightStore& store, const std::string& prefix, const CompressedAttention& a,
                                  int inputs) {
  const std::string p = prefix + "compressed.";
  const int group = a.q_columns() / a.output_groups;
  CompressedWeights w{.down = store.attention(p + "down", inputs, a.q_rank + a.head_dim),
                      .q_up = store.attention(p + "q_up", a.q_rank, a.q_columns()),
                      .q_norm = store.vector(p + "q_norm", a.q_rank),
                      .key_norm = store.vector(p + "key_norm", a.head_dim),
                      .sinks = store.vector(p + "sinks", a.heads),
                      .narrow = store.attention(p + "narrow", group, a.group_columns())};
  if (a.compression == 0) return w;
  const int entry = a.head_dim + (a.indexer ? a.indexer->head_dim : 0);
  w.compress = store.table(p + "compress", inputs, a.compressed_columns());
  w.places = store.table(p + "places", a.compression + 1, a.series() * entry);  // and the norm of an entry
  if (const auto& i = a.indexer) {
    w.index_queries = store.attention(p + "indexer.queries", a.q_rank, i->heads * i->head_dim);
    w.index_weights = store.table(p + "indexer.weights", inputs, i->heads);
  }
  return w;
}

Cache make_window_cache(Ops& ops, const CompressedAttention& a, int layers, int capacity) {
  return ops.cache_of({.layers = layers,
                       .kv_heads = 1,
                       .head_dim = a.head_dim,
                       .value_dim = a.head_dim,
                       .window = {.tokens = a.window},
                       .latent = a.head_dim},
                      capacity);
}

Cache make_entry_cache(Ops& ops, const CompressedAttention& a, int layers, int capacity) {
  return ops.cache_of({.layers = layers,
                       .kv_heads = 1,
                       .head_dim = a.head_dim,
                       .value_dim = a.head_dim,
                       .latent = a.head_dim,
                       .indexer = a.indexer,
                       .every = a.compression},
                      capacity);
}

Attention scores_of(const IndexScores& i, const Pass& p, DType activations) {
  return {.sequences = p.rows.sequences(),
          .rows = p.rows.total,
          .widest = p.rows.widest,
          .heads = i.heads,
          .kv_heads = 1,
          .head_dim = i.head_dim,
          .cache = i.keys,
          .activations = activations,
          .masked = !p.is_causal(),
          .index_bytes = p.index_bytes(),
          .value_dim = i.chosen,
          .key_bytes = i.key_bytes};
}

namespace {

// The pass of one layer, and what its kernels have alike.
struct CompressedPass {
  Ops& ops;
  const CompressedWeights& w;
  const CompressedAttention& a;
  const LayerPass& at;

  const Pass& pass() const { return ops.details(at.pass); }
  int rows() const { return pass().rows.total; }
  Copy moved(Bytes read, Bytes written) const { return {.read = read, .written = written}; }
  Tensor priced(std::string_view name, std::vector<Tensor> reads, Kernel kernel, Window window = {}) const {
    const Tensor y = reads.front();
    return ops.priced_alone({name, std::move(reads), {}, at.pass, std::move(kernel), window, y}, y.cols);
  }

  // Rotates a part of queries and of the key, and stores the key.
  Tensor rotated(Tensor q, Tensor key) const {
    const Bytes stored = bytes_of(at.cache.dtype, 1.0 * rows() * a.head_dim);
    Copy k = moved(q.bytes() + key.bytes() + pass().index_bytes(), q.bytes() + stored);
    k.op = ElementOp::rope_append;
    k.elements = q.elements() + key.elements();
    return priced("rope_append", {q, key}, k);
  }
  // Keeps a row's keys and their weights in 32 bits until its entry is full, and makes entries of them: each is made of
  // as many rows as it has series of tokens, so that every row is read once for each of its columns.
  void compress(Tensor keys) const {
    const Bytes kept = bytes_of(DType::fp32, keys.elements());
    const double entries = 1.0 * rows() / a.compression;
    const Bytes stored =
        entries * (bytes_of(at.cache.dtype, a.head_dim) + (a.indexer ? a.indexer->key_bytes() : Bytes{}));
    priced("index_append", {keys}, moved(keys.bytes() + kept + pass().index_bytes(), kept + stored));
  }
  // The entries that each row reads.
  std::optional<Tensor> chosen(Tensor y, Tensor q_latent) const {
    if (!a.indexer) return std::nullopt;
    const Indexer& i = *a.indexer;
    const Tensor q = ops.linear(q_latent, *w.index_queries), weights = ops.linear(y, *w.index_weights);
    const Tensor turned = priced("index_append", {q}, moved(q.bytes(), q.bytes()));
    Attention scores = scores_of({i.heads, i.head_dim, i.top_k, i.keys, i.key_bytes()}, pass(), y.dtype);
    scores.index_bytes += weights.bytes();
    return priced("select_tokens", {turned, weights}, scores, {.every = a.compression});
  }
  Tensor attended(Tensor q, std::optional<Tensor> entries) const {
    const Pass& p = pass();
    const int best = a.indexer ? a.indexer->top_k : 0;
    const bool gathers = a.compression > 0;  // by a list of entries for each row, as FlashMLA's sparse kernel does
    Window read{.tokens = a.window};
    if (a.compression > 0)
      read = {.tokens = best * a.compression, .chosen = best > 0, .every = a.compression, .recent = a.window};
    const Attention k{.sequences = gathers ? p.rows.total : p.rows.sequences(),
                      .rows = p.rows.total,
                      .widest = gathers ? 1 : p.rows.widest,
                      .heads = a.heads,
                      .kv_heads = 1,
                      .head_dim = a.head_dim,
                      .cache = at.cache.dtype,
                      .activations = q.dtype,
                      .masked = !p.is_causal(),
                      .index_bytes = p.index_bytes() + bytes_of(DType::int32, 1.0 * p.rows.total * best) +
                                     weight_bytes(w.sinks.dtype, w.sinks.out),
                      .value_dim = a.head_dim,
                      .latent = true,
                      .gathers = gathers};
    std::vector<Tensor> reads{q};
    if (entries) reads.push_back(*entries);
    return priced(attention_key(p), std::move(reads), k, read);
  }
};

}  // namespace

Tensor compressed_attention(Ops& ops, Tensor y, const CompressedWeights& w, const CompressedAttention& a,
                            const LayerPass& at, float epsilon) {
  const CompressedPass pass{ops, w, a, at};
  const Tensor down = ops.linear(y, w.down);
  const Tensor q_latent = ops.rms_norm(columns(down, 0, a.q_rank), w.q_norm, epsilon);
  const Tensor key = ops.rms_norm(columns(down, a.q_rank, a.head_dim), w.key_norm, epsilon);
  const Tensor q = ops.linear(q_latent, w.q_up);
  const Tensor rotated = pass.rotated(ops.rms_norm(q, {}, epsilon, a.head_dim), key);
  if (w.compress) pass.compress(ops.linear(y, *w.compress));
  const Tensor values = pass.attended(rotated, pass.chosen(y, q_latent));
  // The rotation of what stands for values is undone. A product for each group of heads follows.
  const Tensor turned = pass.priced("rope_append", {values}, pass.moved(values.bytes(), values.bytes()));
  const int group = a.q_columns() / a.output_groups;
  const Gemm narrow{.rows = y.rows,
                    .in = group,
                    .out = a.output_rank,
                    .weights = w.narrow.dtype,
                    .activations = y.dtype,
                    .count = a.output_groups};
  return ops.priced_alone({"linear.absorbed", {turned}, w.narrow, at.pass, narrow, {}, turned}, a.group_columns());
}

}  // namespace draftline
