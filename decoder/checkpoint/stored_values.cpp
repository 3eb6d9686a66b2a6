// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/stored_values.h"

#include <array>
#include <cmath>
#include <limits>

#include "core/errors.h"
#include "core/json_parse.h"

namespace draftline {

namespace {

constexpr std::string_view kFp8 = "F8_E4M3", kBytes = "U8";
constexpr std::uint64_t kMxBlock = 32;

float float_of_fp8(std::uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  if (exponent == 15 && fraction == 7) return std::numeric_limits<float>::quiet_NaN();
  const float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -9)
                                   : std::ldexp(static_cast<float>(8 + fraction), exponent - 10);
  return bits >> 7 != 0 ? -size : size;
}

float float_of_fp4(int bits) {
  constexpr std::array kSizes{0.0F, 0.5F, 1.0F, 1.5F, 2.0F, 3.0F, 4.0F, 6.0F};
  const float size = kSizes[at(bits & 7)];
  return (bits & 8) != 0 ? -size : size;
}

// How many blocks of `size` cover n; size 0: one.
std::uint64_t blocks(std::uint64_t n, int size) {
  const std::uint64_t each = size;
  return each == 0 ? 1 : n / each + (n % each != 0 ? 1 : 0);
}

std::uint64_t block_of(std::uint64_t at, int size) { return size == 0 ? 0 : at / size; }

}  // namespace

StoredValues::StoredValues(const CheckpointFiles& files, const std::optional<Precision>& checkpoint) : files_(files) {
  if (!checkpoint) return;
  for (const LinearFormat& f : {checkpoint->attention, checkpoint->mlp, checkpoint->experts, checkpoint->lm_head})
    if (f.weights == DType::fp8) fp8_ = f.scales;
}

bool StoredValues::in_mxfp4(const CheckpointFiles& files, const std::string& tensor) {
  return files.has(tensor + "_blocks") || files.has(tensor + "_scales");
}

std::string StoredValues::scale_of(const std::string& tensor) const {
  return files_.has(tensor + "_scale") ? tensor + "_scale" : tensor + "_scale_inv";
}

void StoredValues::expect_stored(const std::string& tensor, const std::vector<std::uint64_t>& shape,
                                 std::string_view dtype, Names& used, std::vector<std::string>& mistakes) const {
  const StoredTensor* t = files_.find(tensor);
  if (t == nullptr) return mistakes.push_back(files_.shown_folder() + ": tensor " + in_quotes(tensor) + " is missing");
  used.insert(tensor);
  if (t->shape != shape)
    mistakes.push_back(files_.place(tensor) + ": its shape is " + shape_text(t->shape) +
                       ", but the described network makes it " + shape_text(shape));
  if (const TensorFile& file = files_.file_of(tensor); dtype.empty() && !file.can_read(*t))
    mistakes.push_back(files_.place(tensor) + ": values of dtype " + t->dtype + " can't be used; " +
                       std::string(file.readable_types()) + " can");
  if (!dtype.empty() && t->dtype != dtype)
    mistakes.push_back(files_.place(tensor) + ": values of dtype " + t->dtype + " can't be used here; " +
                       std::string(dtype) + " can");
}

void StoredValues::expect(const std::string& tensor, const std::vector<std::uint64_t>& shape, Names& used,
                          std::vector<std::string>& mistakes) const {
  if (in_mxfp4(files_, tensor)) {
    if (shape.empty() || shape.back() % kMxBlock != 0)
      return mistakes.push_back(files_.shown_folder() + ": tensor " + in_quotes(tensor + "_blocks") +
                                ": the described network makes it rows of " +
                                std::to_string(shape.empty() ? 0 : shape.back()) +
                                " values, which are no whole blocks of 32");
    std::vector<std::uint64_t> stored = shape;
    stored.back() /= kMxBlock;
    expect_stored(tensor + "_scales", stored, kBytes, used, mistakes);
    stored.push_back(kMxBlock / 2);
    return expect_stored(tensor + "_blocks", stored, kBytes, used, mistakes);
  }
  if (const StoredTensor* t = files_.find(tensor); t != nullptr && t->dtype == kFp8)
    return expect_fp8(tensor, shape, used, mistakes);
  expect_stored(tensor, shape, {}, used, mistakes);
}

