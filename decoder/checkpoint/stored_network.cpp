// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/stored_network.h"

#include <charconv>
#include <optional>
#include <utility>

#include "decoder/checkpoint/stored_layer.h"
#include "decoder/checkpoint/stored_sublayer.h"

namespace draftline {

static std::string layer_prefix(int layer) { return "layers." + std::to_string(layer) + "."; }

StoredNetwork::StoredNetwork(StoredContents contents)
    : shape_(std::move(contents.shape)), files_(std::move(contents.files)), mtp_modules_(contents.mtp_modules) {
  find_trunk();
  check_tensors();
}

// The text tower of a network that also sees has a name of its own: one on the hub, another since transformers 5. So
// have all layers of Nemotron-H on the hub.
void StoredNetwork::find_trunk() {
  using Names = std::pair<const char*, const char*>;
  for (const auto& [trunk, head] :
       {Names{"language_model.model.", "language_model."}, Names{"model.language_model.", ""}, Names{"backbone.", ""}})
    if (files_.has(trunk + Architecture{shape_.architecture}.embedding())) trunk_ = trunk, head_ = head;
}

std::string StoredNetwork::embedding_tensor() const { return trunk_ + Architecture{shape_.architecture}.embedding(); }
std::string StoredNetwork::head_tensor() const {
  return shape_.tied_embeddings ? embedding_tensor() : head_ + "lm_head.weight";
}

std::vector<StoredWeight> StoredNetwork::network_weights() const {
  const int hidden = shape_.hidden, vocabulary = shape_.vocabulary;
  return {
      stored_table("embedding", embedding_tensor(), vocabulary, hidden),
      stored_norm(shape_.architecture, "final_norm", trunk_ + Architecture{shape_.architecture}.final_norm(), hidden),
      stored_matrix("lm_head", head_tensor(), hidden, vocabulary, shape_.logit_factor)};
}

std::vector<StoredWeight> StoredNetwork::layer_weights(int layer) const {
  return stored_layer(files_, shape_.architecture, shape_.layer(layer), layer_prefix(layer),
                      trunk_ + layer_prefix(layer));
}

void StoredNetwork::check_tensors() const {
  TensorCheck check({files_, shape_.checkpoint});
  check.expect(network_weights());
  for (int layer = 0; layer < shape_.layers() && !check.enough(); ++layer) check.expect(layer_weights(layer));
  // No computation reads rotary frequencies, which older files hold, nor what is not part of the network.
  check.refuse_others([&](const std::string& tensor) {
    const auto of_mtp = [&](int module) { return tensor.starts_with(trunk_ + layer_prefix(shape_.layers() + module)); };
    bool ignored = !tensor.starts_with(trunk_) || tensor.ends_with("rotary_emb.inv_freq");
    for (int layer = 0; layer < shape_.layers(); ++layer)  // the file has an indexer, but was told to share a choice
      ignored = ignored || (shape_.layer(layer).shares_choice() &&
                            tensor.starts_with(trunk_ + layer_prefix(layer) + "self_attn.indexer."));
    if (shape_.mtp_modules > 0) ignored = ignored || tensor.starts_with(trunk_ + "mtp.");
    if (mtp_modules_ > 0) ignored = ignored || tensor.starts_with(trunk_ + "mtp_layers.");
    for (int module = 0; module < mtp_modules_; ++module) ignored = ignored || of_mtp(module);
    return ignored;
  });
  check.finish();
}

void StoredNetwork::load(const std::string& name, int in, int out, std::span<float> to) {
  constexpr std::string_view kLayers = "layers.";
  std::optional<int> layer;
  if (int number = 0;
      name.starts_with(kLayers) &&
      std::from_chars(name.data() + kLayers.size(), name.data() + name.size(), number).ec == std::errc())
    layer = number;
  const bool in_layer = layer && *layer >= 0 && *layer < shape_.layers();
  load_stored({files_, shape_.checkpoint}, in_layer ? layer_weights(*layer) : network_weights(), name, in, out, to);
}

}  // namespace draftline
