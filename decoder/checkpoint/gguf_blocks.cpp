// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/gguf_blocks.h"

#include <algorithm>
#include <array>
#include <bit>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "decoder/checkpoint/tensor_file.h"

namespace draftline {

namespace {

using BlockBytes = std::span<const std::uint8_t>;
constexpr std::size_t kSmall = 32, kLarge = 256, kScales = 12;

std::uint32_t word_at(BlockBytes b, std::size_t at) {
  return std::uint32_t{b[at]} | std::uint32_t{b[at + 1]} << 8 | std::uint32_t{b[at + 2]} << 16 |
         std::uint32_t{b[at + 3]} << 24;
}
float factor_at(BlockBytes b, std::size_t at) {
  return float_of_half(std::uint32_t{b[at]} | std::uint32_t{b[at + 1]} << 8);
}
float as_float(int q) { return static_cast<float>(q); }

void f32(BlockBytes b, std::span<float> x) { x[0] = std::bit_cast<float>(word_at(b, 0)); }
void f16(BlockBytes b, std::span<float> x) { x[0] = factor_at(b, 0); }
void bf16(BlockBytes b, std::span<float> x) {
  x[0] = std::bit_cast<float>(std::uint32_t{b[0]} << 16 | std::uint32_t{b[1]} << 24);
}

// The lower halves of the bytes are the first values, the upper halves those after them.
int nibble(BlockBytes q, std::size_t i) { return i < q.size() ? q[i] & 15 : q[i - q.size()] >> 4; }

void q4_0(BlockBytes b, std::span<float> x) {
  const float d = factor_at(b, 0);
  for (std::size_t i = 0; i < kSmall; ++i) x[i] = d * as_float(nibble(b.subspan(2), i) - 8);
}
void q4_1(BlockBytes b, std::span<float> x) {
  const float d = factor_at(b, 0), m = factor_at(b, 2);
  for (std::size_t i = 0; i < kSmall; ++i) x[i] = d * as_float(nibble(b.subspan(4), i)) + m;
}
int fifth_bit(std::uint32_t bits, std::size_t i) { return (bits >> i & 1U) != 0 ? 16 : 0; }
void q5_0(BlockBytes b, std::span<float> x) {
  const float d = factor_at(b, 0);
  const std::uint32_t high = word_at(b, 2);
  for (std::size_t i = 0; i < kSmall; ++i) x[i] = d * as_float((nibble(b.subspan(6), i) | fifth_bit(high, i)) - 16);
}
void q5_1(BlockBytes b, std::span<float> x) {
  const float d = factor_at(b, 0), m = factor_at(b, 2);
  const std::uint32_t high = word_at(b, 4);
  for (std::size_t i = 0; i < kSmall; ++i) x[i] = d * as_float(nibble(b.subspan(8), i) | fifth_bit(high, i)) + m;
}
int signed_byte(std::uint8_t q) { return std::bit_cast<std::int8_t>(q); }
void q8_0(BlockBytes b, std::span<float> x) {
  const float d = factor_at(b, 0);
  for (std::size_t i = 0; i < kSmall; ++i) x[i] = d * as_float(signed_byte(b[2 + i]));
}

// Of the eight groups of 32 values: the first four have 6 bits each in bytes 0 to 3 (s) and 4 to 7 (t); the others have
// 4 bits in bytes 8 to 11 and their upper 2 in the upper bits of the first eight bytes.
struct SixBits {
  int s, t;
};
SixBits scales_of(BlockBytes b, std::size_t group) {
  if (group < 4) return {b[group] & 63, b[group + 4] & 63};
  return {(b[group + 4] & 15) | b[group - 4] >> 6 << 4, b[group + 4] >> 4 | b[group] >> 6 << 4};
}

// 64 values are the lower and then the upper halves of 32 bytes. `high`: a bit for each value, or nothing.
void scaled_and_shifted(BlockBytes b, BlockBytes high, BlockBytes low, std::span<float> x) {
  const float d = factor_at(b, 0), m = factor_at(b, 2);
  for (std::size_t group = 0; group < kLarge / kSmall; ++group) {
    const auto [s, t] = scales_of(b.subspan(4, kScales), group);
    const float scale = d * as_float(s), shift = m * as_float(t);
    const BlockBytes q = low.subspan(group / 2 * kSmall, kSmall);
    for (std::size_t i = 0; i < kSmall; ++i) {
      const int bit = high.empty() ? 0 : fifth_bit(high[i], group);
      x[group * kSmall + i] = scale * as_float((group % 2 == 0 ? q[i] & 15 : q[i] >> 4) | bit) - shift;
    }
  }
}
void q4_k(BlockBytes b, std::span<float> x) { scaled_and_shifted(b, {}, b.subspan(4 + kScales), x); }
void q5_k(BlockBytes b, std::span<float> x) {
  scaled_and_shifted(b, b.subspan(4 + kScales, kSmall), b.subspan(4 + kScales + kSmall), x);
}

// 128 values, in four groups of 32, have 4 bits each in 64 bytes and 2 bits each in 32 others.
void q6_k(BlockBytes b, std::span<float> x) {
  constexpr std::size_t kPart = 128;
  const float d = factor_at(b, 208);
  for (std::size_t i = 0; i < kLarge; ++i) {
    const std::size_t part = i / kPart, group = i % kPart / kSmall, at = i % kSmall;
    const int low = nibble(b.subspan(part * 64, 64), i % kPart), high = b[128 + part * kSmall + at] >> (2 * group) & 3;
    x[i] = d * as_float(signed_byte(b[192 + i / 16])) * as_float((low | high << 4) - 32);
  }
}

struct BlockType {
  std::string_view name;
  std::size_t values, bytes;
  void (*read)(BlockBytes, std::span<float>);
};
constexpr auto kBlockTypes = std::to_array<BlockType>({{"F32", 1, 4, f32},
                                                       {"F16", 1, 2, f16},
                                                       {"BF16", 1, 2, bf16},
                                                       {"Q4_0", kSmall, 18, q4_0},
                                                       {"Q4_1", kSmall, 20, q4_1},
                                                       {"Q5_0", kSmall, 22, q5_0},
                                                       {"Q5_1", kSmall, 24, q5_1},
                                                       {"Q8_0", kSmall, 34, q8_0},
                                                       {"Q4_K", kLarge, 144, q4_k},
                                                       {"Q5_K", kLarge, 176, q5_k},
                                                       {"Q6_K", kLarge, 210, q6_k}});

}  // namespace

bool can_dequantise(std::string_view type) {
  return std::ranges::find(kBlockTypes, type, &BlockType::name) != kBlockTypes.end();
}

void dequantise(std::string_view type, std::span<const std::uint8_t> blocks, std::span<float> to) {
  const auto known = std::ranges::find(kBlockTypes, type, &BlockType::name);
  check(known != kBlockTypes.end(), "a type of GGUF that can be dequantised");
  check(to.size() % known->values == 0 && blocks.size() == to.size() / known->values * known->bytes, "whole blocks");
  for (std::size_t block = 0; block * known->bytes < blocks.size(); ++block)
    known->read(blocks.subspan(block * known->bytes, known->bytes), to.subspan(block * known->values, known->values));
}

}  // namespace draftline
