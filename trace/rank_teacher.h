// SPDX-License-Identifier: Apache-2.0
// What a trace notes of a drafter. Ranks: wherever it takes its best token it is given the target's, whose rank among
// its candidates is noted; a drafter whose levels are not best tokens one after the other throws NotByRank. Lengths: it
// drafts as it likes, and the tokens that its tree would emit are noted.
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
  // What the next step is to draft: [sequence][level].
  void give(std::vector<std::vector<int>> truth);
  // Drafts for show: what the method proposes is not what the step commits.
  Proposal propose(Method&, Session);
  // Adds what the last step showed to the prompt of each sequence.
  void note(const std::vector<TracedPrompt*>& prompt_of);

  Tensor best(Tensor logits) override;
  Tensor mapped(Tensor ids, Weight offsets) override;

 protected:
  void taught(const std::function<void()>& record);  // what is recorded therein asks this teacher
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
  Tensor tokens_, parents_;  // of the tree that was proposed
  std::vector<int> rows_;
};

// Drafts nothing: makes the target's own text.
class Plain : public Method {
  Proposal propose(Ops& ops, Session& s) override {
    return {ops.uniform(s.sequences, 1), s.root, ops.constant({-1}, 1, s.sequences)};
  }
};

}  // namespace draftline
