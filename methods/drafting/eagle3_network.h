// SPDX-License-Identifier: Apache-2.0
// The network of EAGLE-3 drafters (Li et al. 2025, section 3): fc 3d -> d joins the target's hidden states of a low, a
// middle and a high layer, or of a checkpoint's layers; the first decoder layer reads [norm(embedding),
// norm(state)], 2d wide, with the state as residual; plain layers may follow. The LM head has a reduced
// vocabulary, whose ids are mapped to the target's.
#pragma once
#include <string>
#include <vector>

#include "methods/drafting/draft_head.h"

namespace draftline::methods {

class Eagle3Network {
 public:
  // `prefix`: begins the names of its weights. Of the drafter its layers, its vocabulary and where its norms are.
  Eagle3Network(Context&, const std::string& prefix, const DrafterConfig&, Cache);
  std::vector<int> auxiliary_layers() const;

  Tensor fused(Ops&, const Committed&) const;  // [rows of the path, hidden]
  // [n, hidden] each -> [n, hidden]; embedded: of the token behind each state
  Tensor forward(Ops&, Tensor states, Tensor embedded, PassRef) const;
  Tensor logits(Ops&, Tensor states) const;  // [n, hidden] -> [n, vocabulary]
  Tensor target_ids(Ops& ops, Tensor ids) const { return head_.target_ids(ops, ids); }

 private:
  float epsilon() const { return static_cast<float>(drafter_.layer.norm_epsilon); }
  const Transformer& target_;
  DrafterConfig drafter_;
  Cache cache_;
  Weight fc_, token_norm_, state_norm_, out_norm_;
  std::optional<Weight> fusion_norm_;
  DraftHead head_;
  IntVector<LayerWeights> layers_;
};

}  // namespace draftline::methods