void StoredValues::expect_fp8(const std::string& tensor, const std::vector<std::uint64_t>& shape, Names& used,
                              std::vector<std::string>& mistakes) const {
  expect_stored(tensor, shape, kFp8, used, mistakes);
  if (!fp8_)
    return mistakes.push_back(files_.place(tensor) +
                              ": is of dtype F8_E4M3, and the quantization_config of "
                              "config.json describes no such weights");
  if (shape.size() != 2)
    return mistakes.push_back(files_.place(tensor) + ": of dtype F8_E4M3 matrices alone can be read");
  const std::string scale = scale_of(tensor);
  std::vector<std::uint64_t> scales{blocks(shape[0], fp8_->outputs), blocks(shape[1], fp8_->inputs)};
  if (const StoredTensor* one = files_.find(scale); one != nullptr && one->elements == 1 && scales[0] * scales[1] == 1)
    scales = one->shape;  // a single factor is also stored as a number and as a list
  expect_stored(scale, scales, {}, used, mistakes);
  used.insert(tensor.substr(0, tensor.rfind('.') + 1) + "input_scale");  // for engines that quantise what is multiplied
}

void StoredValues::read(const std::string& tensor, std::uint64_t first, std::uint64_t columns,
                        std::span<float> to) const {
  if (in_mxfp4(files_, tensor)) return read_mxfp4(tensor, first, to);
  if (files_.find(tensor)->dtype == kFp8) return read_fp8(tensor, first, columns, to);
  files_.file_of(tensor).read(tensor, first, to);
}

void StoredValues::read_fp8(const std::string& tensor, std::uint64_t first, std::uint64_t columns,
                            std::span<float> to) const {
  check(first % columns == 0 && to.size() % columns == 0, "whole rows of a matrix");
  if (to.empty()) return;
  const std::uint64_t row = first / columns, rows = to.size() / columns, across = blocks(columns, fp8_->inputs);
  const std::uint64_t top = block_of(row, fp8_->outputs), bottom = block_of(row + rows - 1, fp8_->outputs);
  std::vector<float> scales((bottom - top + 1) * across);
  const std::string scale = scale_of(tensor);
  files_.file_of(scale).read(scale, top * across, scales);
  std::vector<std::uint8_t> bits(to.size());
  files_.file_of(tensor).read(tensor, first, bits);
  for (std::uint64_t i = 0; i < bits.size(); ++i) {
    const std::uint64_t down = block_of(row + i / columns, fp8_->outputs) - top;
    to[i] = float_of_fp8(bits[i]) * scales[down * across + block_of(i % columns, fp8_->inputs)];
    if (!std::isfinite(to[i]))
      throw InputErrors(files_.place(tensor) + ": value " + std::to_string(first + i) + " is not finite");
  }
}

void StoredValues::read_mxfp4(const std::string& tensor, std::uint64_t first, std::span<float> to) const {
  check(first % kMxBlock == 0 && to.size() % kMxBlock == 0, "whole blocks of a matrix");
  const std::string packed = tensor + "_blocks", scale = tensor + "_scales";
  std::vector<std::uint8_t> pairs(to.size() / 2), exponents(to.size() / kMxBlock);
  files_.file_of(packed).read(packed, first / 2, pairs);
  files_.file_of(scale).read(scale, first / kMxBlock, exponents);
  for (std::uint64_t i = 0; i < to.size(); ++i) {
    const int exponent = exponents[i / kMxBlock], pair = pairs[i / 2];
    to[i] = std::ldexp(float_of_fp4(i % 2 == 0 ? pair : pair >> 4), exponent - 127);
    if (exponent == 255 || !std::isfinite(to[i]))
      throw InputErrors(files_.place(scale) + ": value " + std::to_string((first + i) / kMxBlock) +
                        " makes weights that are not finite");
  }
}

}  // namespace draftline
