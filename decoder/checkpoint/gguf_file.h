// SPDX-License-Identifier: Apache-2.0
// The tensors of a GGUF file, or of its parts, by the names that transformers gives them. llama.cpp's gguf-py
// (tensor_mapping.py) has both names.
#pragma once
#include <memory>
#include <string>

#include "decoder/checkpoint/tensor_file.h"
#include "model/transformers/gguf_header.h"

namespace draftline {

// The name in transformers of a tensor of a network of this architecture ("MixtralForCausalLM"). A stack of all
// experts' matrices, which transformers stores one by one, is "...experts.gate_proj". A tensor that is unknown keeps
// its name, behind "model.".
std::string transformers_name(std::string_view tensor, std::string_view architecture);

class GgufFile : public TensorFile {
 public:
  GgufFile(GgufHeader, std::string_view architecture, const Files&);
  bool can_read(const StoredTensor&) const override;
  std::string_view readable_types() const override;
  bool has_bytes(const StoredTensor&) const override { return false; }
  void read(const std::string& name, std::uint64_t first, std::span<float> to) const override;
  void read(const std::string& name, std::uint64_t first, std::span<std::int64_t> to) const override;
  void read(const std::string& name, std::uint64_t first, std::span<std::uint8_t> to) const override;
  std::string place(const std::string& tensor) const override;

 private:
  const GgufTensor& tensor(const std::string& name) const;
  GgufHeader header_;
  const Files* files_;
  std::map<std::string, std::string, std::less<>> own_names_;  // by transformers' names
};

}  // namespace draftline
