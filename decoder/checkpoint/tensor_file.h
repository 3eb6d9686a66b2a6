// SPDX-License-Identifier: Apache-2.0
// A file of named tensors, of any format. Files are not trusted: a reader checks what it needs before it is used.
#pragma once
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace draftline {

inline constexpr std::size_t kMostMessages = 20;  // limit on the messages about one file or folder

struct StoredTensor {
  std::string dtype;                 // as in the file: "BF16"
  std::vector<std::uint64_t> shape;  // outermost first; empty: one value
  std::uint64_t elements = 0, begin = 0, end = 0;
};

std::string shape_text(const std::vector<std::uint64_t>&);  // "[48, 96]"

class TensorFile {
 public:
  using Tensors = std::map<std::string, StoredTensor, std::less<>>;
  virtual ~TensorFile() = default;
  const Tensors& tensors() const { return tensors_; }

  virtual bool can_read(const StoredTensor&) const = 0;   // as floats
  virtual std::string_view readable_types() const = 0;    // for messages: "F32, F16 and BF16"
  virtual bool has_bytes(const StoredTensor&) const = 0;  // whether a tensor is stored as bytes
  // Fills `to` with values of a tensor, beginning at value `first`, widened to fp32. Throws InputErrors if there is no
  // such tensor, if its dtype can't be read, or if a value is not finite. Thread-safe.
  virtual void read(const std::string& name, std::uint64_t first, std::span<float> to) const = 0;
  virtual void read(const std::string& name, std::uint64_t first, std::span<std::int64_t> to) const = 0;
  virtual void read(const std::string& name, std::uint64_t first, std::span<std::uint8_t> to) const = 0;
  virtual std::string place(const std::string& tensor) const = 0;  // for messages: `file: tensor "x"`

 protected:
  Tensors tensors_;
};

float float_of_half(std::uint32_t bits);

}  // namespace draftline
