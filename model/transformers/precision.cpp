// SPDX-License-Identifier: Apache-2.0
// Blocks and scales of the named formats: OCP Microscaling Formats 1.0 (mxfp4: 32 weights share a power of two), NVFP4
// (16 weights share an fp8 scale), DeepSeek-V3 (fp8 in blocks of 128 x 128, inputs in groups of 128), what the
// checkpoints of compressed-tensors, AWQ and GPTQ have unless their quantization_config says otherwise, and GGUF's
// blocks of 32 and 256 weights.
#include "model/transformers/precision.h"

#include <array>

namespace draftline {

namespace {

constexpr int kFp32 = 32, kFp16 = 16, kByte = 8, kZeroPoint = 4;
constexpr int kBlock = 128, kGroup = 128, kNvGroup = 16, kMxGroup = 32;

constexpr WeightScales kOfMatrix{0, 0, kFp32}, kOfColumn{0, 1, kFp32};
constexpr RowScales kOfRow{0, DType::fp32};

constexpr LinearFormat plain(DType t) { return {t, {}, {}, {}, false}; }
constexpr LinearFormat weight_only(DType t, WeightScales scales) { return {t, scales, {}, {}, false}; }
constexpr LinearFormat both(DType t, WeightScales scales, RowScales rows, bool static_inputs = false) {
  return {t, scales, t, rows, static_inputs};
}

// GGUF. A block of weights has low bits, and beside them high bits, scales and minima, which all count as scales here:
// Q6_K has 656 such bits beside 4 for each of 256 weights. Bits of the mixtures are means over the layers: Q4_K_M and
// Q5_K_M have Q6_K in half of the layers' value and down projections (the first and the last eighth, and each third of
// the others), Q4_K_S has Q5_K in an eighth of the down projections and in four value projections. A third of an MLP is
// its down projection; a tenth of attention is its value projection, as where four query heads share a key head.
constexpr int kSmall = 32, kSuper = 256;
constexpr LinearFormat block_32(DType low, int beside) { return weight_only(low, {kSmall, 1, beside}); }
constexpr LinearFormat block_256(int beside) { return weight_only(DType::int4, {kSuper, 1, beside}); }
constexpr LinearFormat kQ6K = block_256(656), kQ8 = block_32(DType::int8, 16);
constexpr int kQ4K = 128, kQ5K = 384, kIq4 = 64;
constexpr int mean(int base, int other, double share) { return static_cast<int>(base + share * (other - base) + 0.5); }
constexpr double kDown = 1.0 / 3, kValue = 0.1, kHalf = 0.5, kEighth = 0.125;

constexpr NamedFormat gguf(std::string_view name, std::string_view meaning, LinearFormat mlp, GgufTensors others) {
  return {name, "", meaning, mlp, DType::fp16, others};
}

constexpr int scale_blocks(int n, int block) { return block == 0 ? 1 : n / block + (n % block != 0); }

}  // namespace

Bytes WeightScales::of(int in, int out) const {
  return Bytes{1.0 * scale_blocks(in, inputs) * scale_blocks(out, outputs) * bits / 8};
}

Precision::Precision(std::string text, const LinearFormat& layers, DType rest)
    : name(std::move(text)),
      activations(rest),
      kv_cache(rest),
      embedding(rest),
      attention(layers),
      mlp(layers),
      experts(layers),
      lm_head(plain(rest)),
      draft(plain(rest)) {}

Precision::Precision(DType all) : Precision(std::string(draftline::name(all)), plain(all), all) {}

Precision NamedFormat::precision() const {
  Precision p(std::string(name), layers, activations);
  if (!gguf) return p;
  p.attention = gguf->attention;
  p.lm_head = gguf->lm_head;
  p.embedding = gguf->embedding.weights;
  p.embedding_scales = gguf->embedding.scales;
  p.draft = layers;
  return p;
}

std::span<const NamedFormat> named_formats() {
  static const std::array<NamedFormat, 25> all{{
      {"bf16", "bfloat16", "", plain(DType::bf16), DType::bf16},
      {"fp16", "half", "", plain(DType::fp16), DType::fp16},
      {"fp32", "float", "", plain(DType::fp32), DType::fp32},
      {"fp8", "fp8-w8a8", "W8A8: a scale for each matrix, inputs quantised row by row",
       both(DType::fp8, kOfMatrix, kOfRow), DType::bf16},
      {"fp8-static", "modelopt-fp8", "W8A8: a scale for each matrix, one for all inputs, known in advance",
       both(DType::fp8, kOfMatrix, kOfRow, true), DType::bf16},
      {"fp8-block", "", "W8A8: scales of 128 x 128 weights and of 128 inputs",
       both(DType::fp8, {kBlock, kBlock, kFp32}, {kBlock, DType::fp32}), DType::bf16},
      {"int8-w8a8", "w8a8", "W8A8: a scale for each output, inputs quantised row by row",
       both(DType::int8, kOfColumn, kOfRow), DType::bf16},
      {"int8", "int8-weight-only", "W8A16: a scale for each output; bitsandbytes' int8 too",
       weight_only(DType::int8, kOfColumn), DType::fp16},
      {"int4", "w4a16", "W4A16: an fp16 scale for 128 inputs", weight_only(DType::int4, {kGroup, 1, kFp16}),
       DType::fp16},
      {"awq", "", "W4A16: an fp16 scale and a zero point for 128 inputs",
       weight_only(DType::int4, {kGroup, 1, kFp16 + kZeroPoint}), DType::fp16},
      {"gptq", "", "W4A16: an fp16 scale and a zero point for 128 inputs",
       weight_only(DType::int4, {kGroup, 1, kFp16 + kZeroPoint}), DType::fp16},
      {"nvfp4", "", "W4A4: an fp8 scale for 16 weights or inputs",
       both(DType::fp4, {kNvGroup, 1, kByte}, {kNvGroup, DType::fp8}), DType::bf16},
      {"mxfp4", "", "W4A4: a scale of 8 bits for 32 weights or inputs",
       both(DType::fp4, {kMxGroup, 1, kByte}, {kMxGroup, DType::fp8}), DType::bf16},
      gguf("q4_k_m", "GGUF: Q4_K, partly Q6_K", block_256(mean(kQ4K, 656, kHalf * kDown)),
           {block_256(mean(kQ4K, 656, kHalf * kValue)), kQ6K, block_256(kQ4K)}),
      gguf("q4_k_s", "GGUF: Q4_K, partly Q5_K", block_256(mean(kQ4K, kQ5K, kEighth * kDown)),
           {block_256(mean(kQ4K, kQ5K, kEighth * kValue)), kQ6K, block_256(kQ4K)}),
      gguf("q5_k_m", "GGUF: Q5_K, partly Q6_K", block_256(mean(kQ5K, 656, kHalf * kDown)),
           {block_256(mean(kQ5K, 656, kHalf * kValue)), kQ6K, block_256(kQ5K)}),
      gguf("q5_k_s", "GGUF: Q5_K", block_256(kQ5K), {block_256(kQ5K), kQ6K, block_256(kQ5K)}),
      gguf("q6_k", "GGUF: Q6_K", kQ6K, {kQ6K, kQ6K, kQ6K}),
      gguf("q8_0", "GGUF: Q8_0", kQ8, {kQ8, kQ8, kQ8}),
      gguf("q4_0", "GGUF: Q4_0", block_32(DType::int4, 16),
           {block_32(DType::int4, 16), kQ6K, block_32(DType::int4, 16)}),
      gguf("q4_1", "GGUF: Q4_1", block_32(DType::int4, 32),
           {block_32(DType::int4, 32), kQ6K, block_32(DType::int4, 32)}),
      gguf("q5_0", "GGUF: Q5_0", block_32(DType::int4, 48),
           {block_32(DType::int4, 48), kQ6K, block_32(DType::int4, 48)}),
      gguf("q5_1", "GGUF: Q5_1", block_32(DType::int4, 64),
           {block_32(DType::int4, 64), kQ6K, block_32(DType::int4, 64)}),
      gguf("iq4_nl", "GGUF: IQ4_NL, values Q5_K", block_32(DType::int4, 16),
           {block_256(mean(kQ4K, kQ5K, kValue)), kQ6K, block_32(DType::int4, 16)}),
      gguf("iq4_xs", "GGUF: IQ4_XS, values Q5_K", block_256(kIq4),
           {block_256(mean(kIq4, kQ5K, kValue)), kQ6K, block_256(kIq4)}),
  }};
  return all;
}

const NamedFormat* format_named(std::string_view name) {
  for (const NamedFormat& f : named_formats())
    if (f.name == name || (!f.also.empty() && f.also == name)) return &f;
  return nullptr;
}

}  // namespace draftline
