// SPDX-License-Identifier: Apache-2.0
// A decoder-only transformer over Ops with a shape of model/transformers/transformer_shape: attention over a whole
// text, windows or chunks, latent and sparse attention, gated delta networks, state spaces, mixtures of experts, and
// Falcon's parallel attention. Drafters reuse parts of it: layers may be skipped, and a pass may start and end at any
// layer.
#pragma once
#include <map>
#include <span>

#include "decoder/layer.h"
#include "decoder/ring.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

struct LayerUse {  // the executed sublayers: Self-Spec skips sublayers, S3D and LayerSkip layers
  int layer;
  bool attention = true, mlp = true;
};
std::vector<LayerUse> layers_between(int from, int to);

struct TransformerOptions {
  std::string prefix = "";  // begins the names of its weights, so that several networks may share a store
  int ranks = 1;
  int states = 65;  // that a recurrent layer holds of each sequence, one more than the most rows that a pass verifies
};

class Transformer {
 public:
  // `shape`: the share of one rank (shard() of model/transformers/transformer_shape) if ranks > 1. `capacity`: cache
  // entries per sequence.
  Transformer(const TransformerShape& shape, WeightStore&, Ops&, int capacity, const TransformerOptions& = {});

  // Runs layers on the stream. auxiliary_states[i] receives the state that enters layer i (i = layers: before the final
  // norm). `selection`: for a pass of prompts, the entries that each layer copies to rings. Throws InputErrors if a
  // layer shares an indexer's choice and no indexer has run.
  void run(Ops&, Stream&, PassRef, std::span<const LayerUse>, std::map<int, Tensor>* auxiliary_states = nullptr,
           const PromptSelection* selection = nullptr) const;
  void run(Ops& ops, Stream& x, PassRef p, std::map<int, Tensor>* auxiliary_states = nullptr) const {
    run(ops, x, p, all_, auxiliary_states);
  }

  // The embedding and the head are divided by vocabulary. Each rank looks up its own tokens and the rows are summed;
  // each rank computes some columns of the logits, which are gathered before a token is chosen.
  Tensor embed(Ops& ops, Tensor ids) const {
    return ops.sum_over_ranks(ops.embed(embedding, ids, shape.embedding_scale), ranks);
  }
  Tensor final_norm(Ops&, Stream&) const;
  Tensor logits(Ops&, Tensor normed) const;                    // [n, hidden] -> [n, vocabulary()]
  int vocabulary() const { return shape.vocabulary * ranks; }  // of all ranks; the last rank's share may be padded

  TransformerShape shape;
  int ranks;
  // The KV caches: one for all layers with the same form of keys and values and the same window. Layers that share an
  // indexer's choice and thus have no indexer keys have a separate cache.
  std::vector<Cache> caches;
  std::optional<StateCache> states;  // of the layers with a recurrent state
  bool owns(const Cache&) const;
  struct LayerCache {  // a layer's keys and values, `layer` of `cache`, and its state, `state` of `states`
    Cache cache;
    int layer = 0, state = 0;
  };
  LayerCache cache_of(int layer) const { return cache_of_layer_.at(at(layer)); }
  // This network with rings instead of some of its caches: it reads the rings, appends to them, and shares the other
  // caches with this network.
  Transformer over(const std::vector<RingOf>&) const;
  // Keeps the rows `path` of the tail in every cache: path [B * (depth + 1)], as in Ops::commit. `counts` [B]: the
  // accepted rows among them, without which states are not moved.
  void commit(Ops&, Tensor path, const Rows&, const BatchSlots&, std::optional<Tensor> counts = {}) const;
  Weight embedding, head, final_norm_weight;
  std::optional<Weight> final_norm_bias;
  std::vector<LayerWeights> layers;

 private:
  void add_caches(Ops&, int capacity, int states);
  void add_entry_caches(Ops&, int capacity);  // of compressed attention, besides the caches of its windows
  void run_streams(Ops&, Stream&, PassRef, const LayerUse&, std::optional<Tensor>& chosen) const;
  Tensor attention(Ops&, Tensor y, int layer, PassRef, const PromptSelection*, std::optional<Tensor>& chosen) const;

  std::vector<LayerUse> all_;
  std::vector<LayerCache> cache_of_layer_;
};

}  // namespace draftline
