// SPDX-License-Identifier: Apache-2.0
// Steps of most sizes are derived from recordings of a few: they cost exactly what recorded ones do.
#include "predict/outlines_by_size.h"

#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

struct Compared {
  int sizes = 0, recorded = 0;
};

// Asks for each size, and compares its price and its memory with those of the tapes.
Compared compare(const Setup& s, Pricer& pricer, const MethodChoice& m, bool prefill) {
  const auto method = pricer.of(s, m);
  RecordedMethod& r = method->recorded();
  Compared all;
  const auto record = [&](int size) {
    ++all.recorded;
    return prefill ? r.record_prefill(size) : r.record_step(size);
  };
  OutlinesBySize outlines(record, 1 << 12, [](std::size_t) {});
  const auto price = [&](const StepOutline& o) {
    return StepPrice(o, method->device(), method->engine(), Speculation::on);
  };
  for (const int size : {1, 2, 3, 4, 5, 6, 7, 8, 9, 15, 16, 17, 31, 33, 48, 63, 64, 65, 100, 127, 129, 250, 255, 257}) {
    INFO(m.spec.name() << " on " << s.transformer->name << ", size " << size);
    const StepPrice derived = price(outlines.at(size));
    const Bytes activations = outlines.activations(size);
    const auto tapes = prefill ? r.record_prefill(size) : r.record_step(size);
    const StepPrice exact = price(StepOutline(tapes));
    for (const double length : {1.0, 777.0}) {
      const StepBreakdown a = derived.breakdown(length), b = exact.breakdown(length);
      CHECK(a.time == b.time);
      CHECK(a.kernels == b.kernels);
      CHECK(derived.work(length).bytes() == exact.work(length).bytes());
    }
    std::size_t arena = 0;
    for (const SegmentRun& run : tapes) arena = std::max(arena, plan_arena(*run.tape, declared_bytes).size);
    CHECK(activations.value == static_cast<double>(arena));
    ++all.sizes;
  }
  return all;
}

}  // namespace

TEST_CASE("a derived step costs what a recorded one does, whatever the method") {
  const auto file = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "tests/golden/scenarios/every_method.json";
  Sweep sweep(file, kData);
  sweep.validate();
  int sizes = 0, recorded = 0;
  for (std::size_t i = 0; i < sweep.scenario().methods.size(); ++i) {
    const MethodChoice& m = sweep.scenario().methods[i];
    Compared c;
    try {
      c = compare(sweep.setup({}), sweep.pricer(), m, false);
    } catch (const InputErrors&) { continue; }  // a method that this network refuses
    sizes += c.sizes;
    recorded += c.recorded;
  }
  CHECK(sizes > 20 * 24);
  CHECK(recorded < sizes * 2 / 3);  // so that something is derived
}

TEST_CASE("a derived step or prompt costs what a recorded one does, whatever the network") {
  const auto sweep = ScenarioText(R"({"device": "h100-sxm", "engine": "vllm", "method": {"name": "autoregressive"},
      "transformer": ["llama-3.1-8b", "qwen3-30b-a3b", "deepseek-v3", "gemma-3-27b", "qwen3-next-80b-a3b", "gpt-oss-20b"],
      "tensor_parallel": 2})")
                         .sweep();
  for (std::size_t i = 0; i < sweep->scenario().points(); ++i)
    for (const bool prefill : {false, true})
      compare(sweep->setup(point_at(sweep->scenario(), i)), sweep->pricer(), autoregressive(), prefill);
}

}  // namespace draftline
