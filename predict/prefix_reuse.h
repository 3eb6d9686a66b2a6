// SPDX-License-Identifier: Apache-2.0
// The prefixes that an engine finds in its cache. Of a network with recurrent states it finds the ends of units alone:
// vLLM raises the block size until a block's keys and values in a layer of attention take at least the bytes of a state
// in a layer, and keeps states at the ends of such blocks.
#pragma once
#include <optional>

#include "inputs/serving_limits.h"
#include "predict/setup.h"

namespace draftline {

// Whether the engine reuses prefixes of the network at all.
bool reuses_prefixes(const Engine&, const TransformerShape&);

// How it reuses them while it serves the method; none: it does not. `block_size`: the tokens of a KV block, of which a
// unit is a multiple. The method's drafts are rows of the convolution that a state keeps.
std::optional<PrefixReuse> prefix_reuse(const Setup&, const MethodSpec&, int block_size = 16);

// The setup with the tokens of its shared prefix that the engine finds. More cached tokens that were given stay.
Setup with_reused_prefix(Setup, const MethodSpec&);

}  // namespace draftline
