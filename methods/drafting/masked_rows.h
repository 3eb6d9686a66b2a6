// SPDX-License-Identifier: Apache-2.0
// The rows of a drafting pass that reads an accepted path and predicts behind it in one go: the path's items, and mask
// rows. As it differs from step to step how many are accepted, a step has room for depth + 1 items, and what remains is
// filled with more masks, whose drafts nobody reads. Engines pad such a pass to as many rows.
#pragma once
#include "methods/table.h"

namespace draftline::methods {

struct MaskedRows {
  Rows rows;
  Tensor index;   // [rows]: into [items [rows of the path]; `own` rows of each sequence; the mask's row]
  Tensor newest;  // [sequences]: the row before the first mask
};
// `name`: of the host's inputs where prompts are ragged.
MaskedRows masked_rows(Ops&, const std::string& name, const Committed&, int own, int masks);

// The parameter "mask_token": a token of the target's vocabulary, by default its last.
int read_mask_token(const MethodSpec&, const Transformer& target);

}  // namespace draftline::methods
