// SPDX-License-Identifier: Apache-2.0
// What formats occupy with their scales, and what a device makes of them.
#include "model/transformers/precision.h"

#include "model/devices/device.h"
#include "model/kernels/kernel_time.h"
#include "tests/catch.h"

namespace draftline {

static const LinearFormat& layers(std::string_view name) { return format_named(name)->layers; }

TEST_CASE("scales of a matrix are counted block by block, also where the last one is smaller") {
  CHECK(layers("bf16").scales.of(4096, 1000).value == 0);
  CHECK(layers("fp8").scales.of(4096, 1000).value == 4);          // one fp32
  CHECK(layers("int8").scales.of(4096, 1000).value == 4 * 1000);  // one fp32 for each output
  CHECK(layers("int8-w8a8").scales.of(4096, 1000).value == 4 * 1000);
  CHECK(layers("fp8-block").scales.of(4096, 1000).value == 4 * 32 * 8);  // blocks of 128 x 128
  CHECK(layers("int4").scales.of(4096, 10).value == 2 * 32 * 10);        // fp16 for 128 inputs
  CHECK(layers("awq").scales.of(4096, 10).value == 2.5 * 32 * 10);       // and a zero point of 4 bits
  CHECK(layers("int4").scales.of(130, 1).value == 2 * 2);
  CHECK(layers("nvfp4").scales.of(64, 10).value == 4 * 10);  // a byte for 16 weights
  CHECK(layers("mxfp4").scales.of(64, 10).value == 2 * 10);  // a byte for 32
}

TEST_CASE("scales of quantised rows are one a row, or one for each group of inputs") {
  CHECK(layers("fp8").input_scales.of_row(4096) == 1);
  CHECK(layers("fp8-static").input_scales.of_row(4096) == 1);  // one accounting: known in advance or not
  CHECK(layers("fp8-block").input_scales.of_row(4096) == 32);
  CHECK(layers("fp8-block").input_scales.of_row(129) == 2);
  CHECK(layers("nvfp4").input_scales.of_row(64) == 4);
  CHECK(layers("mxfp4").input_scales.of_row(64) == 2);
}

TEST_CASE("formats of 8 bits differ in what shares a scale") {
  CHECK(layers("fp8").scaling() == Scaling::rows);
  CHECK(layers("fp8-static").scaling() == Scaling::tensor);
  CHECK(layers("fp8-block").scaling() == Scaling::blocks);
  CHECK(layers("int8-w8a8").scaling() == Scaling::rows);
  CHECK_FALSE(layers("fp8").same_products(layers("fp8-static")));
  CHECK(format_named("modelopt-fp8") == format_named("fp8-static"));
}

TEST_CASE("a precision quantises the layers; tables, the cache and a drafter keep the activations' format") {
  const NamedFormat& fp8 = *format_named("fp8");
  const Precision p("fp8", fp8.layers, fp8.activations);
  for (const LinearFormat* f : {&p.attention, &p.mlp, &p.experts}) CHECK(f->weights == DType::fp8);
  for (const LinearFormat* f : {&p.lm_head, &p.draft}) CHECK(f->weights == DType::bf16);
  CHECK(p.kv_cache == DType::bf16);
  CHECK(p.embedding == DType::bf16);
  CHECK(format_named("int8-weight-only") == format_named("int8"));
  CHECK(format_named("int9") == nullptr);
}

TEST_CASE("a device without arithmetic for quantised inputs multiplies activations as they are") {
  Device d;
  d.peak[static_cast<std::size_t>(DType::bf16)] = FlopsPerSecond{1};
  d.peak[static_cast<std::size_t>(DType::int8)] = FlopsPerSecond{2};
  const auto on_device = [&](std::string_view name) {
    return served_precision(Precision(std::string(name), layers(name), DType::bf16), d).mlp;
  };
  CHECK(on_device("int8-w8a8").inputs == DType::int8);
  CHECK(!on_device("fp8").inputs);
  CHECK(on_device("fp8").weights == DType::fp8);  // its bytes are saved all the same
  CHECK(!on_device("nvfp4").inputs);
}

TEST_CASE("8-bit products take and give their operands' bytes by hand") {
  // [4, 64] x [64, 32] in fp8: 4096 multiply-adds; rows and weights a byte each, results two.
  const Gemm k{.rows = 4, .in = 64, .out = 32, .weights = DType::fp8, .activations = DType::fp8};
  CHECK(work(k).flops.value == 2 * 4 * 64 * 32);
  CHECK(work(k).read.value == 4 * 64 + 64 * 32);
  CHECK(work(k).written.value == 2 * 4 * 32);
  Gemm grouped = k;  // weights only, with 2 bytes of scale for 128
  grouped.weights = DType::int4;
  grouped.activations = DType::fp16;
  grouped.scale_bits = 16.0 / 128;
  CHECK(work(grouped).read.value == 2 * 4 * 64 + 64 * 32 / 2 + 64 * 32 / 128 * 2);
}

// llama.cpp's files: bytes of a block of 256 (or 32) weights.
TEST_CASE("GGUF formats have the bytes of their blocks, and their mixtures those of their tensors on average") {
  const auto block = [](const LinearFormat& f, int inputs) {
    return (bytes_of(f.weights, inputs) + f.scales.of(inputs, 1)).value;
  };
  CHECK(block(format_named("q5_k_s")->layers, 256) == 176);
  CHECK(block(layers("q6_k"), 256) == 210);
  CHECK(block(layers("iq4_xs"), 256) == 136);
  CHECK(block(layers("q8_0"), 32) == 34);
  CHECK(block(layers("q4_0"), 32) == 18);
  CHECK(block(layers("q4_1"), 32) == 20);
  CHECK(block(layers("q5_0"), 32) == 22);
  CHECK(block(layers("q5_1"), 32) == 24);
  const Precision p = format_named("q4_k_m")->precision();
  // Gate and up Q4_K (144 bytes), down half Q4_K and half Q6_K (210); of attention a twentieth is Q6_K.
  CHECK(block(p.mlp, 256) == Approx((2 * 144 + (144 + 210) / 2.0) / 3).epsilon(0.002));
  CHECK(block(p.attention, 256) == Approx(0.95 * 144 + 0.05 * 210).epsilon(0.002));
  CHECK(block(p.lm_head, 256) == 210);
  CHECK(p.draft == p.mlp);
  CHECK((p.activations == DType::fp16 && bits_of(p.embedding) == 4));
}

}  // namespace draftline
