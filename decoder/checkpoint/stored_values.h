// SPDX-License-Identifier: Apache-2.0
// The values of a checkpoint's tensors, including those in 8 and 4 bits. A tensor X is stored as
//   FP8    X, F8_E4M3 [out, in], and a factor for each block of it: X_scale_inv (DeepSeek-V3) or X_scale
//          (compressed-tensors), [blocks of out, blocks of in]. config.json gives the size of a block
//   MXFP4  X_blocks, U8 [.., out, in / 32, 16]: two E2M1 numbers a byte, the lower half first; and X_scales, U8
//          [.., out, in / 32]: the exponent of each 32 numbers' factor, plus 127 (gpt-oss; OCP Microscaling Formats
//          1.0, section 5)
#pragma once
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "decoder/checkpoint/checkpoint_files.h"
#include "model/transformers/precision.h"

namespace draftline {

class StoredValues {
 public:
  // `checkpoint`: the formats of its config.json; none: it has no FP8. The files must outlive this object.
  StoredValues(const CheckpointFiles& files, const std::optional<Precision>& checkpoint);
  const CheckpointFiles& files() const { return files_; }
  static bool in_mxfp4(const CheckpointFiles&, const std::string& tensor);

  using Names = std::set<std::string, std::less<>>;
  // Appends the reasons why a tensor of this shape can't be read, and adds the stored tensors of which it consists to
  // `used`.
  void expect(const std::string& tensor, const std::vector<std::uint64_t>& shape, Names& used,
              std::vector<std::string>& mistakes) const;
  // The values from `first` on, as fp32; `columns`: size of the tensor's last dimension. FP8 and MXFP4 allow only whole
  // rows, after expect() without mistakes. Throws InputErrors like SafetensorsFile::read(). Thread-safe.
  void read(const std::string& tensor, std::uint64_t first, std::uint64_t columns, std::span<float> to) const;

 private:
  std::string scale_of(const std::string& tensor) const;  // the name of FP8's factors
  void expect_stored(const std::string& tensor, const std::vector<std::uint64_t>& shape, std::string_view dtype,
                     Names& used, std::vector<std::string>& mistakes) const;
  void expect_fp8(const std::string& tensor, const std::vector<std::uint64_t>& shape, Names& used,
                  std::vector<std::string>& mistakes) const;
  void read_fp8(const std::string& tensor, std::uint64_t first, std::uint64_t columns, std::span<float> to) const;
  void read_mxfp4(const std::string& tensor, std::uint64_t first, std::span<float> to) const;

  const CheckpointFiles& files_;
  std::optional<WeightScales> fp8_;
};

}  // namespace draftline
