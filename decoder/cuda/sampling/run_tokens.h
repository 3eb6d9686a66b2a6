// SPDX-License-Identifier: Apache-2.0
// Runs the choice of tokens, and the growth of trees of them.
#pragma once
#include "decoder/cuda/runtime/on_device.h"
#include "decoder/cuda/sampling/choose.h"
#include "decoder/cuda/sampling/sample.h"
#include "decoder/cuda/sampling/trees.h"

namespace draftline::cuda {

template <class T>
void run_op(const OnDevice<T>& d, const Argmax& o) {
  argmax(d.in(o.x), d.multiprocessors(), d.scratch(), d.out_ids(o.y), d.stream);
}
template <class T>
std::size_t scratch_of(const OnDevice<T>& d, const Argmax& o) {
  return choose_scratch(o.x.rows, o.x.cols, 1, d.multiprocessors());
}
template <class T>
void run_op(const OnDevice<T>& d, const TopK& o) {
  top_k(d.in(o.logits), d.multiprocessors(), d.scratch(), d.out_ids(o.ids), d.out_floats(o.log_probs), d.stream);
}
template <class T>
std::size_t scratch_of(const OnDevice<T>& d, const TopK& o) {
  return choose_scratch(o.logits.rows, o.logits.cols, o.ids.cols, d.multiprocessors());
}

template <class T, class O>
SampleView<T> draw_of(const OnDevice<T>& d, const O& o) {
  return {.logits = d.in(o.logits),
          .slots = d.view(o.slots),
          .sampling = o.sampling,
          .seed = d.s.options.seed,
          .ahead = o.ahead,
          .tokens = d.out_ids(o.tokens),
          .q = d.out_floats(o.q)};
}
template <class T>
void run_op(const OnDevice<T>& d, const Sample& o) {
  sample(draw_of(d, o), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const SampleChildren& o) {
  sample_children(draw_of(d, o), o.replaced, d.stream);
}

template <class T>
void run_op(const OnDevice<T>& d, const MapIds& o) {
  map_ids(d.ids(o.ids), d.s.whole_numbers(o.offsets), d.out_ids(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const ClipTopK& o) {
  clip_top_k(d.floats(o.log_probs), o.top_p, o.least_share, d.out_floats(o.y), d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const WalkCandidates& o) {
  walk_candidates<T>({.ids = d.ids(o.ids),
                      .log_probs = d.floats(o.log_probs),
                      .gate = d.in(o.gate),
                      .root = d.in(o.root),
                      .before = d.in(o.before),
                      .after = d.in(o.after),
                      .y = d.out_ids(o.y)},
                     d.stream);
}

template <class T>
void run_op(const OnDevice<T>& d, const ExpandTree& o) {
  expand_tree({.ids = d.ids(o.ids),
               .log_probs = d.floats(o.log_probs),
               .score = d.floats(o.score),
               .node = d.ids(o.node),
               .tree_mask = d.ids(o.tree_mask),
               .width = o.width,
               .keep = o.keep,
               .first_node = o.first_node,
               .tail = o.tail,
               .tokens = d.out_ids(o.tokens),
               .scores = d.out_floats(o.scores),
               .parents = d.out_ids(o.parents),
               .row = d.out_ids(o.row),
               .token = d.out_ids(o.token),
               .next_score = d.out_floats(o.next_score),
               .next_node = d.out_ids(o.next_node),
               .next_tree_mask = d.out_ids(o.next_tree_mask)},
              d.stream);
}
template <class T>
void run_op(const OnDevice<T>& d, const SelectTree& o) {
  std::vector<TreeLevel> levels;
  for (std::size_t i = 0; i < o.tokens.size(); ++i)
    levels.push_back({d.ids(o.tokens[i]), d.floats(o.scores[i]), d.ids(o.parents[i])});
  select_tree(levels, {d.ids(o.root), o.size, o.by_level, d.out_ids(o.y), d.out_ids(o.parent), d.out_ids(o.tree_mask)},
              d.stream);
}

}  // namespace draftline::cuda
