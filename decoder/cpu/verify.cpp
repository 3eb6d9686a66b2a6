// SPDX-License-Identifier: Apache-2.0
// Verification and sampling ops, which apply the rules of decoder/verify to the tensors of a batch. A random number is
// a function of the seed, the sequence, the position in its text and the purpose; batch and step do not matter.
#include "decoder/verify.h"
#include "core/int_indexed.h"

#include <algorithm>

#include "core/rng.h"
#include "decoder/cpu/backend.h"

namespace draftline {

namespace {

// Purposes of random numbers. The trials of a verification, and the draws of a tree's level, count up from them. So
// does a draft by how far it is ahead: block verification judges drafts beyond the rejected one, and drawing the same
// again at that position in the next step would repeat what was rejected.
constexpr std::uint64_t kVerification = 1, kChildDraw = std::uint64_t{1} << 32, kDraftDraw = std::uint64_t{1} << 33;

// Writes the verdict of one sequence to the op's results; padding repeats its last row.
struct Results {
  int *path, *next, *counts, *last, *last_row, *bonus;
  int depth;
  template <class NextToken>
  void put(int b, int first, const Verdict& v, NextToken next_token) const {
    const int base = b * (depth + 1), rows = count(v.path);
    check(rows <= depth + 1, "a path longer than the proposal's depth");
    for (int j = 0; j <= depth; ++j) {
      const auto i = at(std::min(j, rows - 1));
      path[base + j] = first + v.path[i];
      next[base + j] = next_token(i);
    }
    counts[b] = rows;
    last[b] = base + rows - 1;
    last_row[b] = first + v.path.back();
    bonus[b] = v.bonus;
  }
};

// `out`: the values of a tensor that is written.
template <class Verify, class ValuesOf>
Results results_of(const Verify& o, ValuesOf out) {
  const VerdictTensors& v = o.verdict;
  return {out(v.path), out(v.next), out(v.counts), out(v.last), out(v.last_row), out(v.bonus), o.depth};
}

struct Trees {  // of all sequences
  const int *tokens, *parents, *cu_seqlens;
  int sequences;
  // Calls f(b, first row, tree) for each.
  template <class F>
  void each(F f) const {
    for (int b = 0; b < sequences; ++b) {
      const int first = cu_seqlens[b];
      const auto n = at(cu_seqlens[b + 1] - first);
      f(b, first, TreeView{{tokens + first, n}, {parents + first, n}});
    }
  }
};
template <class Verify, class Ids>
Trees trees_of(const Verify& o, Ids ids) {
  return {ids(o.tokens), ids(o.parents), ids(o.cu_seqlens), o.cu_seqlens.rows - 1};
}

// The token after a row of a path: that of the next row, or the bonus.
auto token_after(const int* tokens, int first, const Verdict& v) {
  return [=, &v](std::size_t i) { return i + 1 < v.path.size() ? tokens[first + v.path[i + 1]] : v.bonus; };
}

}  // namespace

void CpuBackend::run(const VerifyGreedy& o) {
  const int* predicted = ids(o.predicted);
  const Trees trees = trees_of(o, [&](const Tensor& t) { return ids(t); });
  const Results results = results_of(o, [&](const Out& t) { return out_ids(t); });
  trees.each([&](int b, int first, const TreeView& tree) {
    const Verdict v = verify_greedy(tree, {predicted + first, at(tree.rows())});
    results.put(b, first, v, [&](std::size_t i) { return predicted[first + v.path[i]]; });
  });
}

void CpuBackend::run(const ForceAccepted& o) {
  const int* predicted = ids(o.predicted);
  const Trees trees = trees_of(o, [&](const Tensor& t) { return ids(t); });
  const int* wanted = ids(o.wanted);
  int* y = out_ids(o.y);
  trees.each([&](int b, int first, const TreeView& tree) {
    const auto n = at(tree.rows());
    force_accepted(tree, {predicted + first, n}, wanted[b], o.vocabulary, {y + first, n});
  });
}

void CpuBackend::run(const VerifySampled& o) {
  const float *logits = in(o.logits), *q = o.q ? in(*o.q) : nullptr;
  const Trees trees = trees_of(o, [&](const Tensor& t) { return ids(t); });
  const int *sequence_ids = ids(o.slots.ids), *lengths = ids(o.slots.lengths);
  const Results results = results_of(o, [&](const Out& t) { return out_ids(t); });
  trees.each([&](int b, int first, const TreeView& tree) {
    const MatrixView target{logits + std::ptrdiff_t{first} * o.logits.stride, tree.rows(), o.logits.cols,
                            o.logits.stride};
    MatrixView draft;
    if (q) draft = {q + std::ptrdiff_t{first - b} * o.q->stride, tree.rows() - 1, o.q->cols, o.q->stride};
    UniformCoin coin([&](int depth, int trial) {
      return uniform_at(options_.seed, sequence_ids[b], lengths[b] + depth, kVerification + trial);
    });
    const Verdict v = o.rule == AcceptRule::block
                          ? verify_block(tree, target, draft, o.sampling, coin)
                          : verify_sampled(tree, target, draft, o.sampling, decision_of(o.rule), coin);
    results.put(b, first, v, token_after(trees.tokens, first, v));
  });
}

void CpuBackend::run(const VerifyRelaxed& o) {
  const float* logits = in(o.logits);
  const Trees trees = trees_of(o, [&](const Tensor& t) { return ids(t); });
  const Results results = results_of(o, [&](const Out& t) { return out_ids(t); });
  trees.each([&](int b, int first, const TreeView& tree) {
    const MatrixView target{logits + std::ptrdiff_t{first} * o.logits.stride, tree.rows(), o.logits.cols,
                            o.logits.stride};
    const Verdict v = verify_relaxed(tree, target, o.sampling, o.rule);
    results.put(b, first, v, token_after(trees.tokens, first, v));
  });
}

void CpuBackend::run(const Sample& o) {
  const float* x = in(o.logits);
  const int *sequence_ids = ids(o.slots.ids), *lengths = ids(o.slots.lengths);
  int* tokens = out_ids(o.tokens);
  float* q = out(o.q);
  const auto n = at(o.logits.cols);
  for (int b = 0; b < o.logits.rows; ++b) {
    const double u = uniform_at(options_.seed, sequence_ids[b], lengths[b] + o.ahead, kDraftDraw + o.ahead);
    tokens[b] = draftline::sample({x + std::ptrdiff_t{b} * o.logits.stride, n}, o.sampling, u,
                                  {q + std::ptrdiff_t{b} * o.q.stride, n});
  }
}

void CpuBackend::run(const SampleChildren& o) {
  const float* x = in(o.logits);
  const int *sequence_ids = ids(o.slots.ids), *lengths = ids(o.slots.lengths);
  int* tokens = out_ids(o.tokens);
  float* q = out(o.q);
  const int draws = o.tokens.cols, width = o.logits.rows / o.slots.lengths.rows;
  const auto n = at(o.logits.cols);
  std::vector<double> p(n), u(at(draws));
  for (int r = 0; r < o.logits.rows; ++r) {
    const int b = r / width;
    warp({x + std::ptrdiff_t{r} * o.logits.stride, n}, o.sampling, p);
    float* row = q + std::ptrdiff_t{r} * o.q.stride;
    std::transform(p.begin(), p.end(), row, [](double v) { return single(v); });
    for (int i = 0; i < draws; ++i)
      u[at(i)] =
          uniform_at(options_.seed, sequence_ids[b], lengths[b] + o.ahead, kChildDraw + ((r % width) * draws + i));
    draw_siblings({row, n}, u, o.replaced, {tokens + r * draws, u.size()});
  }
}

}  // namespace draftline
