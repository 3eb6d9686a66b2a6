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

enum class DrafterKind { eagle, eagle3, medusa, mtp, p_eagle, dflash, dspark, dflash2, domino, gemma4_assistant };

// Whether the root's row of a block predicts the first draft.
constexpr bool root_predicts(DrafterKind kind) { return kind == DrafterKind::dspark || kind == DrafterKind::domino; }

// Domino's correction: columns of its GRU's state, its rank, and the first drafts without it.
struct DominoHead {
  int gru = 0, rank = 0, uncorrected = 0;
};
// Fields of block drafters that other drafters lack. A number is 0 if the file does not contain it.
struct BlockDrafterConfig {
  int rows = 0;                   // rows of the block in training, the root's included
  std::vector<bool> causal = {};  // for each layer: whether a row of the block attends to no later rows
  int markov_rank = 0;            // DSpark
  int conv_taps = 0, conv_group = 0, selector_rank = 0, selector_top_k = 0;  // DFlash 2
  DominoHead domino = {};
};

struct DrafterConfig {
  DrafterKind kind = DrafterKind::eagle;
  // The network of its config.json: the target for a drafter in the target's own folder; only hidden size and
  // vocabulary for Medusa. The vocabulary is the target's, or 0 if the file does not contain it.
  TransformerShape network;
  LayerShape layer;                  // its decoder layer; Medusa and Gemma 4's assistants have none
  int layers = 1;                    // or modules of MTP; P-EAGLE and block drafters have several, EAGLE-3 may
  std::optional<int> target_hidden;  // for an assistant, whose layers are narrower than the target's
  int vocabulary = 0;                // rows of its own LM head; 0: it uses the target's
  // Hidden states of the target that EAGLE-3 and block drafters read; i is the state that enters layer i. Empty: the
  // method's default rule applies.
  std::vector<int> auxiliary_layers;
  bool norm_before_residual = false;  // EAGLE-3: the residual is the normalised state
  bool norm_before_fc = false;        // EAGLE-3: one norm over the concatenated states
  bool norm_each_state = false;       // EAGLE-3.1: a norm over each state
  // The next pass of the drafter reads its state after the last norm (MTP of MiMo and Qwen3-Next; EAGLE-3 with
  // "norm_output").
  bool normed_state = false;
  bool own_embedding = false;         // its embedding is not the target's; EAGLE and EAGLE-3: shown only by weights
  int heads = 0, blocks = 1;          // Medusa: heads, and residual blocks per head
  std::vector<int> windows;           // of each layer of a block drafter, in tokens; 0: whole text
  std::optional<int> mask_token;      // P-EAGLE and block drafters, if the file contains it
  std::optional<int> trained_drafts;  // P-EAGLE, if the file contains it
  BlockDrafterConfig block;           // for block drafters
};

// The layer without its input norm, for inputs that are normalised already or must not be (EAGLE); and a layer that
// reads two such states, concatenated (EAGLE-3's first layer).
LayerShape without_input_norm(LayerShape);
LayerShape first_eagle3_layer(LayerShape);

// The target's last layer that attends, like the given layer of an assistant, to the whole text or to a window; none if
// there is no such layer.
std::optional<int> last_alike(const TransformerShape& target, const LayerShape&);

// Reads a drafter's config.json. Mistakes are noted, also for features that the networks of methods/ lack.
DrafterConfig read_drafter(const Reader&, DrafterKind);

}  // namespace draftline
