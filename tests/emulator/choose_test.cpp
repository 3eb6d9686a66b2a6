// SPDX-License-Identifier: Apache-2.0
// Choosing tokens and growing trees against the CPU backend.
#include "tests/catch.h"
#include "tests/emulator/op_rig.h"

using namespace draftline;
using namespace draftline::cuda;

namespace {

// Logits with many equals: rounding to quarters makes ties, some are -infinity.
std::vector<float> tied_logits(Dice& dice, int rows, int columns, bool ties) {
  auto x = dice.normal<bf16>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns), 3);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (ties) x[i] = std::round(4 * x[i]) / 4;
    if (i % static_cast<std::size_t>(columns) > 0 && dice.below(9) == 0) x[i] = -INFINITY;
  }
  return x;
}

template <class T>
void compare_choices(int rows, int columns, int k, bool ties, int sms, unsigned seed) {
  INFO(rows << " rows of " << columns << ", " << k << " best, " << sms << " sms");
  Dice dice(seed);
  const auto x = tied_logits(dice, rows, columns, ties);
  Specification cpu(1);
  const Tensor logits = cpu.floats(x, columns);
  const Tensor best = cpu.keep(cpu.ops.argmax(logits));
  const TopK top = cpu.ops.top_k(logits, k);
  const Tensor ids = cpu.keep(top.ids), log_probs = cpu.keep(top.log_probs);
  cpu.ops.flush();

  const Array<T> data(x, columns);
  const Array<int> best_data(rows, 1), ids_data(rows, k);
  const Array<float> log_probs_data(rows, k);
  const Stream stream;
  OpRunner d(stream);
  d.with.multiprocessors = sms;
  const Argmax argmax{d(data), d(best_data)};
  const TopK top_k{d(data), d(ids_data), d(log_probs_data)};
  const Workspace work(std::max(d.scratch_bytes<T>(argmax), d.scratch_bytes<T>(top_k)));
  d.with.scratch = work.scratch();
  for (int again = 0; again < 2; ++again) {
    d.run<T>(argmax);
    d.run<T>(top_k);
    stream.wait();
    CHECK(best_data.raw() == cpu.ints_of(best));
    CHECK(ids_data.raw() == cpu.ints_of(ids));
    CHECK(distance(log_probs_data.floats(), cpu.floats_of(log_probs), 1) < 1e-5);  // the order of fp32 additions
  }
}

}  // namespace

TEST_CASE("the best and the k best of a row are the CPU's, ties by the lowest id") {
  NEEDS_DEVICE;
  const bool ties = GENERATE(false, true);
  const auto [rows, columns, k] = GENERATE(table<int, int, int>(
      {{1, 1, 1}, {3, 7, 3}, {5, 300, 10}, {2, 1031, 16}, {1, 20000, 40}, {7, 9001, 1}, {1, 33, 33}}));
  const int sms = GENERATE(1, 16);
  compare_choices<float>(rows, columns, k, ties, sms, 3);
  compare_choices<bf16>(rows, columns, k, ties, sms, 4);
}

TEST_CASE("there may be more rows of logits than counters, or than the second dimension of a grid has places") {
  NEEDS_DEVICE;
  const int rows = 70000, columns = 10, k = 2;  // captured, not run: it would take the emulator a minute
  const Stream stream;
  OpRunner d(stream);
  d.with.multiprocessors = 132;
  const Tensor logits = d(View<const bf16>{nullptr, rows, columns, columns});
  const TopK top_k{logits, d(View<int>{nullptr, rows, k, k}), d(View<float>{nullptr, rows, k, k})};
  const Workspace work(d.scratch_bytes<bf16>(top_k));
  d.with.scratch = work.scratch();
  Capture capture(stream);
  CHECK_NOTHROW(d.run<bf16>(Argmax{logits, d(View<int>{nullptr, rows, 1, 1})}));
  CHECK_NOTHROW(d.run<bf16>(top_k));
  CHECK(nodes_of(capture.end()) == 2);
}

TEST_CASE("a row of equal logits is chosen from by id alone") {
  NEEDS_DEVICE;
  const int columns = 5000, k = 12;
  const Array<bf16> x(std::vector<float>(static_cast<std::size_t>(2 * columns), -1.5F), columns);
  const Array<int> best(2, 1), ids(2, k);
  const Array<float> log_probs(2, k);
  const Stream stream;
  OpRunner d(stream);
  d.with.multiprocessors = 4;
  const TopK top_k{d(x), d(ids), d(log_probs)};
  const Workspace work(d.scratch_bytes<bf16>(top_k));
  d.with.scratch = work.scratch();
  d.run<bf16>(Argmax{d(x), d(best)});
  d.run<bf16>(top_k);
  stream.wait();
  CHECK(best.raw() == std::vector<int>{0, 0});
  for (int j = 0; j < k; ++j) {
    CHECK(ids.raw()[static_cast<std::size_t>(k + j)] == j);
    CHECK(log_probs.raw()[static_cast<std::size_t>(j)] == Approx(-std::log(columns)));
  }
}

