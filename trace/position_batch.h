// SPDX-License-Identifier: Apache-2.0
// Teacher forcing in batches: the method receives every position of a text as a separate sequence, with the text before
// it as committed tokens. All sequences of a text share its KV cache. When the method reads committed rows, the rows of
// all sequences form one causal pass over the text, as in a prefill. When it drafts, each sequence writes to its own
// cache entries behind the text, and a mask lets it attend to the text up to its root and to its own drafts. The
// results equal those of separate steps bit for bit.
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
    std::vector<int> tokens;  // prompt and output, with at least depth + 1 tokens after the last position
    int prompt = 0;           // tokens of the prompt
    int given = 0;            // output tokens of the target that were given, not generated
  };
  // Records the ranks or lengths at the first `positions` output positions of each text, `at_once` positions at a time,
  // to[i] for text i. `first_id`: the id of the first text's sequence. Throws InputErrors if a given token is not the
  // target's, and NotByRank if the method can't be recorded by ranks.
  void record(const std::vector<Text>&, int first_id, int positions, int at_once, std::vector<TracedPrompt*> to);

  // The cache entries behind the text that `at_once` positions need.
  static int entries(int at_once, int depth) { return at_once * (depth + 3); }

  Pass pass(Pass) override;
  // A method that drafts while it reads committed rows does not use the true token of the next position.
  Tensor best(Tensor logits) override {
    if (!drafting_) throw NotByRank{};
    return RankTeacher::best(logits);
  }

 private:
  void take(const std::vector<Text>&, int from, const std::vector<TracedPrompt*>& to);

  const Transformer& target_;
  Method& method_;
  int depth_;
  Generator generator_;
  bool drafting_ = false;
  int first_id_ = 0;
  int texts_ = 0, each_ = 0;  // texts, and positions of each, in the batch
  struct Block {              // the cache entries that a drafting pass wrote
    int first, rows;          // first entry behind the text's committed ones; rows of each sequence
  };
  std::vector<Block> blocks_;
  int tail_ = 0;  // first entry of a sequence's own rows: 0, or -1 if it overwrites its newest committed entry
};

// Throws InputErrors if the target's own token at an output position differs from the given token.
void check_given(const PositionBatch::Text&, int id, int position, int own);

}  // namespace draftline
