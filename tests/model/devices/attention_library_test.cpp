// SPDX-License-Identifier: Apache-2.0
#include "model/devices/attention_library.h"

#include "core/errors.h"
#include "tests/core/messages.h"
#include "tests/model/devices/known_device.h"

using namespace draftline;

namespace {

AttentionModel two_libraries() {
  AttentionFit flash{"flash_attention_2", DType::bf16, {}, {}, {}}, infer{"flashinfer", DType::fp8, {}, {}, {}};
  flash.prefill.layout = HeadLayout::swapped;
  infer.prefill.layout = HeadLayout::packed;
  AttentionModel m;
  m.fits = {flash, infer};
  return m;
}

std::string mistake(const std::string& text) {
  const Document document = Document::from_text(text, "engine.json");
  std::vector<std::string> guesses;
  return mistake_of([&] {
    read_attention_rules(document.root(), guesses);
    document.finish();
  });
}

}  // namespace

TEST_CASE("an engine's library is the first whose rule holds for the device and the cache") {
  const std::vector<AttentionRule> rules{
      {"third", "9.0", {}}, {"eight", {}, DType::fp8}, {"first", {}, {}}, {"never", {}, {}}};
  CHECK(attention_library(rules, "9.0", DType::fp8) == "third");
  CHECK(attention_library(rules, "8.9", DType::fp8) == "eight");
  CHECK(attention_library(rules, "8.9", DType::fp16) == "first");
  CHECK(attention_library(rules, "", DType::bf16) == "first");
  CHECK(attention_library({}, "9.0", DType::bf16).empty());
}

TEST_CASE("a pair that was measured has its own fit; another takes the nearest, the cache's bits before the library") {
  const AttentionModel m = two_libraries();
  const auto own = attention_choice(m, "flash_attention_2", DType::fp16);  // 16 bits are 16 bits
  CHECK(own.fit == &m.fits[0]);
  CHECK(own.measured);
  CHECK(own.layout == HeadLayout::swapped);
  const auto other_cache = attention_choice(m, "flash_attention_2", DType::fp8);
  CHECK(other_cache.fit == &m.fits[1]);
  CHECK_FALSE(other_cache.measured);
  const auto other_library = attention_choice(m, "triton", DType::bf16);
  CHECK(other_library.fit == &m.fits[0]);
  CHECK_FALSE(other_library.measured);
  CHECK(other_library.layout == HeadLayout::apart);  // nothing says that it leaves a CTA alone with a context
  CHECK(attention_choice(m, "flash_attention_2", DType::int4).layout == HeadLayout::swapped);
}

TEST_CASE("where nobody says which library it is, the device's own over such a cache is meant") {
  AttentionModel m = two_libraries();
  CHECK(attention_choice(m, "", DType::fp8).fit == &m.fits[1]);
  CHECK(attention_choice(m, "", DType::fp8).measured);
  m.fits = {AttentionFit{}};  // a probe of one's own kernels
  CHECK(attention_choice(m, "flashinfer", DType::bf16).measured);
  CHECK_FALSE(attention_choice(m, "flashinfer", DType::fp8).measured);
}

TEST_CASE("what vLLM runs is measured on the devices that have tables, what others run mostly is not") {
  struct Row {
    const char *device, *engine;
    DType cache;
    bool measured;
  };
  const auto row =
      GENERATE(Row{"a100-sxm", "vllm-0.19", DType::bf16, true}, Row{"a100-sxm", "vllm-0.19", DType::fp8, false},
               Row{"l40s", "vllm-0.19", DType::fp8, true}, Row{"h100-sxm", "vllm-0.19", DType::fp8, true},
               Row{"h200", "vllm-0.19", DType::bf16, true}, Row{"b200", "vllm-0.19", DType::fp8, true},
               Row{"h100-sxm", "sglang-0.4", DType::bf16, true}, Row{"a100-sxm", "sglang-0.4", DType::bf16, false},
               Row{"h100-sxm", "hf-eager-4.51", DType::bf16, false}, Row{"rtx-4090", "vllm-0.19", DType::bf16, true});
  INFO(row.device << " " << row.engine << " " << name(row.cache));
  const Device d = known_device(row.device);
  const AttentionChoice choice = attention_choice(d, known_engine(row.engine).attention, row.cache);
  CHECK(choice.measured == row.measured);
  CHECK(d.gpu().attention.other_library.has_value());
}

TEST_CASE("a rule with a mistake says where it is") {
  const std::string guess = R"("kind": "guess", "because": "so", )";
  CHECK(mistake("{" + guess + R"("rules": [{"library": "a", "cache": "fp8"}]})") == "none");
  CHECK(mistake("{" + guess + R"("rules": [{"cache": "fp8"}]})").find("#/rules/0") != std::string::npos);
  CHECK(mistake("{" + guess + R"("rules": [{"library": "a", "cache": "fp9"}]})").find("#/rules/0/cache") !=
        std::string::npos);
  CHECK(mistake("{" + guess + R"("rules": [{"library": "a", "ranks": 2}]})").find("unknown key") != std::string::npos);
  CHECK(mistake(R"({"kind": "default", "rules": []})").find("source") != std::string::npos);
}
