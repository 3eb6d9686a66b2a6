// SPDX-License-Identifier: Apache-2.0
// What formats cost, on the device of round figures (hand_count_test.cpp: bytes / 1 GB/s) and on shipped ones.
#include <algorithm>
#include <cmath>

#include "core/text_file.h"
#include "tests/inputs/scenario_text.h"
#include "tests/model/transformers/gguf_text.h"

namespace draftline {

static constexpr double kClose = 1e-6;
// Weights of the layer: q, k, v 64 x 128, o 64 x 64, gate and up 64 x 256, down 128 x 64. The head is 64 x 1000.
static constexpr double kLayer = 8192 + 4096 + 16384 + 8192, kHead = 64000;

static Prediction round_prediction(const std::string& precision,
                                   const std::string& method = R"({"name": "autoregressive"})",
                                   const std::string& fused = "") {
  const std::string folder = std::string(DRAFTLINE_SOURCE_DIR) + "/tests/predict/data/";
  std::string device = read_text_file(folder + "round_device.json");
  device.insert(device.find("\"bf16\""), R"("fp8": "1 TFLOP/s", "int8": "1 TFLOP/s", "fp4": "1 TFLOP/s", )");
  const FreshFolder fresh;
  write_text_file(fresh.path() / "device.json", device);
  std::string engine = read_text_file(folder + "round_engine.json");
  if (!fused.empty())
    engine.insert(engine.find("\"ops\": {") + 8,
                  "\"" + fused + R"(": {"launches": 0, "traffic": 0, "kind": "guess", "because": "fused"}, )");
  write_text_file(fresh.path() / "engine.json", engine);
  return prediction(R"({"device": ")" + (fresh.path() / "device.json").string() + R"(", "transformer": ")" + folder +
                    R"(round_transformer.json", "engine": ")" + (fresh.path() / "engine.json").string() +
                    R"(", "method": )" + method + R"(, "precision": )" + precision +
                    R"(, "prompt_tokens": 90, "output_tokens": 22})");
}
static double verify_bytes(const std::string& precision) {
  return 1e9 * round_prediction(precision).breakdown.of(Phase::verify).value;
}
// 100 keys and values of 2 heads of 16 in 16 bits, and the indices that an attention reads.
static constexpr double kCache = 100 * 2 * 2 * 16 * 2, kIndex = 4 * 4;

TEST_CASE("a step reads each format's weights and scales, and writes and reads what is quantised for a product") {
  CHECK(verify_bytes(R"("bf16")") == Approx(2 * (kLayer + kHead) + kCache + kIndex).epsilon(kClose));
  // fp8: a scale of 4 bytes for each of the four; inputs of 64, 64, 64 and 128 columns are read in 2 bytes and written
  // in one, with a scale of 4 bytes for the row.
  CHECK(verify_bytes(R"("fp8")") ==
        Approx(kLayer + 4 * 4 + 2 * kHead + 3 * (3 * 64 + 4) + (3 * 128 + 4) + kCache + kIndex).epsilon(kClose));
  // int8 in 16-bit products: a scale for each of 128 + 64 + 256 + 64 outputs, and nothing is quantised.
  CHECK(verify_bytes(R"("int8")") == Approx(kLayer + 4 * 512 + 2 * kHead + kCache + kIndex).epsilon(kClose));
  CHECK(verify_bytes(R"("int8-w8a8")") ==
        Approx(kLayer + 4 * 512 + 2 * kHead + 3 * (3 * 64 + 4) + (3 * 128 + 4) + kCache + kIndex).epsilon(kClose));
  // int4: a group for each output, as there are at most 128 inputs.
  CHECK(verify_bytes(R"("int4")") == Approx(kLayer / 2 + 2 * 512 + 2 * kHead + kCache + kIndex).epsilon(kClose));
  CHECK(verify_bytes(R"("awq")") == Approx(kLayer / 2 + 2.5 * 512 + 2 * kHead + kCache + kIndex).epsilon(kClose));
  // nvfp4: half a byte each, a scale of a byte for 16.
  CHECK(verify_bytes(R"("nvfp4")") ==
        Approx(kLayer * (0.5 + 1.0 / 16) + 2 * kHead + (3 * 64 + 128) * (2.5 + 1.0 / 16) + kCache + kIndex)
            .epsilon(kClose));
  CHECK(verify_bytes(R"({"weights": "fp8", "kv_cache": "fp8", "lm_head": "int4", "attention": "bf16"})") ==
        Approx(2 * (8192 + 4096) + 16384 + 8192 + 2 * 4 + kHead / 2 + 2 * 1000 + (3 * 64 + 4) + (3 * 128 + 4) +
               kCache / 2 + kIndex)
            .epsilon(kClose));
}

