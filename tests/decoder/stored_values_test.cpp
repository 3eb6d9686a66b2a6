// SPDX-License-Identifier: Apache-2.0
// Matrices of 8 and 4 bits, against values that can be worked out by hand.
#include "decoder/checkpoint/stored_values.h"

#include "decoder/checkpoint/huggingface.h"
#include "tests/core/messages.h"
#include "tests/decoder/spoilt_folder.h"
#include "tests/decoder/stored_folder.h"

using namespace draftline;

namespace {

// A folder with these tensors alone.
struct Checkpoint {
  FreshFolder fresh;
  explicit Checkpoint(const std::vector<Stored>& tensors) {
    write_bytes(fresh.path() / "model.safetensors", safetensors(tensors));
  }
  CheckpointFiles files() const { return CheckpointFiles(fresh.path()); }
};

std::string bytes_of(const std::vector<int>& values) {
  std::string text;
  for (const int v : values) text += static_cast<char>(v);
  return text;
}

Precision fp8(int outputs, int inputs) {  // of a block
  Precision p;
  p.mlp.weights = DType::fp8;
  p.mlp.scales = {inputs, outputs, 32};
  return p;
}

// The values of X, or what is wrong with it.
std::vector<float> values_of(const Checkpoint& c, const std::optional<Precision>& p, std::uint64_t out,
                             std::uint64_t in) {
  const CheckpointFiles files = c.files();
  std::vector<float> to(out * in);
  StoredValues(files, p).read("X", 0, in, to);
  return to;
}
std::string mistakes_of(const Checkpoint& c, const std::optional<Precision>& p,
                        const std::vector<std::uint64_t>& shape) {
  const CheckpointFiles files = c.files();
  StoredValues::Names used;
  std::vector<std::string> mistakes;
  StoredValues(files, p).expect("X", shape, used, mistakes);
  std::string all;
  for (const std::string& m : mistakes) all += m + "\n";
  return all;
}

// E4M3: one bit of sign, four of the exponent (plus 7), three of the fraction: 1 = 0x38, 1.125 = 0x39, 2 = 0x40, 448 =
// 0x7E (the largest), -1 = 0xB8, 2^-9 = 0x01 and 7 * 2^-9 = 0x07 (below the least normal, 2^-6 = 0x08).
const std::string kEights = bytes_of({0x38, 0x39, 0x40, 0x7E, 0x38,    //
                                      0xB8, 0x01, 0x07, 0x08, 0xB8,    //
                                      0x38, 0x38, 0x38, 0x38, 0x40});  //

}  // namespace

TEST_CASE("FP8 values are multiplied by the factor of their block; blocks at an edge may be smaller") {
  // Blocks of 2 rows and 4 columns, of 3 rows and 5 columns: [1, 10; 0.5, 100].
  const Checkpoint c(
      {{"X", "F8_E4M3", {3, 5}, kEights}, {"X_scale_inv", "F32", {2, 2}, fp32_bytes({1, 10, 0.5F, 100})}});
  CHECK(mistakes_of(c, fp8(2, 4), {3, 5}).empty());
  CHECK(values_of(c, fp8(2, 4), 3, 5) == std::vector{1.0F, 1.125F, 2.0F, 448.0F, 10.0F,         //
                                                     -1.0F, 0x1p-9F, 0x7p-9F, 0x1p-6F, -10.0F,  //
                                                     0.5F, 0.5F, 0.5F, 0.5F, 200.0F});
  const CheckpointFiles files = c.files();
  std::vector<float> last(5);  // the third row alone has the second row of factors
  StoredValues(files, fp8(2, 4)).read("X", 10, 5, last);
  CHECK(last == std::vector{0.5F, 0.5F, 0.5F, 0.5F, 200.0F});
}

TEST_CASE("FP8 values may have a factor for each output, or one for all, as compressed-tensors has them") {
  const Checkpoint rows({{"X", "F8_E4M3", {3, 5}, kEights},
                         {"X_scale", "BF16", {3, 1}, bytes_of({0x80, 0x3F, 0x00, 0x40, 0x80, 0x40})}});  // 1, 2, 4
  CHECK(mistakes_of(rows, fp8(1, 0), {3, 5}).empty());
  CHECK(values_of(rows, fp8(1, 0), 3, 5)[5] == -2);
  CHECK(values_of(rows, fp8(1, 0), 3, 5)[14] == 8);
  const Checkpoint one({{"X", "F8_E4M3", {3, 5}, kEights}, {"X_scale", "F32", {}, fp32_bytes({3})}});
  CHECK(mistakes_of(one, fp8(0, 0), {3, 5}).empty());
  CHECK(values_of(one, fp8(0, 0), 3, 5)[14] == 6);
  const CheckpointFiles files = one.files();
  StoredValues::Names used;
  std::vector<std::string> mistakes;
  StoredValues(files, fp8(0, 0)).expect("X", {3, 5}, used, mistakes);
  CHECK(used == StoredValues::Names{"X", "X_scale", "input_scale"});  // the last of the input, where it is there
}

