// SPDX-License-Identifier: Apache-2.0
// The header of a GGUF file, versions 2 and 3: metadata, and the name, shape, type and place of each tensor. A network
// in several files ("NAME-00001-of-00003.gguf") is read from any of them. The header may be hostile: every size is
// compared with the bytes that the file has, and nothing is allocated for a claim.
#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/files.h"

namespace draftline {

// A type of tensors: blocks of `values` values in `bytes` bytes.
struct GgufType {
  std::uint32_t number;
  std::string_view name;  // as llama.cpp prints it: "Q4_K"
  int values, bytes;
  double bits() const { return 8.0 * bytes / values; }
};
const GgufType* gguf_type(std::uint32_t number);  // null if it is unknown

struct GgufTensor {
  std::string name;
  std::vector<std::uint64_t> shape;  // the first dimension is contiguous: the inputs of a matrix
  GgufType type;
  std::uint64_t begin = 0;  // of its bytes in the file
  int part = 0;             // which of the network's files has it
  double values() const;
  double bytes() const { return values() / type.values * type.bytes; }
};

struct GgufHeader {
  struct Array {  // of which only numbers are kept, and few of them
    std::uint64_t size = 0;
    std::vector<double> numbers;
  };
  using Value = std::variant<double, std::string, Array>;  // a boolean is 0 or 1; a long text is ""

  std::filesystem::path file;
  std::vector<std::filesystem::path> parts;  // the files that hold the tensors
  std::map<std::string, Value, std::less<>> metadata;
  std::map<std::string, GgufTensor, std::less<>> tensors;
  std::uint64_t fingerprint = 0;  // of the header's bytes

  // Throws InputErrors if a file can't be read, is no GGUF file, or its header contradicts itself, the file's size or
  // other parts.
  static GgufHeader read(const std::filesystem::path&, const Files& = disk());
  // The value of a key; none if the key is missing. Throws InputErrors if the value is of another kind.
  std::optional<double> number(std::string_view key) const;
  std::optional<std::string> text(std::string_view key) const;
  std::optional<Array> array(std::string_view key) const;
  // The values of a small tensor of F32. Throws InputErrors if it is another.
  std::vector<float> vector(const std::string& tensor, const Files&) const;
  [[noreturn]] void fail(const std::string& message) const;  // throws InputErrors "FILE: message"
};

}  // namespace draftline