TEST_CASE("a profile may fuse the quantising pass with the norm or the gate before it") {
  const auto saved = [](const std::string& fused) {
    const auto bytes = [](const Prediction& p) { return 1e9 * p.breakdown.of(Phase::verify).value; };
    const std::string plain = R"({"name": "autoregressive"})";
    return bytes(round_prediction(R"("fp8")")) - bytes(round_prediction(R"("fp8")", plain, fused));
  };
  CHECK(saved("quantise.norm") == Approx(2 * (3 * 64 + 4)).epsilon(kClose));  // before q, k, v and before the gate
  CHECK(saved("quantise.activation") == Approx(3 * 128 + 4).epsilon(kClose));
  CHECK(saved("quantise") == Approx(3 * (3 * 64 + 4) + 3 * 128 + 4).epsilon(kClose));
}

TEST_CASE("memory counts each class in its format, with its scales") {
  const double tables = 4 * kHead, norms = 2 * 3 * 64, blocks = 8 * 16;  // 90 + 22 + 1 tokens
  const Prediction fp8 = round_prediction(R"({"weights": "fp8", "kv_cache": "fp8"})");
  CHECK(fp8.memory.weights.value == kLayer + 4 * 4 + tables + norms);
  CHECK(fp8.memory.cache.value == blocks * 2 * 2 * 16);
  CHECK(round_prediction(R"("awq")").memory.weights.value == kLayer / 2 + 2.5 * 512 + tables + norms);
  CHECK(round_prediction(R"({"weights": "bf16", "lm_head": "fp8", "embedding": "fp32"})").memory.weights.value ==
        2 * kLayer + kHead + 4 + 4 * kHead + norms);
}

TEST_CASE("a drafter has 16 bits beside a quantised target unless another format is said") {
  const std::string medusa = R"({"name": "medusa", "draft_length": 1, "acceptance": {"rate": 0.5}})";
  const auto drafts = [&](const std::string& precision) {
    return 1e9 * round_prediction(precision, medusa).breakdown.of(Phase::draft).value;
  };
  // One head: 64 x 64, and an LM head of its own, which stays in 16 bits.
  CHECK(drafts(R"("bf16")") == Approx(2 * (4096 + kHead)).epsilon(kClose));
  CHECK(drafts(R"("fp8")") == Approx(2 * (4096 + kHead)).epsilon(kClose));
  CHECK(drafts(R"({"weights": "fp8", "draft": "fp8"})") == Approx(4096 + 4 + 2 * kHead + 3 * 64 + 4).epsilon(kClose));
  CHECK(round_prediction(R"("fp8")", medusa).memory.draft_weights.value == 2 * (4096 + 64 + kHead));
}

TEST_CASE("a draft network has the formats of its own checkpoint unless others are said") {
  const FreshFolder fresh;
  std::string config = read_text_file(std::string(DRAFTLINE_SOURCE_DIR) + "/tests/predict/data/round_transformer.json");
  config.insert(config.find('{') + 1, R"("quantization_config": {"quant_method": "fp8"}, )");
  write_text_file(fresh.path() / "draft.json", config);
  const std::string method = R"({"name": "draft_model", "draft_length": 1, "acceptance": {"rate": 0.5}, "draft": ")" +
                             (fresh.path() / "draft.json").string() + "\"}";
  const auto draft_bytes = [&](const std::string& precision) {
    return round_prediction(precision, method).memory.draft_weights.value;
  };
  const double tables = 4 * kHead, norms = 2 * 3 * 64;
  CHECK(draft_bytes(R"("bf16")") == kLayer + 4 * 4 + tables + norms);
  CHECK(draft_bytes(R"("nvfp4")") == kLayer + 4 * 4 + tables + norms);
  CHECK(draft_bytes(R"({"weights": "fp8", "draft": "bf16"})") == 2 * kLayer + tables + norms);
}

static std::string on_h100(const std::string& precision, const std::string& more) {
  return R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm-0.19", "precision": )" + precision +
         ", " + more + "}";
}

TEST_CASE("a short prompt that waits for the launches of quantising kernels has a warning") {
  // SGLang launches a prompt's kernels one by one: per layer four more in fp8, whose products are faster.
  const auto of = [](const std::string& engine, const std::string& precision, int tokens) {
    return prediction(R"({"device": "h200", "transformer": "qwen3-8b", "method": {"name": "autoregressive"},
      "engine": ")" + engine +
                      R"(", "precision": ")" + precision + R"(", "prompt_tokens": )" + std::to_string(tokens) + "}");
  };
  const auto warned = [&](const Prediction& p) {
    return std::ranges::any_of(p.warnings, [](const std::string& w) {
      return w.starts_with("sglang quantises rows by kernels of their own, whose launches take ");
    });
  };
  const Prediction fp8 = of("sglang", "fp8", 50);
  CHECK(fp8.prefill_time > of("sglang", "bf16", 50).prefill_time);
  CHECK(warned(fp8));
  CHECK_FALSE(warned(of("sglang", "bf16", 50)));
  CHECK_FALSE(warned(of("sglang", "fp8", 8192)));
  CHECK_FALSE(warned(of("tensorrt-llm", "fp8", 50)));  // whose norms and gates write quantised rows
}

