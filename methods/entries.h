// SPDX-License-Identifier: Apache-2.0
// The only list of methods, in the order of `draftline list methods`: the functions that return their entries, each
// defined in its method's own file.
#pragma once
#include "methods/table.h"

// clang-format off
#define DRAFTLINE_METHODS(X) \
  X(autoregressive) X(draft_model) X(pard) X(pearl) X(ssd) X(medusa) X(medusa_typical) X(eagle1) X(eagle2) X(hass) \
  X(eagle3) X(eagle3_1) X(p_eagle) X(dflash) X(ddtree) X(dspark) X(dflash2) X(domino) X(specformer) X(mcsd) \
  X(sequoia) X(mtp_heads) X(mtp_sequential) X(gemma4_assistant) X(hydra) X(hydra_plus) X(clover) X(s3d) X(space) \
  X(prompt_lookup) X(suffix_decoding) X(assisted) X(bild) X(self_spec) X(layerskip) X(kangaroo) \
  X(magicdec_streaming) X(magicdec_snapkv) X(triforce) X(jacobi) X(cllm) X(lookahead) X(ouroboros)

namespace draftline::methods {

#define DRAFTLINE_ENTRY(method) Entry method();
DRAFTLINE_METHODS(DRAFTLINE_ENTRY)
#undef DRAFTLINE_ENTRY
// clang-format on

}  // namespace draftline::methods
