// SPDX-License-Identifier: Apache-2.0
// Acceptance traces (docs of the format in trace.cpp). Greedy lossless text does not depend on
// the method, so acceptance is a function of the position: the rank of the target's token among the draft's candidates
// at each level replays any chain and any tree of ranks. A method whose drafts depend on its path has its steps
// recorded. A drafter whose own tree is not one of ranks has the tokens of each position's step recorded, for that tree
// alone. Position p of a prompt's output: the step whose root is output token p, from 0. Lengths count the bonus token.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "decoder/sampling.h"
#include "decoder/token_tree.h"
#include "model/transformer_shape.h"
#include "model/tree_search.h"

namespace draftline {

inline constexpr int kTraceCandidates = 16;
inline constexpr std::uint8_t kNoRank = 255;  // in memory only: the token is none of the candidates

// What a trace says of weights that were loaded: "checkpoint" and HuggingFaceFolder's fingerprint.
std::string weights_name(std::uint64_t checkpoint);
std::string target_fingerprint(const TransformerShape&, const std::string& weights);

struct TraceHeader {
  std::string target, fingerprint, weights;
  std::string method;  // the method object, JSON
  std::string task;
  std::string steps_because;    // why steps are recorded, not positions; "": positions
  std::string lengths_because;  // why ranks can't replay the method as it is; "": they can
  int depth = 0;                // levels of ranks; of steps: drafts on the longest path
  int own_depth = 0;            // drafts on the method's own longest path, if lengths are recorded
  Sampling sampling;
  std::uint64_t seed = 0;
  std::string commit;
  bool steps() const { return !steps_because.empty(); }
  bool ranks() const { return !steps() && depth > 0; }
  bool lengths() const { return own_depth > 0; }
};

struct TracedPrompt {
  int prompt_tokens = 0;
  std::vector<int> tokens = {};            // output
  std::vector<std::uint8_t> ranks = {};    // [positions * depth]
  std::vector<double> probabilities = {};  // of the token in the draft's distribution, where it has a rank; else 0
  std::vector<int> lengths = {};           // emitted by the step at each position
  std::vector<int> steps = {};             // emitted by each step
};

// Appears under its name complete or not at all.
void write_trace(const std::filesystem::path&, const TraceHeader&, const std::vector<TracedPrompt>&);

// What a step drafts, for replay: a chain, a tree of ranks, or what the recorded method itself drafted.
class DraftPlan {
 public:
  static DraftPlan chain(int length);
  static DraftPlan recorded(const TraceHeader&);
  explicit DraftPlan(const RankTree&);
  int depth() const { return depth_; }
  int child(int node, int rank) const;  // -1: none
  bool is_chain() const { return children_.empty() && !recorded_; }
  bool is_recorded() const { return recorded_; }
  int highest_rank() const { return highest_; }

 private:
  DraftPlan() = default;
  int depth_ = 0, highest_ = 0;
  bool recorded_ = false;
  std::vector<int> children_;  // [node * kTraceCandidates + rank]
};

// A trace in memory: a byte per position and level, four per token; texts and probabilities are not kept.
class Trace {
 public:
  static Trace read(const std::filesystem::path&);  // InputErrors "FILE:LINE: .."
  const TraceHeader& header() const { return header_; }
  int prompts() const { return static_cast<int>(starts_.size()) - 1; }
  int positions(int prompt) const;  // output tokens
  int prompt_tokens(int prompt) const { return prompt_tokens_[static_cast<std::size_t>(prompt)]; }

  // Why this plan can't be replayed from here; none: it can.
  std::optional<std::string> refuses(const DraftPlan&) const;
  std::optional<std::string> wrong_target(const TransformerShape&) const;
  std::optional<std::string> wrong_weights(const std::string& weights) const;
  // Tokens that a step emits whose root is output token `position`. Any number of threads.
  int accepted(int prompt, int position, const DraftPlan&) const;
  // All steps of a prompt's output, the last not cut. Of recorded steps: as they were.
  std::vector<int> replay(int prompt, const DraftPlan&) const;
  const std::vector<int>& steps(int prompt) const { return steps_[static_cast<std::size_t>(prompt)]; }
  double mean_length(const DraftPlan&) const;  // tokens per step over all prompts; of recorded steps: theirs
  RankAcceptance rank_acceptance() const;      // of positions reached, whatever was accepted before; for optimal trees

 private:
  TraceHeader header_;
  std::vector<std::size_t> starts_{0};  // of each prompt's positions
  std::vector<int> prompt_tokens_;
  std::vector<std::uint8_t> ranks_;
  std::vector<std::uint16_t> lengths_;
  std::vector<std::vector<int>> steps_;
};

}  // namespace draftline
