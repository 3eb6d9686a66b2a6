// SPDX-License-Identifier: Apache-2.0
// A file in the safetensors format (https://huggingface.co/docs/safetensors): 8 bytes with the header's length, little
// endian; a JSON header, name -> {dtype, shape, data_offsets}; the data. The file is not trusted: all that its header
// says is checked against the file's size before it is used, and the format's own promises are enforced: every byte of
// the data belongs to exactly one tensor. Offsets are bytes from the end of the header.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/files.h"

namespace draftline {

inline constexpr std::size_t kMostMessages = 20;  // that a wrong file or folder is told

struct StoredTensor {
  std::string dtype;                 // in the format's spelling: "BF16"
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

  static bool can_read(const StoredTensor&);  // true of F32, F16 and BF16
  // Reads as many values as `to` holds, from value `first` of a tensor on, and widens them to fp32. Throws InputErrors
  // if there is no such tensor, if its dtype can't be read, or if a value is not finite. Safe to call from several
  // threads.
  void read(const std::string& name, std::uint64_t first, std::span<float> to) const;

  // Reads values of I64 and I32 in the same way.
  void read(const std::string& name, std::uint64_t first, std::span<std::int64_t> to) const;

  // The bytes of U8, F8_E4M3 and F8_E8M0 as they are.
  static bool has_bytes(const StoredTensor&);
  void read(const std::string& name, std::uint64_t first, std::span<std::uint8_t> to) const;

  std::string place(const std::string& tensor) const;  // where a tensor is, for messages: `file: tensor "x"`

 private:
  // A tensor that has these values. Throws InputErrors if there is no such tensor.
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
