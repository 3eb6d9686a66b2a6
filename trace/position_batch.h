// SPDX-License-Identifier: Apache-2.0
// Teacher forcing in batches: to a method, every position of a text is a sequence of its own that has committed the
// text up to there. All of them stand on the text's one cache. Where the method takes in committed rows, a sequence's
// row is the text's (one causal pass, as in a prefill); where it drafts, each writes behind the text into entries of
// its own, and a mask shows it the text up to its root and what it has drafted itself. No bit of a row differs from a
// step taken alone.
#pragma once
#include "trace/rank_teacher.h"

namespace draftline {

class PositionBatch : public RankTeacher {
 public:
  PositionBatch(Decoder& d, int depth, Noted noted)
      : RankTeacher(d.ops, depth, noted),
        target_(d.target),
        method_(*d.method),
        depth_(depth),
        generator_(d.ops, target_, method_) {}

  struct Text {
    std::vector<int> tokens;  // prompt and output, at least depth + 1 tokens behind the last position
    int prompt = 0;
    int given = 0;  // output tokens that somebody else claims to be the target's
  };
  // Ranks of the first `positions` positions of each text, so many of each at once. InputErrors if a given token is not
  // what the target says.
  void record(const std::vector<Text>&, int first_id, int positions, int at_once, std::vector<TracedPrompt*> to);

  // Cache entries behind the text that so many positions need.
  static int entries(int at_once, int depth) { return at_once * (depth + 3); }

  Pass pass(Pass) override;

 private:
  void take(const std::vector<Text>&, int from, const std::vector<TracedPrompt*>& to);
  void check_given(const std::vector<Text>&, int from, const std::vector<int>& predicted) const;

  const Transformer& target_;
  Method& method_;
  int depth_;
  Generator generator_;
  bool drafting_ = false;
  int texts_ = 0, each_ = 0;  // positions of each text
  struct Block {              // rows that a drafting pass gave each sequence
    int first, rows;          // of all sequences' entries, behind the text's committed ones
  };
  std::vector<Block> blocks_;
  int tail_ = 0;  // where a sequence's own rows begin: 0, or -1 if it writes its newest committed entry again
};

}  // namespace draftline
