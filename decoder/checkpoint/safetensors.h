// SPDX-License-Identifier: Apache-2.0
// A file in the safetensors format (https://huggingface.co/docs/safetensors): 8 bytes with the header's length, little
// endian; a JSON header, name -> {dtype, shape, data_offsets}; the data. The file is not trusted: everything in its
// header is checked against the file's size before use, and the format's rule is enforced that every byte of the data
// belongs to exactly one tensor. Offsets are bytes from the end of the header.
#pragma once
#include <filesystem>

#include "core/files.h"
#include "decoder/checkpoint/tensor_file.h"

namespace draftline {

class SafetensorsFile : public TensorFile {
 public:
  // Reads the header. Throws InputErrors with every mistake in it.
  explicit SafetensorsFile(std::filesystem::path, const Files& = disk());
  const std::filesystem::path& path() const { return path_; }

  bool can_read(const StoredTensor&) const override;  // true for F32, F16 and BF16
  std::string_view readable_types() const override { return "F32, F16 and BF16"; }
  bool has_bytes(const StoredTensor&) const override;  // true for U8, F8_E4M3 and F8_E8M0
  void read(const std::string& name, std::uint64_t first, std::span<float> to) const override;
  void read(const std::string& name, std::uint64_t first, std::span<std::int64_t> to) const override;  // I64 and I32
  void read(const std::string& name, std::uint64_t first, std::span<std::uint8_t> to) const override;
  std::string place(const std::string& tensor) const override;

 private:
  // The tensor, which must contain these values. Throws InputErrors if there is no such tensor.
  const StoredTensor& stored(const std::string& name, std::uint64_t first, std::uint64_t count) const;
  // Calls take(bytes, i) for each value, i = 0 .. count - 1, of `width` bytes.
  template <class Take>
  void each_value(const std::string& name, std::uint64_t first, std::uint64_t count, int width, Take take) const;

  std::filesystem::path path_;
  const Files* files_;
  std::uint64_t data_ = 0;  // the offset in the file at which the data begins
};

}  // namespace draftline
