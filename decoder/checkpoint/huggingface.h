// SPDX-License-Identifier: Apache-2.0
// A Hugging Face model folder as a source of weights: config.json and the tensors of
// decoder/checkpoint/checkpoint_files. decoder/checkpoint/drafter_folder reads the weights of MTP modules.
#pragma once
#include "core/files.h"
#include "decoder/checkpoint/stored_network.h"

namespace draftline {

class HuggingFaceFolder : public StoredNetwork {
 public:
  // Throws InputErrors with every mistake in the folder.
  explicit HuggingFaceFolder(const std::filesystem::path& folder, const Files& = disk());
};

}  // namespace draftline
