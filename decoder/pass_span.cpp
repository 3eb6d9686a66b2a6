// SPDX-License-Identifier: Apache-2.0
#include "decoder/pass_span.h"

#include <algorithm>
#include <cmath>

#include "core/int_indexed.h"

namespace draftline {

namespace {

double first_key(Window w, double position) {
  if (w.tokens == 0) return 0;
  return w.chunked ? std::floor(position / w.tokens) * w.tokens : std::max(0.0, position - w.tokens + 1);
}

double triangle(double n) { return n * (n + 1) / 2; }

// Keys that the rows at positions 0 .. n - 1 see, all of them together.
double pairs_before(Window w, double n) {
  if (w.chunked) return std::floor(n / w.tokens) * triangle(w.tokens) + triangle(n - first_key(w, n));
  return triangle(std::min<double>(n, w.tokens)) + std::max(0.0, n - w.tokens) * w.tokens;
}

}  // namespace

PassRows rows_of(const Pass& p, int rows) { return {rows, p.tail, p.tree_mask || !p.causal}; }

Span span_of(const PassRows& p, double length, Window w) {
  const double n = p.rows, old = length + p.tail;
  if (p.rows == 0) return {};
  if (w.every > 1) {
    const Span tokens = span_of(p, length, {.tokens = w.tokens, .chosen = w.chosen});
    Span s{tokens.pairs / w.every, tokens.keys / w.every};
    return w.recent > 0 ? s += span_of(p, length, {.tokens = w.recent}) : s;
  }
  if (w.ring) return span_of(p, std::min<double>(length, w.tokens));
  if (w.chosen) {  // rows choose for themselves, but no token more than all of them
    const double pairs = p.masked ? n * std::min<double>(old + n, w.tokens)
                                  : pairs_before({w.tokens}, old + n) - pairs_before({w.tokens}, old);
    return {pairs, std::min(pairs, old + n)};
  }
  if (p.masked) {
    const double keys = old + n - first_key(w, length);
    return {n * keys, keys};
  }
  if (w.tokens == 0) return {n * old + n * (n + 1) / 2, old + n};
  return {pairs_before(w, old + n) - pairs_before(w, old), old + n - first_key(w, old)};
}

PassSpan::PassSpan(const SegmentRun& run, int pass) {
  const auto index = draftline::at(pass);
  const Pass& p = run.tape->passes[index];
  const auto &rows_each = run.rows[index], &ahead = run.ahead[index];
  for (std::size_t b = 0; b < rows_each.size(); ++b) {
    const Alike one{rows_of(p, rows_each[b]), ahead.empty() ? 0 : ahead[b], 1};
    if (one.rows.rows == 0) continue;
    const auto same = std::find_if(alike_.begin(), alike_.end(),
                                   [&](const Alike& a) { return a.rows == one.rows && a.ahead == one.ahead; });
    if (same == alike_.end()) alike_.push_back(one);
    else ++same->sequences;
  }
}

Span PassSpan::at(double length, Window w) const {
  Span sum;
  for (const Alike& a : alike_) {
    const Span one = span_of(a.rows, length + a.ahead, w);
    sum += {a.sequences * one.pairs, a.sequences * one.keys};
  }
  return sum;
}

}  // namespace draftline