TEST_CASE("ids of a draft vocabulary are mapped by their offsets") {
  NEEDS_DEVICE;
  const Array<int> ids(std::vector<int>{3, 0, 1, 2, 2, 3}, 2), offsets(std::vector<int>{5, 0, 100000, 7}, 1), y(3, 2);
  const Stream stream;
  OpRunner d(stream);
  d.run<float>(MapIds{d(ids), d.weight(offsets), d(y)});
  stream.wait();
  CHECK(y.raw() == std::vector<int>{10, 5, 1, 100002, 100002, 10});
}

TEST_CASE("rows behind accepted paths are the CPU's: items, own rows, and the filler") {
  NEEDS_DEVICE;
  // Two paths in 3 items each, of which the first 2 and all 3 are accepted: [0 1 | 6 | 8 8], [3 4 5 | 7 | 8].
  const int own = GENERATE(0, 1, 2), each = 5;
  const std::vector<int> last{1, 5};
  Specification cpu(2);
  const FollowPath f = cpu.ops.follow_path(cpu.ints(last), cpu.ops.uniform(2, 3), cpu.ops.uniform(2, each + own), own);
  const Tensor y = cpu.keep(f.y), newest = cpu.keep(f.newest);
  cpu.ops.flush();
  if (own == 1) {
    CHECK(cpu.ints_of(y) == std::vector<int>{0, 1, 6, 8, 8, 8, 3, 4, 5, 7, 8, 8});
    CHECK(cpu.ints_of(newest) == std::vector<int>{2, 9});
  }
  const Array<int> lasts(last, 1), from(std::vector<int>{0, 3, 6}, 1),
      to(std::vector<int>{0, each + own, 2 * (each + own)}, 1), rows(2 * (each + own), 1), newest_row(2, 1);
  const Stream stream;
  OpRunner d(stream);
  d.run<float>(FollowPath{d(lasts), d(from), d(to), 6, own, d(rows), d(newest_row)});
  stream.wait();
  CHECK(rows.raw() == cpu.ints_of(y));
  CHECK(newest_row.raw() == cpu.ints_of(newest));
}

TEST_CASE("a walk takes the candidate that fits the one before it") {
  NEEDS_DEVICE;
  // One column. Behind the root (1) the second candidate scores -1 + 1 * 2, the first 0; then the first of the next
  // slot scores -10 * 1 and the second -10 * -1, as -10 stands for what was taken. Another sequence goes the other way.
  const std::vector<int> ids{5, 7, 3, 4, 5, 7, 3, 4};
  const std::vector<float> log_probs{0, -1, 0, 0, 0, -1, 0, 0}, gate{1, 1, 1, 1}, root{1, -1},
      before{10, -10, 0, 0, 10, -10, 0, 0}, after{0, 2, 1, -1, 0, 2, 1, -1};
  const std::vector<int> expected{7, 4, 5, 3};
  Specification cpu(2);
  const TopK top{{}, Out(cpu.ints(ids, 2)), Out(cpu.floats(log_probs, 2))};
  const Tensor y = cpu.keep(cpu.ops.walk_candidates(top, cpu.floats(gate, 1), cpu.floats(root, 1),
                                                    cpu.floats(before, 1), cpu.floats(after, 1)));
  cpu.ops.flush();
  CHECK(cpu.ints_of(y) == expected);
  const Array<int> candidates(ids, 2), walked(4, 1);
  const Array<float> scores(log_probs, 2), gates(gate, 1), roots(root, 1), from(before, 1), to(after, 1);
  const Stream stream;
  OpRunner d(stream);
  d.run<float>(WalkCandidates{d(candidates), d(scores), d(gates), d(roots), d(from), d(to), d(walked)});
  stream.wait();
  CHECK(walked.raw() == expected);
}

