// SPDX-License-Identifier: Apache-2.0
// The tensors of a checkpoint's folder: STEM.safetensors, or the shards that STEM.safetensors.index.json lists.
#pragma once
#include <filesystem>
#include <map>
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
  const std::filesystem::path& folder() const { return folder_; }
  std::string shown_folder() const;

  const StoredTensor* find(const std::string& tensor) const;  // null if there is none
  bool has(const std::string& tensor) const { return find(tensor) != nullptr; }
  std::vector<std::string> tensors() const;  // names in order
  const SafetensorsFile& file_of(const std::string& tensor) const;
  std::string place(const std::string& tensor) const { return file_of(tensor).place(tensor); }

  // A hash of the tensors' names, formats and shapes and of samples of their values. It does not depend on how the
  // tensors are distributed over files.
  std::uint64_t fingerprint() const;
  // Whether a tensor has the same shape and values as a tensor of another checkpoint.
  bool same_values(const std::string& tensor, const CheckpointFiles& other, const std::string& tensor_of_other) const;

 private:
  void open_shards(const std::filesystem::path& index, const Files&);
  std::filesystem::path folder_;
  std::vector<SafetensorsFile> files_;
  std::map<std::string, std::size_t, std::less<>> file_of_;  // by tensor
};

}  // namespace draftline
