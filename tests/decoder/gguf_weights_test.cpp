// SPDX-License-Identifier: Apache-2.0
// Weights from GGUF files (tests/fixtures/gguf; tools/reference/make_gguf_fixtures.py).
#include "decoder/checkpoint/gguf_weights.h"

#include "decoder/checkpoint/gguf_file.h"
#include "decoder/checkpoint/huggingface.h"
#include "decoder/cpu/backend.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"
#include "tests/decoder/expected_logits.h"
#include "tests/model/transformers/gguf_text.h"

using namespace draftline;
using namespace draftline::test;

static const std::filesystem::path kGguf = kFixtures / "gguf";

TEST_CASE("blocks of GGUF have the values that the gguf package gives them") {
  const std::string type =
      GENERATE("F32", "F16", "BF16", "Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "Q4_K", "Q5_K", "Q6_K");
  CAPTURE(type);
  const GgufFile file(GgufHeader::read(kGguf / "blocks.gguf"), "", disk());
  const StoredTensor& t = file.tensors().at("model." + type);
  CHECK(t.dtype == type);
  CHECK(t.shape == std::vector<std::uint64_t>{2, 512});
  std::vector<float> ours(t.elements), theirs(t.elements);
  file.read("model." + type, 0, ours);
  file.read("model." + type + ".expected", 0, theirs);
  CHECK(ours == theirs);
  std::vector<float> some(300);  // from within a block to within another
  file.read("model." + type, 417, some);
  CHECK(std::equal(some.begin(), some.end(), theirs.begin() + 417));
}

TEST_CASE("logits of a GGUF file agree with Hugging Face transformers on the folder that it was made from") {
  const std::string network =
      GENERATE("llama", "mistral", "mixtral", "qwen2", "qwen3", "qwen3_moe", "seed_oss", "olmo2", "ernie4_5");
  CAPTURE(network);
  GgufWeights file(kGguf / (network + ".gguf"));
  const HuggingFaceFolder folder(kFixtures / network);
  if (network != "mistral")  // which a GGUF file calls llama
    CHECK(file.shape().architecture == folder.shape().architecture);
  CHECK(file.shape().notes.empty());
  const Expected expected(kFixtures / network);
  const std::vector<float> ours = logits_of<CpuBackend>(file, file.shape(), expected.prompts);
  // As in logits_test.cpp. Factors of rope are stored in fp32 ("llama"), which turns the 37th position by another 1e-6.
  const double tolerance = 4 * expected.error_of_fp32 + (network == "llama" ? 1e-5 : 0);
  CHECK(furthest(expected, ours) <= tolerance);
}

TEST_CASE("rows of queries and keys that llama.cpp stores in pairs are loaded in transformers' order") {
  GgufWeights file(kGguf / "llama.gguf");
  HuggingFaceFolder folder(kFixtures / "llama");
  const auto loaded = [](WeightSource& from) {
    std::vector<float> qkv(48 * 80);  // 6 heads of queries, 2 of keys and 2 of values, of 8 columns
    from.load("layers.1.qkv", 48, 80, qkv);
    return qkv;
  };
  CHECK(loaded(file) == loaded(folder));
  const GgufFile stored(GgufHeader::read(kGguf / "llama.gguf"), "LlamaForCausalLM", disk());
  std::vector<float> theirs(96), ours(48 * 80);
  stored.read("model.layers.1.self_attn.q_proj.weight", 0, theirs);  // rows 0 and 4 of the folder's
  file.load("layers.1.qkv", 48, 80, ours);
  for (std::size_t i = 0; i < 48; ++i) {
    CHECK(ours[i * 80] == theirs[i]);
    CHECK(ours[i * 80 + 4] == theirs[48 + i]);
  }
}

namespace {

std::string mistake_in(const GgufText& text) {
  const FreshFolder folder;
  const auto path = folder.path() / "spoilt.gguf";
  text.write(path);
  return mistake_of([&] { GgufWeights{path}; });
}

constexpr std::uint32_t kGgufF32 = 0, kGgufF16 = 1, kGgufQ4K = 12, kGgufIq4Nl = 20;
std::uint32_t all_q4k(const std::string&, std::uint32_t) { return kGgufQ4K; }

}  // namespace

TEST_CASE("a GGUF file whose tensors are not those of its network is refused with their names") {
  CHECK(mistake_in(gguf_llama({}, all_q4k)) == "none");
  CHECK(contains(mistake_in(gguf_llama({}, all_q4k, "gemma3")),
                 "the weights of the architecture \"gemma3\" are not loaded"));
  CHECK(contains(mistake_in(gguf_llama(
                     {}, [](const std::string& name, auto) { return name == "attn_v" ? kGgufIq4Nl : kGgufQ4K; })),
                 "tensor \"blk.0.attn_v.weight\": values of dtype IQ4_NL can't be used; F32, F16, BF16, Q4_0"));
  GgufText more = gguf_llama({}, all_q4k);
  more.tensor("blk.0.attn_rot.weight", {8}, kGgufF32);
  CHECK(contains(mistake_in(more), "tensor \"blk.0.attn_rot.weight\": the described network has no such weight"));
  GgufText scaled = gguf_llama({}, all_q4k);
  scaled.real("llama.logit_scale", 0.25F);
  CHECK(contains(mistake_in(scaled), "its weights can't be decoded: \"llama.logit_scale\" is not used"));
  GgufText causal = gguf_llama({}, all_q4k);
  causal.number("llama.attention.causal", 1);
  CHECK(mistake_in(causal) == "none");
  GgufText both_ways = gguf_llama({}, all_q4k);
  both_ways.number("llama.attention.causal", 0);
  CHECK(contains(mistake_in(both_ways), "its weights can't be decoded: \"llama.attention.causal\" is not used"));
  GgufText remarked = gguf_llama({}, all_q4k);
  remarked.text("quantiser.host", "somewhere");
  CHECK(mistake_in(remarked) == "none");
  GgufText twice = gguf_llama({}, all_q4k);
  twice.tensor("blk.0.post_attention_norm.weight", {256}, kGgufF32);  // which is the norm of MLPs in transformers
  CHECK(contains(mistake_in(twice), "are the same weight"));
}

TEST_CASE("a value of a GGUF file that is not finite is refused when it is loaded") {
  const FreshFolder folder;
  const auto path = folder.path() / "endless.gguf";
  GgufText text;
  text.tensor("x", {4}, kGgufF16);
  std::ofstream(path, std::ios::binary) << text.header() << std::string(64, '\x7c');  // 0x7c7c: no number
  const GgufFile file(GgufHeader::read(path), "", disk());
  std::vector<float> values(4);
  CHECK(contains(mistake_of([&] { file.read("model.x", 0, values); }), "tensor \"x\": value 0 is not finite"));
}
