// SPDX-License-Identifier: Apache-2.0
// The tensors of a checkpoint: of a folder's STEM.safetensors, of the shards that STEM.safetensors.index.json lists, or
// of a GGUF file.
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/files.h"
#include "decoder/checkpoint/safetensors.h"

namespace draftline {

class CheckpointFiles {
 public:
  // Throws InputErrors with every mistake in the folder's files; for pickled weights the message explains how to
  // convert them.
  explicit CheckpointFiles(std::filesystem::path folder, const std::string& stem = "model", const Files& = disk());
  // A GGUF file. `pairs_heads`: whether rows of queries and keys that rope rotates together lie side by side in it.
  CheckpointFiles(std::filesystem::path file, std::unique_ptr<TensorFile>, bool pairs_heads);
  const std::filesystem::path& folder() const { return folder_; }  // or the GGUF file
  bool pairs_heads() const { return pairs_heads_; }
  std::string shown_folder() const;

  const StoredTensor* find(const std::string& tensor) const;  // null if there is none
  bool has(const std::string& tensor) const { return find(tensor) != nullptr; }
  std::vector<std::string> tensors() const;  // names in order
  const TensorFile& file_of(const std::string& tensor) const;
  std::string place(const std::string& tensor) const { return file_of(tensor).place(tensor); }

  // A hash of the tensors' names, formats and shapes and of samples of their values. It does not depend on how the
  // tensors are distributed over files.
  std::uint64_t fingerprint() const;
  // Whether a tensor has the same shape and values as a tensor of another checkpoint.
  bool same_values(const std::string& tensor, const CheckpointFiles& other, const std::string& tensor_of_other) const;

 private:
  void open_shards(const std::filesystem::path& index, const Files&);
  std::filesystem::path folder_;
  void add(std::unique_ptr<TensorFile>);
  std::vector<std::unique_ptr<TensorFile>> files_;
  std::map<std::string, std::size_t, std::less<>> file_of_;  // by tensor
  bool pairs_heads_ = false;
};

}  // namespace draftline
