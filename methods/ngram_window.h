// SPDX-License-Identifier: Apache-2.0
// What lookahead decoding (Fu et al. 2024, section 3) remembers of a sequence: a window of guessed tokens,
// `columns` wide and `ngram` - 1 levels deep, whose diagonals become n-grams, and the pool of those n-grams.
#pragma once
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "decoder/token_tree.h"

namespace draftline::methods {

using Ngram = std::vector<int>;  // ngram - 1 tokens, behind their key

class NgramPool {
 public:
  explicit NgramPool(int most_per_key) : most_(static_cast<std::size_t>(most_per_key)) {}
  void add(int key, Ngram);  // as the newest; the oldest leaves
  std::vector<Ngram> newest(int key, int most) const;
  // Where `said`, what the target puts behind each of the drafts from `from` on, continues as the drafts do: `length`
  // tokens of it, behind their draft. A last token that no draft follows needs no agreement.
  void add_agreed(std::span<const int> drafts, std::span<const int> said, int from, int length);
  void correct(int key, const Ngram& known,
               Ngram better);  // in its place; nothing if it has left; none stands there twice

 private:
  std::size_t most_;
  std::map<int, std::deque<Ngram>> of_key_;  // newest first
};

struct WindowShape {
  int columns, ngram;
  int rows() const { return columns * (ngram - 1); }  // of a pass, the root included
};

// Rows of a pass: `before` rows of known text, the root, the window's levels, guesses behind the root. Candidates are
// the guesses alone.
TokenTree window_rows(const WindowShape&, int before, int guesses);

class NgramWindow {
 public:
  NgramWindow(const WindowShape&, const std::vector<int>& text);  // starts with the text's tokens, all levels at once
  std::vector<int> tokens() const;                                // level by level, the root left out
  // `outputs`: what follows the last level's rows. They complete n-grams for the pool, and the window moves on by one.
  void advance(int root, std::span<const int> outputs, NgramPool&);

 private:
  std::vector<std::vector<int>> levels_;  // 0: columns - 1 tokens, the others: columns
};

}  // namespace draftline::methods