TEST_CASE("a walk through many candidates is the CPU's") {
  NEEDS_DEVICE;
  const int sequences = 3, slots = GENERATE(1, 7), k = GENERATE(1, 16, 40), rank = GENERATE(6, 256);
  const int n = sequences * slots;
  Dice dice(9);
  const auto values = [&](int rows, int columns) {
    return dice.normal<float>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  };
  const auto log_probs = values(n, k), gate = values(n, rank), root = values(sequences, rank),
             before = values(n * k, rank), after = values(n * k, rank);
  std::vector<int> ids;
  for (int i = 0; i < n * k; ++i) ids.push_back(dice.below(1000));
  Specification cpu(sequences);
  const TopK top{{}, Out(cpu.ints(ids, k)), Out(cpu.floats(log_probs, k))};
  const Tensor y = cpu.keep(cpu.ops.walk_candidates(top, cpu.floats(gate, rank), cpu.floats(root, rank),
                                                    cpu.floats(before, rank), cpu.floats(after, rank)));
  cpu.ops.flush();
  const Array<int> candidates(ids, k), walked(n, 1);
  const Array<float> scores(log_probs, k), gates(gate, rank), roots(root, rank), from(before, rank), to(after, rank);
  const Stream stream;
  OpRunner d(stream);
  d.run<float>(WalkCandidates{d(candidates), d(scores), d(gates), d(roots), d(from), d(to), d(walked)});
  stream.wait();
  CHECK(walked.raw() == cpu.ints_of(y));
}

TEST_CASE("a convolution reads a row and those before it in its block, as on the CPU") {
  NEEDS_DEVICE;
  const int taps = GENERATE(1, 2, 3), block = GENERATE(1, 4), width = 4, columns = 300, rows = 8;
  Dice dice(3);
  const auto values = [&](int n, int c) {
    return dice.normal<float>(static_cast<std::size_t>(n) * static_cast<std::size_t>(c));
  };
  const auto x = values(rows, columns), delta = values(rows, taps * columns / width);
  Specification cpu(1);
  const Weight base = cpu.store.table("base", taps, columns);
  std::vector<float> kernel(static_cast<std::size_t>(taps * columns));
  cpu.weights.load("base", taps, columns, kernel);
  const Tensor y =
      cpu.keep(cpu.ops.grouped_conv(cpu.floats(x, columns), cpu.floats(delta, taps * columns / width), base, block));
  cpu.ops.flush();
  const auto got = cpu.floats_of(y);
  // Row 5 is the second of its block: it has what row 4 was two taps before it only where the block is longer.
  const auto tap = [&](int t, int c) {
    const auto at = static_cast<std::size_t>(5 * taps * columns / width + t * columns / width + c / width);
    return (kernel[static_cast<std::size_t>(t * columns + c)] + delta[at]) *
           x[static_cast<std::size_t>((5 - t) * columns + c)];
  };
  for (const int c : {0, 7, 299}) {
    const float wanted = tap(0, c) + (taps > 1 && block == 4 ? tap(1, c) : 0);
    CHECK(got[static_cast<std::size_t>(5 * columns + c)] == Approx(wanted).epsilon(1e-5).margin(1e-5));
  }
  const Array<float> rows_of_x(x, columns), deltas(delta, taps * columns / width), taps_of(kernel, columns),
      out(rows, columns);
  const Stream stream;
  OpRunner d(stream);
  d.run<float>(GroupedConv{d(rows_of_x), d(deltas), d.weight(taps_of), block, d(out)});
  stream.wait();
  CHECK(distance(out.floats(), got, 1) < 1e-6);
}

TEST_CASE("a list of candidates is clipped as on the CPU") {
  NEEDS_DEVICE;
  const float top_p = GENERATE(0.3F, 0.9F, 2.0F), share = GENERATE(0.0F, 0.2F);
  Dice dice(5);
  const int rows = 300, k = 6;
  std::vector<float> x;
  for (int r = 0; r < rows; ++r) {
    auto values = dice.normal<float>(k);
    std::sort(values.begin(), values.end(), std::greater<>());
    for (const float v : values) x.push_back(v - 2);
  }
  Specification cpu(1);
  const Tensor y = cpu.keep(cpu.ops.clip_top_k(cpu.floats(x, k), top_p, share));
  cpu.ops.flush();
  const Array<float> data(x, k), out(rows, k);
  const Stream stream;
  OpRunner d(stream);
  d.run<float>(ClipTopK{d(data), top_p, share, d(out)});
  stream.wait();
  CHECK(distance(out.floats(), cpu.floats_of(y), 1) == 0);
}

