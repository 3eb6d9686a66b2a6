// SPDX-License-Identifier: Apache-2.0
// Verification of drafts. parents: a row of the same sequence, -1 for the root, -2 for a mask row (not a node).
#pragma once
#include "decoder/op/op_fields.h"
#include "decoder/sampling.h"

namespace draftline {

// What every verify op writes for B sequences. `path`: rows of the pass that are accepted, `next`: the token after
// each, both [B * (depth + 1)], where padding repeats the last. `counts`: tokens emitted, the bonus token included;
// `last`: index of the last row in `path` that is no padding; `last_row`: that row of the pass; `bonus`: the new root;
// [B] each.
struct VerdictTensors {
  Out path, next, counts, last, last_row, bonus;
};
#define VERDICT verdict.path, verdict.next, verdict.counts, verdict.last, verdict.last_row, verdict.bonus
struct VerifyGreedy {
  static constexpr std::string_view key = "verify_greedy";
  Tensor predicted, tokens, parents, cu_seqlens;
  int depth;
  VerdictTensors verdict;
  FIELDS(predicted, tokens, parents, cu_seqlens, depth, VERDICT)
};
// q [drafts, vocabulary]: the warped distributions from which rows 1.. of each sequence were drawn. None: point masses.
// Its bytes are an upper bound: it reads the rows of the path and their q alone.
struct VerifySampled {
  static constexpr std::string_view key = "verify_sampled";
  static constexpr auto element = ElementOp::sample;
  Tensor logits, tokens, parents, cu_seqlens;
  std::optional<Tensor> q;
  AcceptRule rule;
  BatchSlots slots;
  Sampling sampling;
  int depth;
  VerdictTensors verdict;
  FIELDS(logits, tokens, parents, cu_seqlens, q, rule, slots, sampling, depth, VERDICT)
};
struct VerifyRelaxed {  // lossy: typical acceptance, a limit of loss
  static constexpr std::string_view key = "verify_relaxed";
  static constexpr auto element = ElementOp::sample;
  Tensor logits, tokens, parents, cu_seqlens;
  Sampling sampling;
  Relaxed rule;
  int depth;
  VerdictTensors verdict;
  FIELDS(logits, tokens, parents, cu_seqlens, sampling, rule, depth, VERDICT)
};
// Serves measurements alone: replaces the target's choices [n] -> [n] so that greedy verification accepts a path of
// `wanted` rows, or the deepest there is. Rows that are no nodes keep the target's choice.
struct ForceAccepted {
  static constexpr std::string_view key = "force_accepted";
  Tensor predicted, tokens, parents, cu_seqlens, wanted;  // wanted [B]: tokens to emit, the bonus token included
  int vocabulary;
  Out y;
  FIELDS(predicted, tokens, parents, cu_seqlens, wanted, vocabulary, y)
};
#undef VERDICT

}  // namespace draftline
