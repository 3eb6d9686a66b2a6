// SPDX-License-Identifier: Apache-2.0
// The network of EAGLE, EAGLE-2 and HASS (Li et al. 2024, section 4): a pair (feature f_i of the target after the final
// norm, token x_{i+1}) passes through fc 2d -> d with bias, one decoder layer without input norm, and the target's LM
// head. The position of a pair is i, one before that of its token.
#pragma once
#include <string>

#include "methods/drafting/draft_head.h"
#include "methods/drafting/feature_drafter.h"
#include "methods/drafting/published_drafter.h"

namespace draftline::methods {

class Eagle : public FeatureDrafter {
 public:
  Eagle(Context&, const std::string& prefix, const DraftShape&);
  std::vector<int> auxiliary_layers() const override { return {target_.shape.layers()}; }
  void extend(Ops&, const Session&, const Committed&) override;

 protected:
  Tensor forward(Ops&, Tensor feature, Tensor tokens, PassRef) const override;
  Tensor logits(Ops& ops, Tensor feature) const override { return head_.logits(ops, target_, feature); }
  Tensor target_ids(Ops& ops, Tensor ids) const override { return head_.target_ids(ops, ids); }
  bool reduced() const { return head_.reduced(); }

 private:
  Weight fc_, fc_bias_;
  LayerWeights layer_;
  DraftHead head_;
};

}  // namespace draftline::methods
