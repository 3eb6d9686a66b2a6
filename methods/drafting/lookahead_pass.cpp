// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/lookahead_pass.h"

#include <algorithm>

#include "core/int_indexed.h"

namespace draftline::methods {

void LookaheadPass::add(const Sequence& q, std::span<const int> text, const NgramWindow& window,
                        std::span<const Ngram> guesses) {
  const int before = count(text), start = count(tokens);
  trees.push_back(window_rows(shape, before, count(guesses)));
  begin(q, before, trees.back().rows());
  tokens.insert(tokens.end(), text.begin(), text.end());
  tokens.push_back(q.root);
  const auto levels = window.tokens();
  tokens.insert(tokens.end(), levels.begin(), levels.end());

  judge(q.root, -1, want(start + before), start);
  int judged_rows = 1;
  for (const Ngram& guess : guesses) {
    int parent = 0;
    for (const int token : guess) {
      const int row = count(tokens);
      tokens.push_back(token);
      judge(token, parent, want(row), row - before);
      parent = judged_rows++;
    }
    depth = std::max(depth, count(guess));
  }
  judged.rows.push_back(judged_rows);

  const int last_level = start + before + shape.rows() - shape.columns;
  for (int column = 0; column < shape.columns; ++column) outputs.push_back(want(last_level + column));
}

void LookaheadPass::add_finished(const Sequence& q) {
  begin(q, 0, 0);
  judge(q.root, -1, 0, count(tokens));
  judged.rows.push_back(1);
  outputs.insert(outputs.end(), at(shape.columns), 0);
}

void LookaheadPass::begin(const Sequence& q, int text, int own_rows) {
  rows.push_back(own_rows);
  lengths.push_back(q.cached);
  ends.push_back(q.cached + text);
  ahead.push_back(q.cached - q.length);
}

int LookaheadPass::want(int row) {
  wanted.push_back(row);
  return count(wanted) - 1;
}

void LookaheadPass::judge(int token, int parent, int wanted_index, int place_of_row) {
  judged.tokens.push_back(token);
  judged.parents.push_back(parent);
  judged.wanted.push_back(wanted_index);
  judged.place.push_back(place_of_row);
}

}  // namespace draftline::methods
