// SPDX-License-Identifier: Apache-2.0
#pragma once
#include "model/transformers/described_transformer.h"

namespace draftline::fuzz {

// Two layers, one of them with experts.
inline TransformerShape tiny_network() {
  return read_whole(Document::from_text(R"({"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 2, "intermediate": 96,
    "vocabulary": 1000, "experts": {"count": 4, "per_token": 2, "intermediate": 32, "dense_layers": 1}})",
                                        "tiny.json"),
                    read_described_transformer);
}

}  // namespace draftline::fuzz
