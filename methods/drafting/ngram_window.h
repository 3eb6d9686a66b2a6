// SPDX-License-Identifier: Apache-2.0
// The state of a sequence in lookahead decoding (Fu et al. 2024, section 3): a window of guessed tokens, `columns` wide
// and `ngram` - 1 levels deep, whose diagonals give n-grams, and a pool of these n-grams.
#pragma once
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "core/int_indexed.h"
#include "decoder/token_tree.h"

namespace draftline::methods {

using Ngram = std::vector<int>;  // the ngram - 1 tokens after the key, which is the first token of the n-gram

class NgramPool {
 public:
  explicit NgramPool(int most_per_key) : most_(at(most_per_key)) {}
  void add(int key, Ngram);  // as the newest of its key; the oldest is removed if there are too many
  std::vector<Ngram> newest(int key, int most) const;  // newest first
  // said[i]: the target's token after drafts[i]. For each i from `from` on, adds said[i, i + length) under the key
  // drafts[i] if all but its last token equal the drafts after drafts[i].
  void add_agreed(std::span<const int> drafts, std::span<const int> said, int from, int length);
  // Replaces `known` by `better`, or removes `known` if the pool has `better` already. Does nothing without `known`.
  void correct(int key, const Ngram& known, Ngram better);

 private:
  std::size_t most_;
  std::map<int, std::deque<Ngram>> of_key_;  // newest first
};

struct WindowShape {
  int columns, ngram;
  int rows() const { return columns * (ngram - 1); }  // rows of a pass, the root included
};

// The rows of a pass: `before` rows of committed text, the root, the window's levels, and `guesses` n-grams after the
// root. Only the guesses are candidates for verification.
TokenTree window_rows(const WindowShape&, int before, int guesses);

class NgramWindow {
 public:
  NgramWindow(const WindowShape&, const std::vector<int>& text);  // all levels start with random tokens of the text
  std::vector<int> tokens() const;                                // level by level, without the root
  // `outputs`: [columns], the tokens after the rows of the last level. They complete n-grams, which are added to the
  // pool; then the window moves by one level.
  void advance(int root, std::span<const int> outputs, NgramPool&);

 private:
  std::vector<std::vector<int>> levels_;  // 0: columns - 1 tokens, the others: columns
};

}  // namespace draftline::methods
