// SPDX-License-Identifier: Apache-2.0
// Prefix caches and pools of networks with recurrent states, against engines' logs.
#include "predict/prefix_reuse.h"

#include <algorithm>

#include "predict/device_memory.h"
#include "predict/prediction.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

const std::string kPlainDecoding = R"({"name": "autoregressive"})";
std::string mtp(int drafts) {
  return R"({"name": "mtp_sequential", "draft_length": )" + std::to_string(drafts) +
         R"(, "acceptance": {"rate": 0.7}})";
}
std::string looking_up(int drafts) {
  return R"({"name": "prompt_lookup", "draft_length": )" + std::to_string(drafts) + R"(, "acceptance": {"rate": 0.7}})";
}

std::string hybrid(const std::string& network, const std::string& method, const std::string& more = "",
                   const std::string& engine = "vllm-0.19") {
  return R"({"device": "h200", "transformer": ")" + network + R"(", "engine": ")" + engine + R"(", "method": )" +
         method + more + "}";
}

std::optional<PrefixReuse> reuse(const std::string& scenario) {
  const auto s = ScenarioText(scenario).sweep();
  const Point p = point_at(s->scenario(), 0);
  return prefix_reuse(s->setup(p), s->scenario().method(p).spec);
}

bool any_contains(const std::vector<std::string>& all, const std::string& text) {
  return std::ranges::any_of(all, [&](const std::string& one) { return contains(one, text); });
}

double ttft(const std::string& method, const std::string& more) {
  return prediction(hybrid("qwen3.5-35b-a3b", method, R"(, "prompt_tokens": 6500, "output_tokens": 20)" + more))
      .request.ttft.value;
}

}  // namespace

TEST_CASE("units of cached prefixes are those in vLLM's logs") {
  struct Logged {
    const char *network, *more;
    std::string method;
    int unit;
  };
  const char *fp8 = R"(, "precision": {"kv_cache": "fp8"})", *four = R"(, "tensor_parallel": 4)";
  for (const Logged& l : {Logged{"qwen3.5-9b", "", kPlainDecoding, 528},         // issue 40696, of the like 4B
                          Logged{"qwen3.5-35b-a3b", "", kPlainDecoding, 1056},   // 1056 or 528 on several devices
                          Logged{"qwen3.5-35b-a3b", four, kPlainDecoding, 528},  //
                          Logged{"qwen3.5-35b-a3b", "", mtp(2), 1072},           // issue 38182
                          Logged{"qwen3.5-35b-a3b", "", looking_up(2), 1072},    // the drafts' rows, not the drafter
                          Logged{"qwen3.5-35b-a3b", fp8, mtp(3), 2144},          // issue 53670
                          Logged{"qwen3-next-80b-a3b", R"(, "tensor_parallel": 2)", kPlainDecoding, 544}}) {
    INFO(l.network << l.more << " " << l.method);
    CHECK(reuse(hybrid(l.network, l.method, l.more)).value().unit == l.unit);
  }
}

TEST_CASE("drafters that read hidden states cost a unit; other networks share blocks; older engines share nothing") {
  CHECK(reuse(hybrid("qwen3.5-9b", kPlainDecoding)).value().dropped == 0);
  CHECK(reuse(hybrid("qwen3.5-9b", looking_up(3))).value().dropped == 0);
  CHECK(reuse(hybrid("qwen3.5-9b", mtp(3))).value().dropped == 1);
  CHECK(reuse(hybrid("llama-3.1-8b", kPlainDecoding)) == PrefixReuse{});
  CHECK_FALSE(reuse(hybrid("qwen3.5-9b", kPlainDecoding, "", "vllm-0.10")));
  CHECK_FALSE(reuse(hybrid("qwen3.5-9b", kPlainDecoding, "", "sglang-0.5")));
  CHECK(PrefixReuse{528, 1}.of(2000) == 1056);
  CHECK(PrefixReuse{528, 1}.of(527) == 0);
}

TEST_CASE("run finds whole units of a shared prefix, and plain decoding finds one more than MTP") {
  // 6300 tokens: 5 of 1056, of which MTP with 2 drafts (1072) finds 4.
  const std::string shared = R"(, "shared_prefix": 6300)";
  CHECK(ttft(kPlainDecoding, shared) == Approx(ttft(kPlainDecoding, R"(, "cached_prompt_tokens": 5280)")));
  CHECK(ttft(mtp(2), shared) == Approx(ttft(mtp(2), R"(, "cached_prompt_tokens": 4288)")));
  CHECK(ttft(kPlainDecoding, shared) < 0.65 * ttft(kPlainDecoding, ""));  // the host's launches remain
  const auto warned = [](const std::string& method) {
    return prediction(hybrid("qwen3.5-35b-a3b", method, R"(, "prompt_tokens": 6500, "shared_prefix": 6300)")).warnings;
  };
  CHECK(any_contains(warned(mtp(2)), "in units of 1072 tokens; this drafter needs the last unit again"));
}

TEST_CASE("SGLang seats the sequences that its pool of states holds") {
  const auto seats = [](const std::string& method, const std::string& engine) -> std::optional<int> {
    const auto s = ScenarioText(hybrid("qwen3.5-35b-a3b", method, "", engine)).sweep();
    const Point p = point_at(s->scenario(), 0);
    const Setup setup = s->setup(p);
    const ServerMemory m = server_memory(s->recordings(), setup, s->scenario().method(p), 48, 8192);
    if (!m.states) return std::nullopt;
    return m.states->sequences(setup.gpu_memory_utilization * setup.device->memory - m.taken());
  };
  // A report has some 58 sequences of a 35B hybrid on an H200, its mem_fraction_static and drafts unknown.
  const int speculating = seats(mtp(3), "sglang-0.5").value(), plain = seats(kPlainDecoding, "sglang-0.5").value();
  CHECK(speculating > 45);
  CHECK(speculating < 70);
  CHECK(plain == Approx(speculating * 8 / 3.0).epsilon(0.05));  // 3 states for 4 and a state of each of 4 rows
  CHECK_FALSE(seats(kPlainDecoding, "vllm-0.19"));
  const auto p = prediction(hybrid("qwen3.5-35b-a3b", mtp(3), R"(, "batch_size": 90)", "sglang-0.5"));
  CHECK(any_contains(p.warnings, "seats " + std::to_string(speculating) + " sequences here"));
}

}  // namespace draftline
