// SPDX-License-Identifier: Apache-2.0
// The shape of a decoder-only transformer: its layers (model/transformers/layer_shape), its embedding and LM head, and
// what else its config.json says. It is read from a Hugging Face config.json.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "core/int_indexed.h"
#include "core/reader.h"
#include "model/transformers/layer_shape.h"
#include "model/transformers/precision.h"

namespace draftline {

struct TransformerShape {
  std::string name;
  std::string architecture;  // as config.json names it, "LlamaForCausalLM"
  std::string source;        // of a shipped shape: key of data/sources.json and place in it
  int hidden = 0, vocabulary = 0;
  int intermediate = 0;                 // of a dense MLP, whether or not a layer has one: drafters are built as wide
  double embedding_scale = 1;           // Gemma: the root of the hidden size
  bool tied_embeddings = false;         // the LM head is the embedding
  std::vector<LayerShape> kinds;        // each distinct layer once
  std::vector<int> kind_of;             // of each layer: an index of `kinds`
  NormKind norm = NormKind::rms;        // behind the last layer
  double norm_epsilon = 1e-6;           // of that norm
  std::optional<double> logit_cap;      // logits x become cap * tanh(x / cap) (Gemma 4)
  std::optional<int> max_positions;     // longest text; every config.json gives one, a shape made by hand may not
  int mtp_modules = 0;                  // that predict tokens behind the next, in its own checkpoints
  std::optional<LayerShape> mtp_layer;  // of a module; none: as methods/mtp_sequential builds it
  std::optional<Precision> checkpoint;  // formats of a quantised checkpoint (model/transformers/quantization_config)
  std::vector<std::string> notes;       // what the file says and the shape leaves out, and why that is sound

  int layers() const { return count(kind_of); }
  const LayerShape& layer(int index) const { return kinds.at(at(kind_of.at(at(index)))); }  // counted from 0
  void add_layer(const LayerShape&);
  void resize_layers(int layers);  // cut short, or continued by layers as the last
  // The layer that stands for all where one must: the last that sees the whole text by itself, or else the last.
  const LayerShape& usual_layer() const;
  AttentionHeads usual_heads() const;  // of that layer; of latent attention those that latents are expanded to
  // Of the first layer that has them; null if none has.
  const Experts* experts() const;
  const LatentHeads* latent() const;
  const DeltaNet* delta_net() const;
  // What a configuration of the experts changes in each layer that has them.
  void set_expert_overlap(double);
  bool operator==(const TransformerShape&) const = default;
};

// A network of so many layers that are all alike; its MLPs' columns, its norm and its hidden size are theirs.
TransformerShape uniform_network(std::string name, int layers, const LayerShape&, int vocabulary);

bool all_windowed(const TransformerShape&);  // whether each layer gives back what lies before its window
// Whether engines reuse the KV cache of prefixes that texts share. They do not if all layers have windows, or if some
// keep recurrent states.
bool shares_prefixes(const TransformerShape&);

double matrix_parameters(const TransformerShape&);  // of all layers
double head_parameters(const TransformerShape&);    // H: the LM head, equal in size to the embedding
double parameters(const TransformerShape&);         // all, embeddings and norms included, tied ones once
double active_parameters(const TransformerShape&);  // read for one token: its experts alone, no embedding table

// The share of one device: shard() of each layer; the vocabulary is divided and rounded up. Throws InputErrors if
// refuses_shards() has a reason: if the devices don't divide the heads, or neither divide nor are a multiple of the KV
// heads; if replicas do not divide the devices; if there are no experts to divide.
TransformerShape shard(const TransformerShape&, const Parallelism&);
std::optional<std::string> refuses_shards(const TransformerShape&, const Parallelism&);  // why shard() throws, if so

// Reads a config.json. Keys that are not needed are left alone. An architecture that is not known is noted as a
// mistake, and so is what the shape can't express. The name of the shape is that of the file, or of the folder of a
// "config.json". (In transformer_config.cpp.)
TransformerShape read_transformer(Reader);

}  // namespace draftline
