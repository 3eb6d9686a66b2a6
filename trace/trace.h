// SPDX-License-Identifier: Apache-2.0
// Acceptance traces (docs/explanation/traces.md; the file format is in trace.cpp). Greedy lossless text does not depend
// on the method, so that acceptance is a function of the position. A trace of ranks holds the rank of the target's
// token among the drafter's candidates at each position and level; it replays any chain and any fixed tree. A trace of
// lengths holds the tokens that a step at each position emits, for the recorded tree only. A trace of steps holds the
// tokens of each step of a run, for methods whose drafts depend on their path. Position p is that of the step whose
// root is output token p, from 0. Lengths include the bonus token.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "core/int_indexed.h"
#include "decoder/sampling.h"
#include "decoder/token_tree.h"
#include "model/acceptance/tree_search.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

inline constexpr int kTraceCandidates = 16;   // candidates per level whose ranks are recorded
inline constexpr std::uint8_t kNoRank = 255;  // only in memory: the token is not a candidate

// The name of a checkpoint's weights in traces: "checkpoint" and CheckpointFiles' fingerprint in hexadecimal.
std::string weights_name(std::uint64_t checkpoint);
// A hash, 16 hex digits, of the target's shape and the name of its weights.
std::string target_fingerprint(const TransformerShape&, const std::string& weights);
// A hash, 16 hex digits, of the shape of a draft network, independent of its name.
std::string shape_fingerprint(const TransformerShape&);

// The identity of a drafter, independent of its folder's name (inputs/drafter_identity). An unknown member is "".
struct DrafterIdentity {
  std::string weights;  // weights_name(), or "random ..."
  std::string config;   // a fingerprint of its config.json or, for a draft network, of its shape
};

struct TraceHeader {
  std::string target, fingerprint, weights;    // name, target_fingerprint(), weights_name() or "random ..."
  DrafterIdentity drafter;                     // unknown: it has no own weights, or the file does not contain it
  std::string method;                          // the method's object of a scenario, as JSON
  std::string task;                            // kind of the prompts
  std::optional<std::string> steps_because;    // why steps are recorded instead of positions
  std::optional<std::string> lengths_because;  // why ranks do not replay the recorded method
  int depth = 0;                               // levels of ranks; in a trace of steps the longest path in drafts
  int own_depth = 0;                           // longest path of the recorded method, if lengths are recorded; else 0
  Sampling sampling;
  std::uint64_t seed = 0;
  std::string commit;  // of the program
  // The random weights: "target", "drafter", "target and drafter", or "".
  std::string random_weights() const;
  bool steps() const { return steps_because.has_value(); }
  bool ranks() const { return !steps() && depth > 0; }
  bool lengths() const { return own_depth > 0; }
};

struct TracedPrompt {
  int prompt_tokens = 0;
  std::vector<int> tokens = {};            // output; one position per token
  std::vector<std::uint8_t> ranks = {};    // [positions, depth]: 0 to kTraceCandidates - 1, or kNoRank
  std::vector<double> probabilities = {};  // [positions, depth]: drafter's probability of the token; 0: no rank
  std::vector<int> lengths = {};           // [positions]: tokens that the step at this position emits
  std::vector<int> steps = {};             // tokens that each step emitted
  std::vector<int> drafts = {};            // drafts that each step verified; empty: unknown
};

// Writes a trace atomically (core/text_file). Throws Bug if the sizes do not match the header.
void write_trace(const std::filesystem::path&, const TraceHeader&, const std::vector<TracedPrompt>&);

// The drafts of each step for replay: a chain, a tree of ranks, or the recorded method's own drafts.
class DraftPlan {
 public:
  static DraftPlan chain(int length);
  static DraftPlan recorded(const TraceHeader&);
  explicit DraftPlan(const RankTree&);
  int depth() const { return depth_; }                 // drafts on the longest path
  std::optional<int> child(int node, int rank) const;  // the node below `node` for the candidate of this rank
  bool is_chain() const { return children_.empty() && !recorded_; }
  bool is_recorded() const { return recorded_; }
  int highest_rank() const { return highest_; }

 private:
  DraftPlan() = default;
  int depth_ = 0, highest_ = 0;
  bool recorded_ = false;
  std::vector<std::optional<int>> children_;  // [nodes, kTraceCandidates]; empty for a chain
};

// A trace in memory, without texts and probabilities. All functions are thread-safe.
class Trace {
 public:
  static Trace read(const std::filesystem::path&, const Files& = disk());  // throws InputErrors "FILE:LINE: .."
  const TraceHeader& header() const { return header_; }
  int prompts() const { return count(starts_) - 1; }
  int positions(int prompt) const;  // output tokens of the prompt
  int prompt_tokens(int prompt) const { return prompt_tokens_[at(prompt)]; }

  // Why this trace can't replay the plan: its kind, its target or its weights; none if it can.
  std::optional<std::string> refuses(const DraftPlan&) const;
  std::optional<std::string> wrong_target(const TransformerShape&) const;
  std::optional<std::string> wrong_weights(const std::string& weights) const;
  // Drafters are compared by their weights or, if one's weights are random or unknown, by their configuration.
  std::optional<std::string> wrong_drafter(const DrafterIdentity&) const;
  bool has_drafter(const DrafterIdentity&) const;  // whether this drafter has the same trained weights
  // The tokens, bonus token included, that the step with output token `position` as root emits. Not for recorded steps.
  int accepted(int prompt, int position, const DraftPlan&) const;
  // The tokens of each step that together emit the prompt's output; the last step may exceed it. Recorded steps are
  // returned unchanged.
  std::vector<int> replay(int prompt, const DraftPlan&) const;
  const std::vector<int>& steps(int prompt) const { return steps_[at(prompt)]; }
  // The drafts that each recorded step verified. Older traces do not have them.
  bool has_drafts() const { return !drafts_.empty(); }
  const std::vector<int>& drafts(int prompt) const { return drafts_[at(prompt)]; }
  std::vector<double> shares_of_drafts() const;  // [n]: share of all steps that verified n drafts; empty if unknown
  double mean_length(const DraftPlan&) const;    // mean acceptance length of replay() over all prompts
  // [levels][ranks]: the share of all positions at which the target's token has this rank; empty without ranks. For
  // building optimal trees.
  RankAcceptance rank_acceptance() const;

 private:
  TraceHeader header_;
  std::vector<std::size_t> starts_{0};  // first position of each prompt, and the total number
  std::vector<int> prompt_tokens_;
  std::vector<std::uint8_t> ranks_;
  std::vector<std::uint16_t> lengths_;
  std::vector<std::vector<int>> steps_, drafts_;
};

}  // namespace draftline
