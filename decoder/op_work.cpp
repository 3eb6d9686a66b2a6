// SPDX-License-Identifier: Apache-2.0
#include "decoder/op_work.h"

#include <algorithm>

#include "core/int_indexed.h"
#include "decoder/pass_span.h"

namespace draftline {

namespace {

// The bytes of an op that reads or writes every operand once, vectors of weights (norms, biases) among them.
template <class T>
Copy all_operands(const T& op, const Tape& tape) {
  Copy c;
  std::optional<Tensor> first;
  each_tensor(tape, op, [&](const Tensor& t, bool out) {
    (out ? c.written : c.read) += t.bytes();
    if (!first) first = t;
  });
  c.format = first->dtype;
  if constexpr (requires { T::element; }) {
    c.op = T::element;
    c.elements = first->elements();
  }
  if constexpr (requires { T::element_share; }) c.elements *= T::element_share;
  each_weight(op, [&](const Weight& w) { c.read += weight_bytes(w.dtype, w.elements()); });
  return c;
}

}  // namespace

Kernel kernel_of(const Op& op, const Tape& tape) {
  return std::visit(
      [&](const auto& o) -> Kernel {
        if constexpr (requires { o.work(tape); }) return o.work(tape);
        else return all_operands(o, tape);
      },
      op);
}

Window window_of(const Op& op) {
  return std::visit(
      [](const auto& o) {
        if constexpr (requires { o.window_read(); }) return o.window_read();
        else return Window{};
      },
      op);
}

Span span_of(const SegmentRun& run, int pass, std::span<const int> lengths, Window window) {
  const auto index = at(pass);
  const Pass& p = run.tape->passes[index];
  const auto &rows_each = run.rows[index], &ahead = run.ahead[index];
  Span s;
  for (std::size_t b = 0; b < rows_each.size(); ++b)
    s += span_of(rows_of(p, rows_each[b]), lengths[b] + (ahead.empty() ? 0 : ahead[b]), window);
  return s;
}

int verified_rows(const SegmentRun& run) {
  int rows = 0;
  for (std::size_t i = 0; i < run.tape->ops.size(); ++i)
    if (const PassRef p = pass_of(run.tape->ops[i]); p.index >= 0 && run.tape->phases[i] == Phase::verify)
      rows = std::max(rows, run.tape->pass(p).rows.widest);
  return rows;
}

void Totals::add(const SegmentRun& run, std::span<const int> lengths) {
  for (const Op& op : run.tape->ops) {
    const PassRef p = pass_of(op);
    const Span s = p.index < 0 ? Span{} : span_of(run, p.index, lengths, window_of(op));
    work += draftline::work(kernel_of(op, *run.tape), s);
    ++ops;
  }
  reads += run.waits;
}

}  // namespace draftline
