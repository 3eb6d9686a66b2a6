// SPDX-License-Identifier: Apache-2.0
// The shape of a published drafter, read from the config.json of its folder: EAGLE-1 and -2, EAGLE-3 (SafeAILab's,
// SpecForge's and ModelOpt's form, and that of the speculators library), Medusa heads, and the MTP module in a target's
// own folder. Keys follow EAGLE's cnets.py, speculators 0.3, Medusa and vLLM 0.12.
#pragma once
#include <vector>

#include "model/transformers/transformer_shape.h"

namespace draftline {

enum class DrafterKind { eagle, eagle3, medusa, mtp };

struct DrafterConfig {
  DrafterKind kind = DrafterKind::eagle;
  TransformerShape
      layer;           // of its decoder layer; `vocabulary`: the target's, 0 if the file does not say. Not of Medusa
  int vocabulary = 0;  // EAGLE-3: rows of its LM head
  // EAGLE-3: hidden states of the target that it reads, i = the state that enters layer i; empty: 2, L / 2 and L - 3.
  std::vector<int> auxiliary_layers;
  bool norm_before_residual = false;  // EAGLE-3: the residual is the normed state
  bool norm_before_fc = false;        // EAGLE-3: a norm over the three states together
  bool norm_each_state = false;       // EAGLE-3.1: a norm over each of them
  // The next pass of the drafter reads its state after the last norm (MTP of MiMo and Qwen3-Next; EAGLE-3 with
  // "norm_output").
  bool normed_state = false;
  bool own_embedding = false;  // its embedding is not the target's; only its weights tell
  int heads = 0, blocks = 1;   // Medusa: heads, and residual blocks of each
};

// A drafter's config.json; mistakes are noted, also for what the networks of methods/ do not have.
DrafterConfig read_drafter(const Reader&, DrafterKind);

}  // namespace draftline
