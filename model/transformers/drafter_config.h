// SPDX-License-Identifier: Apache-2.0
// The shape of a published drafter, read from the config.json of its folder: EAGLE-1 and -2, EAGLE-3 (SafeAILab's,
// SpecForge's and ModelOpt's form, and that of the speculators library), Medusa heads, the MTP module in a target's own
// folder, P-EAGLE, and block drafters (model/transformers/block_drafter_config). Keys follow EAGLE's cnets.py,
// speculators 0.3, Medusa and vLLM 0.12.
#pragma once
#include <optional>
#include <vector>

#include "model/transformers/transformer_shape.h"

namespace draftline {

enum class DrafterKind { eagle, eagle3, medusa, mtp, p_eagle, dflash, dspark, dflash2, gemma4_assistant };

// What DFlash, DSpark and DFlash 2 have beyond other drafters. A number is 0 if the file does not say it.
struct BlockDrafterConfig {
  int rows = 0;                   // of the block that it was trained on, the root's included
  std::vector<bool> causal = {};  // of each layer: whether a row of the block sees no later ones
  int markov_rank = 0;            // DSpark
  int conv_taps = 0, conv_group = 0, selector_rank = 0, selector_top_k = 0;  // DFlash 2
};

struct DrafterConfig {
  DrafterKind kind = DrafterKind::eagle;
  // As its config.json describes it: of a drafter in the target's own folder the target, of Medusa the hidden size and
  // the vocabulary alone. The vocabulary is the target's, or 0 if the file does not say it.
  TransformerShape network;
  LayerShape layer;                  // of its decoder layers; Medusa and Gemma 4's assistants have none
  int layers = 1;                    // P-EAGLE and block drafters have several
  std::optional<int> target_hidden;  // of an assistant, whose layers are narrower than the target
  int vocabulary = 0;                // rows of its own LM head; 0: it has the target's
  // Hidden states of the target that EAGLE-3 and block drafters read, i = the state that enters layer i. If empty, the
  // method has a rule.
  std::vector<int> auxiliary_layers;
  bool norm_before_residual = false;  // EAGLE-3: the residual is the normed state
  bool norm_before_fc = false;        // EAGLE-3: a norm over the states together
  bool norm_each_state = false;       // EAGLE-3.1: a norm over each of them
  // The next pass of the drafter reads its state after the last norm (MTP of MiMo and Qwen3-Next; EAGLE-3 with
  // "norm_output").
  bool normed_state = false;
  bool own_embedding = false;         // its embedding is not the target's; of EAGLE and EAGLE-3 only the weights tell
  int heads = 0, blocks = 1;          // Medusa: heads, and residual blocks of each
  std::vector<int> windows;           // of each layer of a block drafter, in entries of the text; 0: all
  std::optional<int> mask_token;      // P-EAGLE and block drafters, if the file says it
  std::optional<int> trained_drafts;  // P-EAGLE, if the file says it
  BlockDrafterConfig block;           // of block drafters
};

// A layer that reads what is normalised already, or is not to be (EAGLE), and one that reads two such states side by
// side (EAGLE-3's first).
LayerShape without_input_norm(LayerShape);
LayerShape first_eagle3_layer(LayerShape);

// The target's last layer that sees as much of the text as a layer of an assistant: all of it, or a window; none if it
// has none.
std::optional<int> last_alike(const TransformerShape& target, const LayerShape&);

// Reads a drafter's config.json. Mistakes are noted, and so is what the networks of methods/ do not have.
DrafterConfig read_drafter(const Reader&, DrafterKind);

}  // namespace draftline
