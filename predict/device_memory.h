// SPDX-License-Identifier: Apache-2.0
// The device memory that a method needs: for batches of equal sequences, and for a server, whose KV pool takes the
// rest.
#pragma once
#include <algorithm>
#include <optional>
#include <string>

#include "predict/pricer.h"

namespace draftline {

// The memory of each of the target's devices, and of the drafter's own, if it has one.
struct Footprints {
  MemoryFootprint target;
  std::optional<MemoryFootprint> drafter;  // activations are bounded by those of the whole step
};
Footprints footprints(const PricedMethod&, const PricedStep&, const Setup&);
// Why the footprints do not fit the devices' memory; none: they do.
std::optional<std::string> lacks_memory(const RecordedMethod&, const Footprints&, const Setup&);

// Memory of each device of a server: the weights, the activations of a step or of a prefill of `batched_tokens` (with
// the cache entries of drafts that are made ahead of the text), and the KV cache of one token. `kept`: the tokens of a
// sequence that stay in the cache.
struct ServerMemory {
  Bytes weights, activations, per_token;
  KeptTokens kept;
  Bytes taken(int stages = 1) const { return weights / stages + activations; }  // on a device of one pipeline stage
  // The drafter's own device: the bytes left for its cache, and the bytes of one cached token.
  struct Drafter {
    Bytes left, per_token;
  };
  std::optional<Drafter> drafter = {};
  // A pool of recurrent states beside that of keys and values, with a share of what is left; none: both are in one
  // pool, and a sequence's states are part of `kept`.
  struct StatePool {
    double share;
    Bytes state, sequence;  // one state in all layers; all states of a running sequence
    int sequences(Bytes left) const { return static_cast<int>(std::clamp(share * left / sequence, 0.0, 1e9)); }
  };
  std::optional<StatePool> states = {};
  // The tokens that every cache can hold, if `left` bytes are left on the target's device.
  double tokens(Bytes left) const {
    const double own = (states ? 1 - states->share : 1) * left / per_token;
    return drafter ? std::min(own, drafter->left / drafter->per_token) : own;
  }
};
ServerMemory server_memory(Recordings&, const Setup&, const MethodChoice&, int max_num_seqs, int batched_tokens);

}  // namespace draftline
