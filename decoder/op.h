// SPDX-License-Identifier: Apache-2.0
// The ops of networks and methods, and the one list of them. A tape contains Ops; a backend has a function for each op
// (decoder/cpu/backend.h, decoder/cuda/runtime/run_ops.cpp).
#pragma once
#include <variant>

#include "decoder/op/attention.h"
#include "decoder/op/collectives.h"
#include "decoder/op/elementwise.h"
#include "decoder/op/experts.h"
#include "decoder/op/latent_attention.h"
#include "decoder/op/movement.h"
#include "decoder/op/priced_alone.h"
#include "decoder/op/products.h"
#include "decoder/op/recurrence.h"
#include "decoder/op/rings.h"
#include "decoder/op/tokens.h"
#include "decoder/op/trees.h"
#include "decoder/op/verify.h"
#undef FIELDS

// Their order affects the hash of a tape: append new ops at the end.
// clang-format off
#define DRAFTLINE_OPS(X)                                                                                         \
  X(Embed) X(Linear) X(RmsNorm) X(AddRmsNorm) X(LayerNorm) X(Add) X(SiluMul) X(GeluMul) X(SiluAdd) X(Gelu)       \
  X(CosineGate) X(SigmoidMul) X(AddScaled) X(SoftCap) X(GroupedConv) X(MixtureOfExperts) X(RopeAppend)           \
  X(Attend) X(LatentAppend) X(AbsorbQueries) X(ExpandValues) X(IndexAppend) X(SelectTokens) X(LatentAttend)      \
  X(ExpandedAttend) X(GroupAttend) X(SumOverRanks) X(GatherOverRanks) X(ExchangeRows) X(Gather) X(ConcatRows)    \
  X(Store) X(Upload) X(Argmax) X(TopK) X(Sample) X(SampleChildren) X(MapIds) X(ClipTopK) X(WalkCandidates)       \
  X(ExpandTree) X(SelectTree) X(FollowPath) X(VerifyGreedy) X(VerifySampled) X(VerifyRelaxed) X(ForceAccepted)   \
  X(Commit) X(Advance) X(Quantise) X(GatedRmsNorm) X(Convolve) X(GatedDeltaRule) X(KeepEntries)                  \
  X(SelectEntries) X(SquaredRelu) X(ScanSelectively) X(CommitStates) X(PricedAlone) X(GruCell)
// clang-format on

namespace draftline {

template <class, class... Ops>
using VariantOf = std::variant<Ops...>;
#define DRAFTLINE_OP(O) , O
using Op = VariantOf<void DRAFTLINE_OPS(DRAFTLINE_OP)>;
#undef DRAFTLINE_OP

}  // namespace draftline
