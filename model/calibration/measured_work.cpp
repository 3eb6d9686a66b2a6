// SPDX-License-Identifier: Apache-2.0
#include "model/calibration/measured_work.h"

#include <algorithm>

#include "model/kernels/cpu_time.h"

namespace draftline {

Gemm gemm_of(const MeasuredPoint& p, DType format) { return {p.at("rows"), p.at("in"), p.at("out"), format, format}; }

Attention attention_of(const MeasuredPoint& p, DType format) {
  Attention k;
  k.sequences = p.at("sequences");
  k.widest = p.at("rows");
  k.rows = k.sequences * k.widest;
  k.heads = p.at("heads");
  k.kv_heads = p.at("kv_heads");
  k.head_dim = p.at("head_dim");
  k.cache = k.activations = format;
  k.masked = p.at("tree") != 0;
  return k;
}

Span span_of(const MeasuredPoint& p) {
  const double sequences = p.at("sequences"), rows = p.at("rows"), context = p.at("context");
  const double own = p.at("tree") != 0 ? rows * rows : rows * (rows + 1) / 2;
  return {sequences * (rows * context + own), sequences * (context + rows)};
}

Copy copy_of(ElementOp op, const MeasuredPoint& p, DType format) {
  const double rows = p.at("rows") * p.at("sequences", 1);
  Copy c;
  c.op = op;
  c.format = format;
  if (op == ElementOp::rope_append) {
    const double dim = p.at("head_dim"), q = dim * p.at("heads"), kv = dim * p.at("kv_heads");
    c.read = c.written = bytes_of(format, rows * (q + 2 * kv));
    c.elements = rows * (dim + kv);  // angles; keys, each column of which has a line of its own
    c.old_lines = cpu_lines_appended(p.at("sequences", 1), static_cast<int>(rows), p.at("kv_heads"), p.at("head_dim"),
                                     p.at("head_dim"));
    return c;
  }
  const double columns = p.at("columns");
  c.read = bytes_of(format, rows * columns);
  c.written = c.read;
  if (op == ElementOp::argmax) c.written = bytes_of(DType::int32, rows);
  if (op == ElementOp::sample) c.written += bytes_of(DType::int32, rows);
  if (op == ElementOp::top_k) {
    const double chosen = rows * p.at("k");
    c.written = bytes_of(DType::int32, chosen) + bytes_of(format, chosen);
  }
  if (op == ElementOp::add || op == ElementOp::silu_mul) c.read += c.read;
  if (op == ElementOp::rms_norm) c.read += bytes_of(format, columns);
  if (op != ElementOp::add) c.elements = rows * columns;
  return c;
}

}  // namespace draftline