TEST_CASE("a dynamic tree is grown and its rows are selected as on the CPU") {
  NEEDS_DEVICE;
  const int sequences = GENERATE(1, 3), k = GENERATE(2, 7), size = GENERATE(2, 9, 40);
  const bool by_level = GENERATE(false, true), ties = GENERATE(false, true);
  const int width = k, levels = 4, words = 2;
  Dice dice(static_cast<unsigned>(11 + k + size));
  const auto log_probs_of = [&](int rows, int columns) {
    auto x = dice.normal<float>(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
    for (std::size_t i = 0; i < x.size(); ++i) {
      x[i] = -std::abs(x[i]);
      if (ties) x[i] = std::round(2 * x[i]) / 2;
      if (dice.below(6) == 0) x[i] = -INFINITY;
    }
    return x;
  };
  const auto tokens_of = [&](int n) {
    std::vector<int> t(static_cast<std::size_t>(n));
    for (int& v : t) v = dice.below(1000);
    return t;
  };
  Specification cpu(sequences);
  Ops& ops = cpu.ops;
  const Stream stream;

  // Level 0: `width` candidates under the root, all of them the frontier.
  const int first = sequences * width;
  std::vector<int> first_nodes, first_tree_mask, root = tokens_of(sequences);
  for (int r = 0; r < first; ++r) {
    first_nodes.push_back(r % width);
    for (int w = 0; w < words; ++w) first_tree_mask.push_back(w == 0 ? 1 << (r % width) : 0);
  }
  const auto first_tokens = tokens_of(first);
  const auto first_scores = log_probs_of(first, 1);
  const std::vector<int> no_parents(static_cast<std::size_t>(first), -1);
  std::vector<Tensor> tokens{cpu.ints(first_tokens, width)}, scores{cpu.floats(first_scores, width)},
      parents{cpu.ints(no_parents, width)};
  Tensor score = cpu.floats(first_scores, 1), node = cpu.ints(first_nodes),
         tree_mask = cpu.ints(first_tree_mask, words);
  std::vector<Array<int>> ints;  // a handle lives as long as its array
  std::vector<Array<float>> floats;
  ints.reserve(100);
  floats.reserve(100);
  OpRunner d(stream);
  const auto some_ints = [&](auto... of) { return d(ints.emplace_back(of...)); };
  const auto some_floats = [&](auto... of) { return d(floats.emplace_back(of...)); };
  std::vector<Tensor> d_tokens{some_ints(first_tokens, width)}, d_scores{some_floats(first_scores, width)},
      d_parents{some_ints(no_parents, width)};
  Tensor d_score = some_floats(first_scores, 1), d_node = some_ints(first_nodes, 1),
         d_tree_mask = some_ints(first_tree_mask, words);

  int pool = width, keep = width, frontier = width;
  for (int level = 1; level < levels; ++level) {
    const int rows = sequences * frontier;
    keep = std::max(1, width - level);
    const auto ids = tokens_of(rows * k);
    auto log_probs = log_probs_of(rows, k);
    const TopK top{{}, cpu.ints(ids, k), cpu.floats(log_probs, k)};
    const auto e = ops.expand_tree(top, {score, node, tree_mask}, {frontier, keep, pool, 3 * level});
    const ExpandTree v{.ids = some_ints(ids, k),
                       .log_probs = some_floats(log_probs, k),
                       .score = d_score,
                       .node = d_node,
                       .tree_mask = d_tree_mask,
                       .width = frontier,
                       .keep = keep,
                       .first_node = pool,
                       .tail = 3 * level,
                       .tokens = some_ints(sequences, frontier * k),
                       .scores = some_floats(sequences, frontier * k),
                       .parents = some_ints(sequences, frontier * k),
                       .row = some_ints(sequences * keep, 1),
                       .token = some_ints(sequences * keep, 1),
                       .next_score = some_floats(sequences * keep, 1),
                       .next_node = some_ints(sequences * keep, 1),
                       .next_tree_mask = some_ints(sequences * keep, words)};
    d.run<float>(v);
    stream.wait();
    tokens.push_back(cpu.keep(e.tokens));
    scores.push_back(cpu.keep(e.scores));
    parents.push_back(cpu.keep(e.parents));
    const Tensor row = cpu.keep(e.row), token = cpu.keep(e.token);
    score = cpu.keep(e.next_score);
    node = cpu.keep(e.next_node);
    tree_mask = cpu.keep(e.next_tree_mask);
    ops.flush();
    const auto values = [&](const Tensor& t) {
      std::vector<int> got(static_cast<std::size_t>(t.rows) * static_cast<std::size_t>(t.cols));
      must(cudaMemcpy(got.data(), d.address(t), sizeof(int) * got.size(), cudaMemcpyDeviceToHost), "copying");
      return got;
    };
    INFO("level " << level);
    CHECK(values(v.tokens) == cpu.ints_of(tokens.back()));
    CHECK(values(v.parents) == cpu.ints_of(parents.back()));
    CHECK(values(v.row) == cpu.ints_of(row));
    CHECK(values(v.token) == cpu.ints_of(token));
    CHECK(values(v.next_node) == cpu.ints_of(node));
    CHECK(values(v.next_tree_mask) == cpu.ints_of(tree_mask));
    CHECK(distance(floats.back().floats(), cpu.floats_of(score), 1) == 0);
    d_tokens.push_back(v.tokens), d_scores.push_back(v.scores), d_parents.push_back(v.parents);
    d_score = v.next_score, d_node = v.next_node, d_tree_mask = v.next_tree_mask;
    pool += frontier * k;
    frontier = keep;
  }
  if (!by_level && size > pool + 1) return;  // not a tree that a method asks for
  const auto s = ops.select_tree(tokens, scores, parents, cpu.ints(root), size, by_level);
  const Tensor y = cpu.keep(s.y), parent = cpu.keep(s.parent), line = cpu.keep(s.tree_mask);
  ops.flush();
  const Array<int> d_y(sequences * size, 1), d_parent(sequences * size, 1), d_line(sequences * size, s.tree_mask.cols),
      d_root(root, 1);
  d.run<float>(SelectTree{d_tokens, d_scores, d_parents, d(d_root), size, by_level, d(d_y), d(d_parent), d(d_line)});
  stream.wait();
  CHECK(d_y.raw() == cpu.ints_of(y));
  CHECK(d_parent.raw() == cpu.ints_of(parent));
  CHECK(d_line.raw() == cpu.ints_of(line));
}

TEST_CASE("candidates without a score come last in a dynamic tree, and are chosen where there is nothing else") {
  NEEDS_DEVICE;
  constexpr float kNone = std::numeric_limits<float>::quiet_NaN();
  const Stream stream;
  const Array<int> root(std::vector<int>{7}, 1), ids(std::vector<int>{10, 11, 12}, 3), node(std::vector<int>{0}, 1),
      mask(std::vector<int>{1}, 1);
  const Array<float> score(std::vector<float>{0}, 1), log_probs(std::vector<float>{kNone, -1, -2}, 3);

  const Array<int> tokens(1, 3), parents(1, 3), row(2, 1), token(2, 1), next_node(2, 1), next_mask(2, 1);
  const Array<float> scores(1, 3), next_score(2, 1);
  OpRunner d(stream);
  d.run<float>(ExpandTree{.ids = d(ids),
                          .log_probs = d(log_probs),
                          .score = d(score),
                          .node = d(node),
                          .tree_mask = d(mask),
                          .width = 1,
                          .keep = 2,
                          .first_node = 1,
                          .tail = 1,
                          .tokens = d(tokens),
                          .scores = d(scores),
                          .parents = d(parents),
                          .row = d(row),
                          .token = d(token),
                          .next_score = d(next_score),
                          .next_node = d(next_node),
                          .next_tree_mask = d(next_mask)});
  stream.wait();
  CHECK(token.raw() == std::vector<int>{11, 12});
  CHECK(next_node.raw() == std::vector<int>{2, 3});

  // Two levels: 20 is the child of 10, neither has a score; 21 is the child of 11.
  const Array<int> first_parents(std::vector<int>{-1, -1, -1}, 3), children(std::vector<int>{20, 21}, 2),
      children_parents(std::vector<int>{0, 1}, 2);
  const Array<float> children_scores(std::vector<float>{kNone, -1.5F}, 2);
  const auto select = [&](int size) {
    const Array<int> y(size, 1), parent(size, 1), tree_mask(size, 1);
    d.run<float>(SelectTree{.tokens = {d(ids), d(children)},
                            .scores = {d(log_probs), d(children_scores)},
                            .parents = {d(first_parents), d(children_parents)},
                            .root = d(root),
                            .size = size,
                            .by_level = false,
                            .y = d(y),
                            .parent = d(parent),
                            .tree_mask = d(tree_mask)});
    stream.wait();
    return std::pair(y.raw(), parent.raw());
  };
  CHECK(select(4) == std::pair(std::vector<int>{7, 11, 12, 21}, std::vector<int>{-1, 0, 0, 1}));
  CHECK(select(6) == std::pair(std::vector<int>{7, 10, 11, 12, 20, 21}, std::vector<int>{-1, 0, 0, 0, 1, 2}));
}
