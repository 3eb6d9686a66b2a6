// SPDX-License-Identifier: Apache-2.0
// The rows of a drafting pass that reads an accepted path and predicts behind it in one go: the path's items, and mask
// rows. A step has room for depth + 1 items, because the number of accepted drafts differs; the rest is filled with
// masks whose drafts are not read. Engines pad such a pass to as many rows.
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

// The parameter "mask_token": a token of the target's vocabulary.
template <class P>
Field<P> mask_token(std::optional<int> P::*member) {
  return integer("mask_token", member, 0, 1 << 24,
                 {.usual = "the last of the vocabulary", .in_checkpoint = true, .most = last_token_of});
}

}  // namespace draftline::methods
