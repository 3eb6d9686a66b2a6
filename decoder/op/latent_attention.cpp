// SPDX-License-Identifier: Apache-2.0
#include "decoder/op/latent_attention.h"

#include "decoder/tape.h"
#include "model/kernels/cpu_time.h"

namespace draftline {

Kernel LatentAppend::work(const Tape& tape) const {
  const Pass& p = tape.pass(pass);
  const Bytes rotated = q_rope.bytes(),
              lines = cpu_lines_appended(p.rows.sequences(), p.rows.total, 1, cache.head_dim, cache.value_dim);
  return Copy{.read = rotated + latent.bytes() + shared_key.bytes() + p.index_bytes(),
              .written = rotated + k_rope.bytes() + bytes_of(cache.dtype, 1.0 * p.rows.total * cache.columns()),
              .op = ElementOp::rope_append,
              .elements = q_rope.elements() + k_rope.elements(),
              .format = q.dtype,
              .old_lines = lines};
}

static Kernel product_by_head(const Tensor& x, const Weight& w, const LatentAttention& l, int in, int out) {
  return Gemm{.rows = x.rows,
              .in = in,
              .out = out,
              .weights = w.dtype,
              .activations = x.dtype,
              .count = w.out / (l.nope_dim + l.value_dim)};
}

Kernel AbsorbQueries::work(const Tape&) const { return product_by_head(q, kv_b, dims, dims.nope_dim, dims.kv_rank); }

Kernel ExpandValues::work(const Tape&) const { return product_by_head(x, kv_b, dims, dims.kv_rank, dims.value_dim); }

std::string_view LatentAttend::key_in(const Tape& tape) const {
  const Pass& p = tape.pass(pass);
  return p.rows.prompts ? ExpandedAttend::key : attention_key(p);
}

Window LatentAttend::window_read() const {
  return tokens ? Window{.tokens = tokens->cols, .chosen = true} : cache.window;
}

Kernel LatentAttend::work(const Tape& tape) const {
  const Pass& p = tape.pass(pass);
  const bool gathers = tokens.has_value();  // then no rows meet the same keys
  return Attention{.sequences = gathers ? p.rows.total : p.rows.sequences(),
                   .rows = p.rows.total,
                   .widest = gathers ? 1 : p.rows.widest,
                   .heads = q.cols / cache.latent,
                   .kv_heads = 1,
                   .head_dim = cache.head_dim,
                   .cache = cache.dtype,
                   .activations = q.dtype,
                   .masked = !p.is_causal(),
                   .index_bytes = p.index_bytes() + (tokens ? tokens->bytes() : Bytes{}),
                   .value_dim = cache.latent,
                   .latent = true,
                   .gathers = gathers};
}

Kernel IndexAppend::work(const Tape& tape) const {
  const Pass& p = tape.pass(pass);
  return Copy{.read = q.bytes() + k.bytes() + p.index_bytes(),
              .written = y.bytes() + p.rows.total * cache.indexer->key_bytes(),
              .op = ElementOp::rope_append,
              .elements = 1.0 * p.rows.total * (q.cols / k.cols + 1) * rope.columns,
              .format = q.dtype,
              .old_lines = cpu_lines_appended(p.rows.sequences(), p.rows.total, 1, k.cols, 0)};
}

Kernel SelectTokens::work(const Tape& tape) const {
  const Pass& p = tape.pass(pass);
  return Attention{.sequences = p.rows.sequences(),
                   .rows = p.rows.total,
                   .widest = p.rows.widest,
                   .heads = weights.cols,
                   .kv_heads = 1,
                   .head_dim = cache.indexer->head_dim,
                   .cache = cache.indexer->keys,
                   .activations = q.dtype,
                   .masked = !p.is_causal(),
                   .index_bytes = p.index_bytes() + weights.bytes(),
                   .value_dim = y.cols,
                   .key_bytes = cache.indexer->key_bytes()};
}

Kernel ExpandedAttend::work(const Tape& tape) const {  // every head reads the shared part of its key anew
  const Pass& p = tape.pass(pass);
  const int heads = kv.cols / (dims.nope_dim + dims.value_dim);
  return Attention{.sequences = p.rows.sequences(),
                   .rows = p.rows.total,
                   .widest = p.rows.widest,
                   .heads = heads,
                   .kv_heads = heads,
                   .head_dim = dims.nope_dim + dims.rope_dim,
                   .cache = kv.dtype,
                   .activations = q.dtype,
                   .index_bytes = p.index_bytes(),
                   .value_dim = dims.value_dim,
                   .expanded = true};
}

}  // namespace draftline
