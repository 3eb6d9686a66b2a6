// SPDX-License-Identifier: Apache-2.0
// The shape of a decoder-only transformer: its layers (model/transformers/layer_shape), its embedding, its LM head and
// further properties. It is read from a Hugging Face config.json.
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
  std::string architecture;  // the name in config.json, "LlamaForCausalLM"
  std::string source;        // for a shipped shape: key of data/sources.json and place in that source
  int hidden = 0, vocabulary = 0;
  int intermediate = 0;                 // of a dense MLP, even if no layer has one: drafters use this width
  double embedding_scale = 1;           // Gemma: the root of the hidden size
  bool tied_embeddings = false;         // the LM head is the embedding
  std::vector<LayerShape> kinds;        // each distinct layer once
  std::vector<int> kind_of;             // for each layer: an index of `kinds`
  NormKind norm = NormKind::rms;        // behind the last layer
  double norm_epsilon = 1e-6;           // of that norm
  double logit_factor = 1;              // contained in the stored LM head (Granite 4, Falcon-H1)
  std::optional<double> logit_cap;      // logits x become cap * tanh(x / cap) (Gemma 4)
  std::optional<int> max_positions;     // longest text; present in every config.json, optional in shapes made by hand
  int mtp_modules = 0;                  // modules in its checkpoints that predict tokens after the next
  std::optional<LayerShape> mtp_layer;  // layer of a module; none: the layer that methods/mtp_sequential builds
  std::optional<Precision> checkpoint;  // formats of a quantised checkpoint (model/transformers/quantization_config)
  // A checkpoint's format that is not modelled, "quant_method \"aqlm\"": only a scenario's precision gives it a price.
  std::optional<std::string> unknown_format;
  std::vector<std::string> notes;  // properties of the file that the shape omits, and why this is sound

  int layers() const { return count(kind_of); }
  const LayerShape& layer(int index) const { return kinds.at(at(kind_of.at(at(index)))); }  // counted from 0
  void add_layer(const LayerShape&);
  void resize_layers(int layers);  // removes layers, or appends copies of the last layer
  // The representative layer where only one is needed: the last layer that attends to the whole text with its own
  // choice of tokens, or else the last layer.
  const LayerShape& usual_layer() const;
  AttentionHeads usual_heads() const;  // of usual_layer(); with latent attention the expanded heads
  // The experts of the first layer that has experts; null if none has.
  const Experts* experts() const;
  const LatentHeads* latent() const;
  // The form of the states of the layers that are recurrent, which is one for all; none if no layer is.
  std::optional<StateForm> states() const;
  // Changes the experts' configuration in each layer that has experts.
  void set_expert_routing(const ExpertRouting&);
  bool operator==(const TransformerShape&) const = default;
};

// A network of `layers` equal layers, with their MLP columns, norm and hidden size.
TransformerShape uniform_network(std::string name, int layers, const LayerShape&, int vocabulary);

bool all_windowed(const TransformerShape&);  // whether each layer frees the cache before its window
// Whether all heads of its attention read one key, which is also their value: latents, or compressed entries.
bool shares_keys(const TransformerShape&);
// Whether engines reuse the KV cache of prefixes that texts share. They do not if all layers have windows, or if some
// keep recurrent states.
bool shares_prefixes(const TransformerShape&);

// What a further token of a long text adds to the cache, indexers' keys included; layers with a window add nothing. And
// the states of a sequence, with the rows that convolutions read again, in 16 bits.
Bytes token_bytes(const TransformerShape&, DType cache);
Bytes sequence_bytes(const TransformerShape&);

double matrix_parameters(const TransformerShape&);  // of all layers
double head_parameters(const TransformerShape&);    // H: the LM head, equal in size to the embedding
double parameters(const TransformerShape&);         // all, embeddings and norms included, tied ones once
double active_parameters(const TransformerShape&);  // read for one token: only its experts, no embedding table

// The share of one device: shard() of each layer; the vocabulary is divided and rounded up. Throws InputErrors if
// refuses_shards() has a reason: if the devices don't divide the heads, or if their number neither divides nor is a
// multiple of the KV heads; if replicas do not divide the devices; if there are no experts to divide.
TransformerShape shard(const TransformerShape&, const Parallelism&);
std::optional<std::string> refuses_shards(const TransformerShape&, const Parallelism&);  // why shard() throws, if so

// Reads a config.json. Keys that are not needed are left alone. An unknown architecture and features that the shape
// can't express are noted as mistakes. The name of the shape is that of the file, or of the folder if the file is named
// "config.json". (In transformer_config.cpp.)
TransformerShape read_transformer(Reader);

}  // namespace draftline
