// SPDX-License-Identifier: Apache-2.0
// A suffix tree of bounded depth over texts that grow: how often each string of up to `max_depth` tokens occurred, and
// what followed it. Drafts are the likeliest continuation by these counts (Oliaro et al. 2025, as in ArcticInference).
// A string that occurred once has no nodes behind it: its continuation is read from the text at that place.
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace draftline::methods {

// Limits of a draft, named as vLLM names them.
struct SuffixLimits {
  int max_spec_tokens = 24;
  double max_spec_factor = 1;   // drafts per matched token, at most
  double min_token_prob = 0.1;  // a draft's joint probability by counts, at least
};

struct SuffixDraft {
  std::vector<int> tokens;
  double score = 0;  // sum of the tokens' joint probabilities: how many are expected to be accepted
};

class SuffixTree {
 public:
  explicit SuffixTree(int max_depth) : max_depth_(max_depth) {}
  void extend(int sequence, std::span<const int> tokens);  // appends to a text, which may be new
  void remove(int sequence);                               // nothing if there is no such text
  // The best continuation of the context's end, over all lengths of that end; of equal scores the longest match's, of
  // equally frequent tokens the lowest. Match and draft together are at most max_depth tokens.
  SuffixDraft speculate(std::span<const int> context, const SuffixLimits&) const;

 private:
  struct Occurrence {
    int sequence = 0, next = 0;  // `next`: the index of the token after the string
  };
  struct Node {         // a string that occurred
    int count = 0;      // how often, ends of texts included
    bool lone = false;  // it occurred once, there, and has no children
    Occurrence there = {};
    std::map<int, std::unique_ptr<Node>> children = {};  // by the token that follows
  };
  // A suffix that still grows is at its node, or beyond a lone one.
  struct Text {
    std::vector<int> tokens;
    std::deque<Node*> growing;  // longest suffix first; the last is of one token
  };
  struct Place {  // of a string: a node, and tokens beyond it if it is lone
    const Node* node;
    int beyond = 0;
  };
  void append(int sequence, Text&, int token);
  Node* step(Node* from, int depth, int sequence, const Text&, int token);
  void spell_out(Node&, int depth);
  bool follow(Place&, int token) const;
  const int* lone_token(const Place&) const;  // null at the end of the text
  SuffixDraft continuation(Place, int match, const SuffixLimits&) const;

  int max_depth_;
  Node root_;
  std::map<int, Text> texts_;
};

}  // namespace draftline::methods
