// SPDX-License-Identifier: Apache-2.0
// Verification on the device by the rules of decoder/verify: one CTA walks down the tree of one sequence.
#include "core/errors.h"
#include "decoder/cuda/runtime/on_device.h"
#include "decoder/cuda/sampling/accept.cuh"
#include "decoder/cuda/sampling/distribution.cuh"

namespace draftline::cuda {

namespace {

constexpr int kGreedyThreads = 64;

// The trees of all sequences. cu_seqlens [sequences + 1]: the first row of each; parents: a row of the same sequence,
// -1 for the root, -2 for a mask row.
struct TreesView {
  View<const int> tokens, parents, cu_seqlens;
};
// path, next [sequences * (depth + 1)]: padding repeats the last row; the rest [sequences].
struct VerdictView {
  int *path, *next, *counts, *last, *last_row, *bonus;
  int depth;
};

struct Tree {  // of one sequence
  const int *tokens, *parents;
  int first, rows;
  __device__ Tree(const TreesView& t, int sequence)
      : first(*t.cu_seqlens.row(sequence)), rows(*t.cu_seqlens.row(sequence + 1) - first) {
    tokens = t.tokens.row(first);
    parents = t.parents.row(first);
  }
};

// Writes the path to `row`; one thread runs it. next_token(row, following) is the token that follows a row of the path;
// `following` is the next row of the path, or -1.
template <class NextToken>
__device__ void put_verdict(const VerdictView& v, int b, const Tree& tree, int row, int bonus, NextToken next_token) {
  const int base = b * (v.depth + 1);
  int count = 0;
  for (int r = row; r >= 0; r = tree.parents[r]) ++count;
  count = min(count, v.depth + 1);
  int following = -1;
  for (int r = row, j = count - 1; j >= 0; following = r, r = tree.parents[r], --j) {
    v.path[base + j] = tree.first + r;
    v.next[base + j] = next_token(r, following);
  }
  for (int j = count; j <= v.depth; ++j) {
    v.path[base + j] = v.path[base + count - 1];
    v.next[base + j] = v.next[base + count - 1];
  }
  v.counts[b] = count;
  v.last[b] = base + count - 1;
  v.last_row[b] = tree.first + row;
  v.bonus[b] = bonus;
}

// Finds the deepest row whose whole path was predicted; of equally deep ones the first.
__global__ void verify_greedy_kernel(View<const int> predicted, TreesView trees, VerdictView verdict) {
  const int b = block_x();
  const Tree tree(trees, b);
  if (tree.rows == 0) return;
  const int* expected = predicted.row(tree.first);
  Ranked best = 0;
  for (int row = thread_x(); row < tree.rows; row += kGreedyThreads) {
    int depth = 0, r = row;
    for (; r > 0 && tree.parents[r] >= 0 && tree.tokens[r] == expected[tree.parents[r]]; r = tree.parents[r]) ++depth;
    if (r == 0) best = Largest{}(best, ranked(to_float(depth), row));
  }
  best = block_reduce<kGreedyThreads>(best, Largest{});
  if (threadIdx.x != 0) return;
  const int row = id_of(best);
  put_verdict(verdict, b, tree, row, expected[row], [&](int r, int) { return expected[r]; });
}

// Finds the rows whose parent survived in level depth - 1, in order; one warp runs it. `marks`: the level in which a
// row survived, or -1.
__device__ inline int children_of_level(const Tree& tree, const int* marks, int depth, int* children) {
  int count = 0;
  for (int base = 1; base < tree.rows; base += 32) {
    const int row = base + lane_of();
    const bool child = row < tree.rows && tree.parents[row] >= 0 && marks[tree.parents[row]] == depth - 1;
    const unsigned all = __ballot_sync(kWarp, child ? 1 : 0);
    const int at = count + __popc(all & ((1U << lane_of()) - 1));
    if (child && at < kMostSiblings) children[at] = row;
    count += __popc(all);
  }
  return min(count, kMostSiblings);
}

template <class T>
__global__ void __launch_bounds__(kMostThreads, 1)
    verify_sampled_kernel(View<const T> logits, TreesView trees, View<const float> q, AcceptRule rule,
                          BatchSlotsView slots, Sampling sampling, std::uint64_t seed, int* all_marks,
                          VerdictView verdict) {
  __shared__ int children[kMostSiblings], tokens[kMostSiblings], count, following;
  __shared__ Rejected rejected;
  const int b = block_x();
  const Tree tree(trees, b);
  if (tree.rows == 0) return;
  int* marks = all_marks + tree.first;
  for (int row = thread_x(); row < tree.rows; row += threads()) marks[row] = row == 0 ? 0 : -1;
  __syncthreads();
  const std::uint64_t sequence_id = *slots.ids.row(b);
  const int length = *slots.lengths.row(b);
  int level_first = 0, bonus = 0;
  for (int depth = 1;; ++depth) {
    if (warp_of() == 0) {
      const int n = children_of_level(tree, marks, depth, children);
      __syncwarp();
      for (int i = lane_of(); i < n; i += 32) tokens[i] = tree.tokens[children[i]];
      if (lane_of() == 0) count = n, following = -1;
    }
    __syncthreads();
    const int siblings = count;
    const Distribution<T> p(logits.row(tree.first + level_first), logits.cols, sampling);
    const auto uniform = [&](int trial) { return uniform_at(seed, sequence_id, length + depth, 1 + trial); };
    const auto drafted = [&](int child) -> const float* { return q.row(tree.first - b + children[child] - 1); };
    const Decision decision = decide(p, rule, siblings, tokens, drafted, rejected, uniform);
    bonus = decision.token;
    if (!decision.accepted) break;
    if (warp_of() == 0)
      for (int base = 0; base < siblings; base += 32) {
        const int i = base + lane_of();
        const bool survives = i < siblings && tokens[i] == decision.token;
        if (survives) marks[children[i]] = depth;
        const unsigned all = __ballot_sync(kWarp, survives ? 1 : 0);
        if (lane_of() == 0 && all != 0 && following < 0) following = children[base + __ffs(all) - 1];
        __syncwarp();
      }
    __syncthreads();
    level_first = following;
    __syncthreads();
  }
  if (threadIdx.x == 0)
    put_verdict(verdict, b, tree, level_first, bonus,
                [&](int, int next) { return next < 0 ? bonus : tree.tokens[next]; });
}

// Block verification (verify_block of decoder/verify): each sequence's rows are a chain.
template <class T>
__global__ void __launch_bounds__(kMostThreads, 1)
    verify_block_kernel(View<const T> logits, TreesView trees, View<const float> q, BatchSlotsView slots,
                        Sampling sampling, std::uint64_t seed, VerdictView verdict) {
  using W = typename Distribution<T>::W;
  const int b = block_x();
  const Tree tree(trees, b);
  if (tree.rows == 0) return;
  const int n = tree.rows - 1;
  const std::uint64_t sequence_id = *slots.ids.row(b);
  const std::uint64_t position = *slots.lengths.row(b) + 1;
  const auto uniform = [&](int trial) { return uniform_at(seed, sequence_id, position, 1 + trial); };
  const auto drafted = [&](int row) { return q.row(tree.first - b + row); };
  const auto norm_of = [&](const float* weights) {
    return 1 / block_sum<double>(
                   logits.cols, [](int, float w) { return w; }, weights);
  };
  // What is left of p after a row: the part of reached * p above q. `v`, `w`: the token's logit and its weight in q.
  const auto residual = [](const Distribution<T>& p, double norm, double reached, int t, float v, float w) -> W {
    const W left = static_cast<W>(reached) * p.probability(t, v) - static_cast<W>(w) * static_cast<W>(norm);
    return left > W(0) ? left : W(0);
  };
  double reached = 1, reached_by_path = 1;
  int last = 0;
  for (int row = 0; row <= n; ++row) {
    const Distribution<T> p(logits.row(tree.first + row), logits.cols, sampling);
    const float* weights = row < n ? drafted(row) : nullptr;
    const double norm = row < n ? norm_of(weights) : 0;
    if (row > 0) {
      double accepted = reached;
      if (row < n) {
        const double left = block_sum<W>(
            p.n, [&](int t, float v, float w) { return residual(p, norm, reached, t, v, w); }, p.x, weights);
        accepted = left + (1 - reached) > 0 ? left / (left + (1 - reached)) : 1;
      }
      if (uniform(row - 1) < accepted) last = row, reached_by_path = reached;
    }
    if (row < n) {
      const int token = tree.tokens[row + 1];
      const W have = static_cast<W>(weights[token]) * static_cast<W>(norm);
      reached = fmin(1.0, reached * p.probability(token) / have);
    }
    __syncthreads();
  }

  const Distribution<T> p(logits.row(tree.first + last), logits.cols, sampling);
  const float* weights = last < n ? drafted(last) : nullptr;
  const double norm = last < n ? norm_of(weights) : 0;
  bool whole = last == n;
  const auto weight = [&](int t, float v, float w) -> W {
    return whole ? p.probability(t, v) : residual(p, norm, reached_by_path, t, v, w);
  };
  double sum = block_sum<W>(p.n, weight, p.x, weights);
  if (!(sum > 0)) {  // p equals q but for rounding
    whole = true;
    sum = block_sum<W>(p.n, weight, p.x, weights);
  }
  const int bonus = block_locate(p.n, uniform(n) * sum, weight, p.x, weights);
  if (threadIdx.x == 0)
    put_verdict(verdict, b, tree, last, bonus, [&](int, int next) { return next < 0 ? bonus : tree.tokens[next]; });
}

// The probability that a draft must exceed (typical) or reach (loss limit).
template <class T>
__device__ double least_probability(const Distribution<T>& p, const Relaxed& rule) {
  if (rule.kind == Relaxed::Kind::loss_limit) return exp(-rule.epsilon);
  using W = typename Distribution<T>::W;
  constexpr W kInsideLog = static_cast<W>(1e-5);  // Medusa's own code adds this inside the logarithm of its entropy
  const double entropy = -p.sum_of([&](int i, float logit) -> W {
    const W v = p.probability(i, logit);
    if constexpr (std::is_same_v<W, double>) return v * log(v + kInsideLog);
    else return v * logf(v + kInsideLog);
  });
  return fmin(rule.epsilon, rule.delta * exp(-entropy));
}

template <class T>
__global__ void __launch_bounds__(kMostThreads, 1)
    verify_relaxed_kernel(View<const T> logits, TreesView trees, Sampling sampling, Relaxed rule, int* all_marks,
                          double* all_likelihoods, VerdictView verdict) {
  __shared__ int best_row;
  const int b = block_x();
  const Tree tree(trees, b);
  if (tree.rows == 0) return;
  int* marks = all_marks + tree.first;
  double* likelihood = all_likelihoods + tree.first;
  for (int row = thread_x(); row < tree.rows; row += threads()) {
    marks[row] = row == 0 ? 0 : -1;
    likelihood[row] = 0;
  }
  __syncthreads();
  const bool typical = rule.kind == Relaxed::Kind::typical;
  const Sampling unwarped{1, 0, 1};
  int depth = 0;
  for (bool more = true; more; ++depth) {
    more = false;
    for (int row = 0; row < tree.rows; ++row) {
      if (marks[row] != depth) continue;
      bool mine = false;
      for (int child = row + 1 + thread_x(); child < tree.rows; child += threads())
        mine = mine || tree.parents[child] == row;
      if (block_reduce(mine ? 1 : 0, Largest{}) == 0) continue;
      const Distribution<T> p(logits.row(tree.first + row), logits.cols, typical ? sampling : unwarped);
      const double least = least_probability(p, rule);
      bool passed = false;
      for (int child = row + 1 + thread_x(); child < tree.rows; child += threads()) {
        if (tree.parents[child] != row) continue;
        const double have = p.probability(tree.tokens[child]);
        if (typical ? !(have > least) : !(have >= least)) continue;
        marks[child] = depth + 1;
        likelihood[child] = likelihood[row] + log(have);
        passed = true;
      }
      more = block_reduce(passed ? 1 : 0, Largest{}) != 0 || more;
    }
  }
  if (threadIdx.x == 0) {
    best_row = -1;
    for (int row = 0; row < tree.rows; ++row)
      if (marks[row] == depth - 1 && (best_row < 0 || likelihood[row] > likelihood[best_row])) best_row = row;
  }
  __syncthreads();
  const Distribution<T> p(logits.row(tree.first + best_row), logits.cols, Sampling{});
  if (threadIdx.x == 0)
    put_verdict(verdict, b, tree, best_row, p.best,
                [&](int, int next) { return next < 0 ? p.best : tree.tokens[next]; });
}

// One CTA for each sequence, whose threads share the rows.
__global__ void force_accepted_kernel(View<const int> predicted, TreesView trees, View<const int> wanted,
                                      int vocabulary, View<int> y) {
  const int b = block_x(), me = thread_x();
  const int first = trees.cu_seqlens.row(b)[0], n = trees.cu_seqlens.row(b + 1)[0] - first;
  const auto parent = [&](int r) { return trees.parents.row(first + r)[0]; };
  const auto token = [&](int r) { return trees.tokens.row(first + r)[0]; };
  const auto depth = [&](int r) {
    if (parent(r) < -1) return -1;
    int d = 0;
    while (parent(r) >= 0) {
      r = parent(r);
      ++d;
    }
    return d;
  };

  int deepest = 0;
  for (int r = me; r < n; r += kGreedyThreads) deepest = max(deepest, depth(r));
  deepest = block_reduce<kGreedyThreads>(deepest, Largest{});
  const int goal = max(0, min(wanted.row(b)[0] - 1, deepest));
  int not_leaf = -n;  // the first row of that depth, negated
  for (int r = me; r < n; r += kGreedyThreads)
    if (depth(r) == goal) not_leaf = max(not_leaf, -r);
  const int leaf = -block_reduce<kGreedyThreads>(not_leaf, Largest{});

  for (int r = me; r < n; r += kGreedyThreads) {
    int choice = predicted.row(first + r)[0];
    if (parent(r) >= -1) {
      for (int tries = 0; tries < vocabulary; ++tries) {
        bool drafted = false;
        for (int c = r + 1; c < n; ++c) drafted = drafted || (parent(c) == r && token(c) == choice);
        if (!drafted) break;
        choice = (choice + 1) % vocabulary;
      }
      for (int on_path = leaf; parent(on_path) >= 0; on_path = parent(on_path))
        if (parent(on_path) == r) choice = token(on_path);
    }
    y.row(first + r)[0] = choice;
  }
}

template <class T, class O>
TreesView trees_of(const OnDevice<T>& d, const O& o) {
  return {d.ids(o.tokens), d.ids(o.parents), d.ids(o.cu_seqlens)};
}
template <class T, class O>
VerdictView verdict_of(const OnDevice<T>& d, const O& o) {
  const VerdictTensors& v = o.verdict;
  const auto data = [&](const Tensor& t) { return d.out_ids(t).data; };
  return {data(v.path), data(v.next), data(v.counts), data(v.last), data(v.last_row), data(v.bonus), o.depth};
}
std::size_t scratch_for(int rows) { return kCounterBytes + at(rows) * (sizeof(double) + sizeof(int)); }

}  // namespace

template <class T>
void run(const OnDevice<T>& d, const VerifyGreedy& o) {
  launch(verify_greedy_kernel, grid_of(o.cu_seqlens.rows - 1), grid_of(kGreedyThreads), 0, d.stream, d.ids(o.predicted),
         trees_of(d, o), verdict_of(d, o));
}

// Only the first 256 children of a node are judged; later ones count as not proposed.
template <class T>
void run(const OnDevice<T>& d, const VerifySampled& o) {
  check(d.scratch.bytes >= scratch_bytes(d, o), "verify: its scratch is too small");
  const dim3 grid = grid_of(o.cu_seqlens.rows - 1), block = grid_of(threads_for(o.logits.cols));
  const View<const float> q = o.q ? d.floats(*o.q) : View<const float>{};
  if (o.rule == AcceptRule::block)
    launch(verify_block_kernel<T>, grid, block, 0, d.stream, d.in(o.logits), trees_of(d, o), q, d.view(o.slots),
           o.sampling, d.seed, verdict_of(d, o));
  else
    launch(verify_sampled_kernel<T>, grid, block, 0, d.stream, d.in(o.logits), trees_of(d, o), q, o.rule,
           d.view(o.slots), o.sampling, d.seed, behind_counters<int>(d.scratch), verdict_of(d, o));
}
template <class T>
void run(const OnDevice<T>& d, const VerifyRelaxed& o) {
  check(d.scratch.bytes >= scratch_bytes(d, o), "verify: its scratch is too small");
  auto* likelihoods = behind_counters<double>(d.scratch);
  launch(verify_relaxed_kernel<T>, grid_of(o.cu_seqlens.rows - 1), grid_of(threads_for(o.logits.cols)), 0, d.stream,
         d.in(o.logits), trees_of(d, o), o.sampling, o.rule, reinterpret_cast<int*>(likelihoods + o.logits.rows),
         likelihoods, verdict_of(d, o));
}
template <class T>
std::size_t scratch_bytes(const OnDevice<T>&, const VerifySampled& o) {
  return scratch_for(o.logits.rows);
}
template <class T>
std::size_t scratch_bytes(const OnDevice<T>&, const VerifyRelaxed& o) {
  return scratch_for(o.logits.rows);
}
template <class T>
void run(const OnDevice<T>& d, const ForceAccepted& o) {
  launch(force_accepted_kernel, grid_of(o.cu_seqlens.rows - 1), grid_of(kGreedyThreads), 0, d.stream,
         d.ids(o.predicted), trees_of(d, o), d.ids(o.wanted), o.vocabulary, d.out_ids(o.y));
}

FOR_FORMATS(void, run, VerifyGreedy);
FOR_FORMATS(void, run, VerifySampled);
FOR_FORMATS(void, run, VerifyRelaxed);
FOR_FORMATS(std::size_t, scratch_bytes, VerifySampled);
FOR_FORMATS(std::size_t, scratch_bytes, VerifyRelaxed);
FOR_FORMATS(void, run, ForceAccepted);

}  // namespace draftline::cuda
