// SPDX-License-Identifier: Apache-2.0
// Observes a drafter for an acceptance trace. With Noted::ranks, wherever the drafter would choose its best token it
// continues with the target's token, whose rank among the candidates is recorded; NotByRank is thrown if the drafter
// does not draft the best token at each level. With Noted::lengths it drafts freely, and the number of tokens that its
// tree would emit is recorded.
#pragma once
#include <functional>
#include <vector>

#include "methods/decoder.h"
#include "trace/trace.h"

namespace draftline {

struct NotByRank {};
enum class Noted : std::uint8_t { ranks, lengths };

class RankTeacher : public Ops::Teacher {
 public:
  RankTeacher(Ops& ops, int depth, Noted noted) : ops_(ops), depth_(depth), noted_(noted) {}
  // Sets the target's next tokens for the next step: [sequences][levels].
  void give(std::vector<std::vector<int>> truth);
  // Lets the method draft. The proposal is observed and need not be verified or committed.
  Proposal propose(Method&, Session);
  // Appends the ranks or lengths of the last step to prompt_of[i] for sequence i.
  void note(const std::vector<TracedPrompt*>& prompt_of);

  // Rows of a block also attend to later rows, so that drafts of a shorter block differ from the first drafts of a
  // longer block.
  Pass pass(Pass p) override {
    if (by_rank() && !p.causal) throw NotByRank{};
    return p;
  }
  Tensor best(Tensor logits) override;
  Tensor mapped(Tensor ids, Weight offsets) override;

 protected:
  void taught(const std::function<void()>& record);  // calls record() with this object as the teacher of the ops
  bool by_rank() const { return noted_ == Noted::ranks; }
  Ops& ops_;

 private:
  struct Choice {
    int first, levels;
    Tensor ids, log_probs;
  };
  void note_ranks(const std::vector<TracedPrompt*>& prompt_of);
  void note_lengths(const std::vector<TracedPrompt*>& prompt_of);
  int depth_, next_level_ = 0;
  Noted noted_;
  std::vector<std::vector<int>> truth_;
  std::vector<Choice> choices_;
  Tensor tokens_, parents_;  // of the proposed tree
  std::vector<int> rows_;
};

// A method without drafts, to generate the target's own text.
class Plain : public Method {
  Proposal propose(Ops& ops, Session& s) override {
    return {ops.uniform(s.sequences, 1), s.root, ops.constant({-1}, 1, s.sequences)};
  }
};

}  // namespace draftline
