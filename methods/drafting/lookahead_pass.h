// SPDX-License-Identifier: Apache-2.0
// The rows of a pass by which a draft network drafts by lookahead (Ouroboros), assembled by the host for all sequences
// together. A sequence has the text that the network has not cached yet, the token behind which it drafts, a window,
// and guesses that are judged by the same pass.
#pragma once
#include <span>
#include <vector>

#include "methods/drafting/ngram_window.h"

namespace draftline::methods {

struct LookaheadPass {
  struct Sequence {
    int length;  // committed tokens
    int cached;  // entries of the network's KV cache that hold the text and the drafts after it
    int root;    // the token behind which it drafts
  };
  // The input of verification: the root of each sequence, and the guesses behind it.
  struct Judged {
    std::vector<int> rows = {};  // of each sequence
    std::vector<int> tokens = {}, parents = {};
    std::vector<int> wanted = {};  // an index into the `wanted` of the pass: the logits after the token
    std::vector<int> place = {};   // the row of the pass, counted without the sequence's text
  };

  explicit LookaheadPass(const WindowShape& w) : shape(w) {}
  // Adds the next sequence. `text`: tokens that the network has not cached yet. `guesses`: of ngram - 1 tokens.
  void add(const Sequence&, std::span<const int> text, const NgramWindow&, std::span<const Ngram> guesses);
  // Adds a sequence that has finished drafting. It has no rows, but verification needs a root of every sequence.
  void add_finished(const Sequence&);

  WindowShape shape;
  std::vector<TokenTree> trees = {};  // of the sequences that draft
  std::vector<int> tokens = {};       // of all rows
  std::vector<int> rows = {};         // of each sequence, as the next three are
  std::vector<int> lengths = {};      // entries of the network's KV cache
  std::vector<int> ends = {};         // the same with the text that the pass adds
  std::vector<int> ahead = {};        // by how many entries the cache is ahead of the committed length
  std::vector<int> wanted = {};       // rows whose logits are needed
  std::vector<int> outputs = {};      // [sequences * columns]: indices into `wanted`: after the window's last level
  Judged judged = {};
  int depth = 0;  // guessed tokens on the longest path

 private:
  void begin(const Sequence&, int text, int own_rows);
  int want(int row);  // returns its index in `wanted`
  void judge(int token, int parent, int wanted_index, int place_of_row);
};

}  // namespace draftline::methods
