// SPDX-License-Identifier: Apache-2.0
// Verification of drafts. parents: a row of the same sequence, -1 for the root, -2 for a mask row (not a node).
#pragma once
#include "decoder/op/op_fields.h"
#include "decoder/sampling.h"

namespace draftline {

// The outputs of every verify op for B sequences. `path`: accepted rows of the pass, `next`: the token after each, both
// [B * (depth + 1)], where padding repeats the last. `counts`: tokens emitted, the bonus token included; `last`: index
// of the last row in `path` that is not padding; `last_row`: that row of the pass; `bonus`: the new root; [B] each.
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
// Its bytes are an upper bound: it reads only the rows of the path and their q.
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
struct VerifyRelaxed {  // lossy: typical acceptance, or a limit on the loss
  static constexpr std::string_view key = "verify_relaxed";
  static constexpr auto element = ElementOp::sample;
  Tensor logits, tokens, parents, cu_seqlens;
  Sampling sampling;
  Relaxed rule;
  int depth;
  VerdictTensors verdict;
  FIELDS(logits, tokens, parents, cu_seqlens, sampling, rule, depth, VERDICT)
};
// Only for measurements: replaces the target's choices [n] -> [n] so that greedy verification accepts a path of
// `wanted` rows, or the deepest path. Rows that are not nodes keep the target's choice.
struct ForceAccepted {
  static constexpr std::string_view key = "force_accepted";
  Tensor predicted, tokens, parents, cu_seqlens, wanted;  // wanted [B]: tokens to emit, the bonus token included
  int vocabulary;
  Out y;
  FIELDS(predicted, tokens, parents, cu_seqlens, wanted, vocabulary, y)
};
#undef VERDICT

}  // namespace draftline
