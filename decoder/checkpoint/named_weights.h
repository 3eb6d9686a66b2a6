// SPDX-License-Identifier: Apache-2.0
// Trained weights of a drafter for which no format is published (Clover, SpecFormer, Hydra, Kangaroo and others): a
// folder with model.safetensors, or its shards, whose tensors have the decoder's names and layout: "clover.q" is
// [in, out] and a weight of one row is a vector. Source of the names: methods/*.cpp and decoder/layer.cpp.
#pragma once
#include <filesystem>
#include <map>

#include "decoder/checkpoint/checkpoint_files.h"
#include "decoder/checkpoint/stored_weights.h"

namespace draftline {

class NamedWeights : public WeightSource {
 public:
  // `drafter`: the weights that the method has in addition to the target's. Throws InputErrors that list missing,
  // misshaped and unknown tensors.
  NamedWeights(const std::filesystem::path& folder, const std::map<std::string, Weight>& drafter);
  const std::filesystem::path& folder() const { return files_.folder(); }
  std::uint64_t fingerprint() const { return files_.fingerprint(); }
  void load(const std::string& name, int in, int out, std::span<float> to) override;  // safe in several threads

 private:
  CheckpointFiles files_;
  std::vector<StoredWeight> weights_;
};

}  // namespace draftline