TEST_CASE("W8A8 reads a long prompt at the 8-bit rate, weights alone in 8 bits at the 16-bit rate") {
  const std::string prompt = R"("method": {"name": "autoregressive"}, "prompt_tokens": 8192)";
  const auto ttft = [&](const std::string& precision) {
    return prediction(on_h100(precision, prompt)).prefill_time.value;
  };
  const double bf16 = ttft(R"("bf16")");
  for (const std::string format : {R"("fp8")", R"("fp8-block")", R"("int8-w8a8")"}) {
    INFO(format);
    CHECK(ttft(format) < 0.8 * bf16);
    CHECK(ttft(format) > 0.5 * bf16);  // attention and the head stay as they were
  }
  CHECK(ttft(R"("int8")") == Approx(bf16).epsilon(0.05));
  CHECK(ttft(R"("nvfp4")") > 0.95 * bf16);  // the H100 has no arithmetic in 4 bits
}

TEST_CASE("at a large batch speculation gains more from W8A8 than from weights alone in 8 bits") {
  const std::string eagle =
      R"("method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}}, "batch_size": 128)";
  CHECK(prediction(on_h100(R"("fp8")", eagle)).speedup > 1.05 * prediction(on_h100(R"("int8")", eagle)).speedup);
}

TEST_CASE("Llama-3.3-70B in FP8 takes 36.3 GB of each of two H100") {
  // A layer: 2 * 8192 * (8192 + 1024) + 3 * 8192 * 28672 = 855,638,016 weights of a byte and four scales; two tables of
  // 128256 * 8192 in two bytes; 161 norms of 8192, which both have.
  const Prediction p = prediction(R"({"device": "h100-sxm", "tensor_parallel": 2, "transformer": "llama-3-70b",
      "engine": "vllm-0.19", "precision": "fp8", "method": {"name": "autoregressive"}})");
  CHECK(p.memory.weights.value == 80 * (855638016.0 / 2 + 4 * 4) + 2.0 * 128256 * 8192 + 2.0 * 161 * 8192);
  // 512 + 256 + 1 tokens: 49 blocks of 16, 4 of the 8 KV heads.
  CHECK(p.memory.cache.value == 49 * 16 * 80 * 2.0 * 4 * 128 * 2);
}

TEST_CASE("what may be used of a device is its share of what nvidia-smi reports") {
  // 8192 tokens of 128 KiB take 1 GiB a sequence: behind 16 GB of weights there is room for some 57 of 80 GB, but a
  // tenth is kept free.
  const auto runs = [](int batch, const std::string& share) {
    const ScenarioText s(
        on_h100(R"("bf16")",
                R"("method": {"name": "autoregressive"}, "prompt_tokens": 8000, "output_tokens": 191, "batch_size": )" +
                    std::to_string(batch) + share));
    return std::holds_alternative<Prediction>(s.sweep()->at(0).result);
  };
  CHECK(runs(54, ""));
  CHECK(!runs(60, ""));
  CHECK(runs(60, R"(, "gpu_memory_utilization": 1)"));
}

TEST_CASE("experts whose blocks of one scale would be divided among ranks are told") {
  const auto warned = [](const std::string& precision, const std::string& parallel) {
    const Prediction p = prediction(R"({"device": "h100-sxm", "transformer": "qwen3-30b-a3b", "engine": "vllm",
        "method": {"name": "autoregressive"}, "precision": ")" +
                                    precision + "\", " + parallel + "}");
    return std::any_of(p.warnings.begin(), p.warnings.end(),
                       [](const std::string& w) { return w.starts_with("engines can't load this: the 768 columns"); });
  };
  CHECK(warned("fp8-block", R"("tensor_parallel": 4)"));  // 192 columns each
  CHECK_FALSE(warned("fp8-block", R"("tensor_parallel": 2)"));
  CHECK_FALSE(warned("fp8-block", R"("tensor_parallel": 4, "expert_parallel": true)"));
  CHECK_FALSE(warned("fp8", R"("tensor_parallel": 4)"));
}

