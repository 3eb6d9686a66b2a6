// SPDX-License-Identifier: Apache-2.0
// A file in the safetensors format (https://huggingface.co/docs/safetensors): 8 bytes with the header's length, little
// endian; a JSON header, name -> {dtype, shape, data_offsets}; the data. The file is not trusted: everything in its
// header is checked against the file's size before use, and the format's rule is enforced that every byte of the data
// belongs to exactly one tensor. Offsets are bytes from the end of the header.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/files.h"

namespace draftline {

inline constexpr std::size_t kMostMessages = 20;  // limit on the messages about one file or folder

struct StoredTensor {
  std::string dtype;                 // as in the file: "BF16"
  std::vector<std::uint64_t> shape;  // outermost first; empty: one value
  std::uint64_t elements = 0, begin = 0, end = 0;
};

std::string shape_text(const std::vector<std::uint64_t>&);  // "[48, 96]"

class SafetensorsFile {
 public:
  using Tensors = std::map<std::string, StoredTensor, std::less<>>;

  // Reads the header. Throws InputErrors with every mistake in it.
  explicit SafetensorsFile(std::filesystem::path, const Files& = disk());
  const std::filesystem::path& path() const { return path_; }
  const Tensors& tensors() const { return tensors_; }

  static bool can_read(const StoredTensor&);  // true for F32, F16 and BF16
  // Fills `to` with values of a tensor, beginning at value `first`, widened to fp32. Throws InputErrors if there is no
  // such tensor, if its dtype can't be read, or if a value is not finite. Thread-safe.
  void read(const std::string& name, std::uint64_t first, std::span<float> to) const;

  // Reads values of I64 and I32 in the same way.
  void read(const std::string& name, std::uint64_t first, std::span<std::int64_t> to) const;

  // Whether a tensor is stored as bytes: U8, F8_E4M3 or F8_E8M0.
  static bool has_bytes(const StoredTensor&);
  void read(const std::string& name, std::uint64_t first, std::span<std::uint8_t> to) const;

  std::string place(const std::string& tensor) const;  // the place of a tensor for messages: `file: tensor "x"`

 private:
  // The tensor, which must contain these values. Throws InputErrors if there is no such tensor.
  const StoredTensor& stored(const std::string& name, std::uint64_t first, std::uint64_t count) const;
  // Calls take(bytes, i) for each value, i = 0 .. count - 1, of `width` bytes.
  template <class Take>
  void each_value(const std::string& name, std::uint64_t first, std::uint64_t count, int width, Take take) const;

  std::filesystem::path path_;
  const Files* files_;
  std::uint64_t data_ = 0;  // the offset in the file at which the data begins
  Tensors tensors_;
};

}  // namespace draftline
