// SPDX-License-Identifier: Apache-2.0
// What stands in for a drafter's own choice while a trace is recorded: wherever it takes its best token it is given the
// target's, whose rank among its candidates is noted. A drafter whose levels are not best tokens one after the other throws
// NotByRank.
#pragma once
#include <functional>
#include <vector>

#include "decoder/trace.h"
#include "methods/decoder.h"

namespace draftline {

struct NotByRank {};

class RankTeacher : public Ops::Teacher {
 public:
  RankTeacher(Ops& ops, int depth) : ops_(ops), depth_(depth) {}
  // What the next step is to draft: [sequence][level].
  void give(std::vector<std::vector<int>> truth);
  // Drafts for show: what the method proposes is dropped.
  void propose(Method&, Session);
  // Adds the ranks of the last step to the prompt of each sequence.
  void note(const std::vector<TracedPrompt*>& prompt_of);

  Tensor best(Tensor logits) override;
  Tensor mapped(Tensor ids, Weight offsets) override;

 protected:
  void taught(const std::function<void()>& record);  // what is recorded therein asks this teacher
  Ops& ops_;

 private:
  struct Choice {
    int first, levels;
    Tensor ids, log_probs;
  };
  int depth_, next_level_ = 0;
  std::vector<std::vector<int>> truth_;
  std::vector<Choice> choices_;
};

// Drafts nothing: makes the target's own text.
class Plain : public Method {
  Proposal propose(Ops& ops, Session& s) override {
    return {ops.uniform(s.sequences, 1), s.root, ops.constant({-1}, 1, s.sequences)};
  }
};

}  // namespace draftline