TEST_CASE("FP8 values without their factors, or with others than config.json describes, are refused") {
  const Stored x{"X", "F8_E4M3", {3, 5}, kEights}, scales{"X_scale_inv", "F32", {2, 2}, fp32_bytes({1, 1, 1, 1})};
  CHECK(contains(mistakes_of(Checkpoint({x}), fp8(2, 4), {3, 5}), "tensor \"X_scale_inv\" is missing"));
  CHECK(contains(mistakes_of(Checkpoint({x, scales}), fp8(128, 128), {3, 5}),
                 "tensor \"X_scale_inv\": its shape is [2, 2], but the described network makes it [1, 1]"));
  CHECK(contains(mistakes_of(Checkpoint({x, scales}), {}, {3, 5}),
                 "tensor \"X\": is of dtype F8_E4M3, and the quantization_config of config.json describes no such"));
  CHECK(contains(mistakes_of(Checkpoint({x, scales}), fp8(2, 4), {5, 3}),
                 "tensor \"X\": its shape is [3, 5], but the described network makes it [5, 3]"));
  CHECK(contains(mistakes_of(Checkpoint({x, scales}), fp8(2, 4), {1, 3, 5}), "of dtype F8_E4M3 matrices alone can"));
  const Checkpoint nan({{"X", "F8_E4M3", {1, 2}, bytes_of({0x38, 0x7F})}, {"X_scale", "F32", {1}, fp32_bytes({1})}});
  CHECK(contains(mistake_of([&] { values_of(nan, fp8(0, 0), 1, 2); }), "tensor \"X\": value 1 is not finite"));
}

// Two numbers a byte, the lower half first; of 0 .. 7: 0, 0.5, 1, 1.5, 2, 3, 4, 6, of 8 .. 15 the same below zero.
TEST_CASE("MXFP4 values are two to a byte, and 32 of them have a power of two in common") {
  std::vector<int> bytes(32);
  bytes[0] = 0x10;   // values 0, 1: 0, 0.5
  bytes[1] = 0x7F;   // values 2, 3: -6, 6
  bytes[15] = 0x9A;  // values 30, 31: -1, -0.5
  bytes[16] = 0x52;  // values 32, 33, of the next block: 1, 3
  const Checkpoint c(
      {{"X_blocks", "U8", {1, 1, 2, 16}, bytes_of(bytes)}, {"X_scales", "U8", {1, 1, 2}, bytes_of({128, 124})}});
  CHECK(mistakes_of(c, {}, {1, 1, 64}).empty());
  const std::vector<float> values = values_of(c, {}, 1, 64);  // times 2 and 2^-3
  CHECK(std::vector(values.begin(), values.begin() + 5) == std::vector{0.0F, 1.0F, -12.0F, 12.0F, 0.0F});
  CHECK(std::vector(values.begin() + 30, values.begin() + 34) == std::vector{-2.0F, -1.0F, 0.125F, 0.375F});
  const CheckpointFiles files = c.files();
  std::vector<float> second(32);
  StoredValues(files, {}).read("X", 32, 64, second);
  CHECK(second == std::vector(values.begin() + 32, values.end()));
}

TEST_CASE("MXFP4 blocks and scales of other shapes or types are refused, as are factors that are no numbers") {
  const Stored blocks{"X_blocks", "U8", {1, 1, 2, 16}, std::string(32, 1)}, scales{"X_scales", "U8", {1, 1, 2}, "ab"};
  CHECK(contains(mistakes_of(Checkpoint({blocks}), {}, {1, 1, 64}), "tensor \"X_scales\" is missing"));
  CHECK(contains(mistakes_of(Checkpoint({scales}), {}, {1, 1, 64}), "tensor \"X_blocks\" is missing"));
  CHECK(contains(mistakes_of(Checkpoint({blocks, scales}), {}, {1, 2, 64}),
                 "tensor \"X_blocks\": its shape is [1, 1, 2, 16], but the described network makes it [1, 2, 2, 16]"));
  CHECK(contains(mistakes_of(Checkpoint({blocks, scales}), {}, {1, 1, 40}), "rows of 40 values, which are no whole"));
  CHECK(contains(mistakes_of(Checkpoint({blocks, {"X_scales", "I8", {1, 1, 2}, "ab"}}), {}, {1, 1, 64}),
                 "tensor \"X_scales\": values of dtype I8 can't be used here; U8 can"));
  const Checkpoint nan({blocks, {"X_scales", "U8", {1, 1, 2}, bytes_of({127, 255})}});
  CHECK(contains(mistake_of([&] { values_of(nan, {}, 1, 64); }),
                 "tensor \"X_scales\": value 1 makes weights that are not finite"));
}

