// SPDX-License-Identifier: Apache-2.0
// The weights of a GGUF file, or of all its parts: blocks are dequantised when a weight is loaded. llama.cpp's
// converter places the rows of queries and keys that rope rotates together side by side for the architectures that its
// rope rotates so ("llama"); loading undoes that.
#pragma once
#include "core/files.h"
#include "decoder/checkpoint/stored_network.h"

namespace draftline {

class GgufWeights : public StoredNetwork {
 public:
  // Throws InputErrors with every mistake in the file, or if the weights of its architecture can't be loaded.
  explicit GgufWeights(const std::filesystem::path&, const Files& = disk());
};

}  // namespace draftline