// Llama-3.1-8B's files: 4.92 GB in Q4_K_M, 5.73 in Q5_K_M, 6.60 in Q6_K, 8.54 in Q8_0, 4.66 in Q4_0 (llama.cpp's
// llama-bench: 4.58, 5.33, 6.14, 7.95 and 4.33 GiB).
TEST_CASE("a network in a GGUF format has the memory of its file") {
  const auto gib = [](const std::string& format) {
    return prediction(R"({"device": "rtx-3090", "transformer": "llama-3.1-8b", "engine": "llama.cpp", "precision": ")" +
                      format + R"(", "method": {"name": "autoregressive"}})")
               .memory.weights.value /
           (1 << 30);
  };
  CHECK(gib("q4_k_m") == Approx(4.58).epsilon(0.005));
  CHECK(gib("q5_k_m") == Approx(5.33).epsilon(0.005));
  CHECK(gib("q6_k") == Approx(6.14).epsilon(0.005));
  CHECK(gib("q8_0") == Approx(7.95).epsilon(0.005));
  CHECK(gib("q4_0") == Approx(4.33).epsilon(0.005));
}

// llama.cpp's rule for Q4_K_M: half of the value and down projections in Q6_K.
TEST_CASE("a GGUF file is priced from its header, and needs the memory of the published file") {
  constexpr std::uint32_t kQ4K = 12, kQ6K = 14, kLayers = 32;
  const auto more_bits = [](std::uint32_t i) {
    return i < kLayers / 8 || i >= 7 * kLayers / 8 || (i - kLayers / 8) % 3 == 2;
  };
  const GgufText file = gguf_llama(
      {.layers = kLayers, .hidden = 4096, .intermediate = 14336, .heads = 32, .kv_heads = 8, .vocabulary = 128256},
      [&](const std::string& name, std::uint32_t layer) {
        return name == "output" || ((name == "attn_v" || name == "ffn_down") && more_bits(layer)) ? kQ6K : kQ4K;
      });
  const FreshFolder folder;
  file.write(folder.path() / "Llama-3.1-8B.Q4_K_M.gguf");
  const auto of = [&](const std::string& network, const std::string& precision) {
    return prediction(R"({"device": "rtx-3090", "transformer": ")" + network +
                      R"(", "engine": "llama.cpp", "precision": )" + precision +
                      R"(, "method": {"name": "autoregressive"}})");
  };
  const Prediction gguf = of((folder.path() / "Llama-3.1-8B.Q4_K_M.gguf").string(), R"("auto")");
  CHECK(gguf.memory.weights.value == Approx(4.92e9).epsilon(0.002));  // published: 4.92 GB
  CHECK(gguf.memory.weights.value == Approx(to_double(file.data())).epsilon(0.001));
  const Prediction named = of("llama-3.1-8b", R"("q4_k_m")");
  CHECK(gguf.step_time / named.step_time == Approx(1).epsilon(0.005));
  CHECK(gguf.memory.cache.value == named.memory.cache.value);
}

TEST_CASE("an engine whose kernels multiply row by row pays each row's arithmetic, up to its limit of rows") {
  const auto step = [](const std::string& method, int limit) {
    const std::string folder = std::string(DRAFTLINE_SOURCE_DIR) + "/tests/predict/data/";
    std::string engine = read_text_file(folder + "round_engine.json");
    if (limit > 0)
      engine.insert(engine.find("\"ops\": {"),
                    R"("row_work": {"value": [[1, 1000]], "kind": "guess", "because": "round"},
                       "few_rows": {"value": )" +
                        std::to_string(limit) + R"(, "kind": "guess", "because": "round"}, )");
    const FreshFolder fresh;
    write_text_file(fresh.path() / "engine.json", engine);
    return prediction(R"({"device": ")" + folder + R"(round_device.json", "transformer": ")" + folder +
                      R"(round_transformer.json", "engine": ")" + (fresh.path() / "engine.json").string() +
                      R"(", "method": )" + method + R"(, "prompt_tokens": 90, "output_tokens": 22})")
        .breakdown.of(Phase::verify, KernelKind::gemm)
        .value;
  };
  const std::string plain = R"({"name": "autoregressive"})",
                    four =
                        R"({"name": "prompt_lookup", "draft_length": 3, "acceptance": {"rate": 0.5, "hit_share": 1}})";
  // A weight takes 2 ns to read (1 GB/s) and 1 ns a row to multiply (1 TFLOP/s).
  const double weights = 1e-9 * (kLayer + kHead);
  CHECK(step(plain, 0) == Approx(2 * weights).epsilon(1e-4));
  CHECK(step(plain, 8) == Approx(std::hypot(2, 1) * weights).epsilon(1e-4));
  CHECK(step(four, 8) == Approx(std::hypot(2, 4) * weights).epsilon(1e-4));
  CHECK(step(four, 3) == Approx(step(four, 0)).epsilon(1e-9));
}

}  // namespace draftline