TEST_CASE("values of 8 and 4 bits belong to a checkpoint's fingerprint") {
  const auto fingerprint = [](const std::string& dtype, int last) {
    return Checkpoint({{"X", dtype, {1, 3}, bytes_of({1, 2, last})}}).files().fingerprint();
  };
  const std::string dtype = GENERATE("U8", "F8_E4M3");
  CHECK(fingerprint(dtype, 3) == fingerprint(dtype, 3));
  CHECK(fingerprint(dtype, 3) != fingerprint(dtype, 4));
}

TEST_CASE("a gpt-oss folder whose blocks are of other shapes than its config.json says is refused by their names") {
  const Spoilt s("gpt_oss_mxfp4");
  s.config("num_local_experts", 4);
  const std::string message = mistake_of([&] { HuggingFaceFolder{s.folder}; });
  CHECK(contains(message,
                 "tensor \"model.layers.0.mlp.experts.gate_up_proj_blocks\": its shape is [3, 64, 3, 16], but "
                 "the described network makes it [4, 64, 3, 16]"));
  CHECK(contains(message, "tensor \"model.layers.1.mlp.experts.down_proj_scales\": its shape is [3, 96, 1], but"));
}

TEST_CASE("experts in one tensor that have another shape than config.json says are named once") {
  const Spoilt s("qwen3_5_moe_vision");
  s.set("config.json", "/text_config/moe_intermediate_size", 18);
  const std::string message = mistake_of([&] { HuggingFaceFolder{s.folder}; });
  const std::string mistake =
      "tensor \"model.language_model.layers.0.mlp.experts.gate_up_proj\": its shape is [6, 40, 32], but the "
      "described network makes it [6, 36, 32]";
  const auto at = message.find(mistake);
  REQUIRE(at != std::string::npos);
  CHECK(message.find(mistake, at + 1) == std::string::npos);
}

// DeepSeek-V3 as published: all matrices of the layers but the router's are FP8, with a factor for each block.
TEST_CASE("a folder in FP8 loads as the same network whose values were multiplied out") {
  const Spoilt eight("deepseek_v3"), wide("deepseek_v3");
  const std::uint64_t rows = 16, columns = 12;  // of a block
  eight.config("quantization_config", {{"quant_method", "fp8"},
                                       {"fmt", "e4m3"},
                                       {"activation_scheme", "dynamic"},
                                       {"weight_block_size", {rows, columns}}});
  std::vector<Stored> in_eight, in_wide;
  int quantised = 0;
  for (const Stored& t : stored_in(eight.folder / "model.safetensors")) {
    if (!contains(t.name, "_proj") || t.shape.size() != 2) {
      in_eight.push_back(t);
      in_wide.push_back(t);
      continue;
    }
    ++quantised;
    const std::uint64_t in = t.shape[1], across = (in + columns - 1) / columns;
    std::vector<float> factors((t.shape[0] + rows - 1) / rows * across), values(t.shape[0] * in);
    for (std::size_t i = 0; i < factors.size(); ++i) factors[i] = 0.125F / static_cast<float>(1 + i);
    std::string bits;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const int exponent = static_cast<int>(i % 3), fraction = static_cast<int>(i % 7);  // 1 + fraction / 8, halved
      bits += static_cast<char>((i % 2 << 7) | static_cast<unsigned>((7 - exponent) << 3 | fraction));
      const float size = (1 + static_cast<float>(fraction) / 8) / static_cast<float>(1 << exponent);
      values[i] = (i % 2 == 1 ? -size : size) * factors[i / in / rows * across + i % in / columns];
    }
    in_eight.push_back({t.name, "F8_E4M3", t.shape, bits});
    in_eight.push_back({t.name + "_scale_inv", "F32", {factors.size() / across, across}, fp32_bytes(factors)});
    in_wide.push_back({t.name, "F32", t.shape, fp32_bytes(values)});
  }
  CHECK(quantised > 60);
  write_bytes(eight.folder / "model.safetensors", safetensors(in_eight));
  write_bytes(wide.folder / "model.safetensors", safetensors(in_wide));
  HuggingFaceFolder a(eight.folder), b(wide.folder);
  const auto loaded = [](HuggingFaceFolder& from, const std::string& name, int in, int out) {
    std::vector<float> to(static_cast<std::size_t>(in) * static_cast<std::size_t>(out));
    from.load(name, in, out, to);
    return to;
  };
  struct Size {
    std::string name;
    int in, out;
  };
  for (const auto& [name, in, out] :
       {Size{"layers.0.gate_up", 32, 112}, Size{"layers.1.latent.down", 32, 22 + 18 + 8},
        Size{"layers.1.latent.kv_up", 18, 4 * 22}, Size{"layers.2.o", 48, 32},
        Size{"layers.2.experts.gate_up", 8 * 32, 40}, Size{"layers.2.router", 32, 8},
        Size{"layers.2.experts.down", 8 * 20, 32}, Size{"layers.2.shared.down", 20, 32}}) {
    CAPTURE(name);
    CHECK(loaded(a, name, in, out) == loaded(b, name, in, out));
  }
}
