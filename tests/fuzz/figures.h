// SPDX-License-Identifier: Apache-2.0
// A network is priced as it is read: plain decoding and a speculating method on one device.
#pragma once
#include "inputs/catalogue.h"
#include "predict/prediction.h"
#include "tests/fuzz/target.h"

namespace draftline::fuzz {

inline void are_figures(const Prediction& p) {
  is_figure(p.step_time.value, "step_time");
  is_figure(p.acceptance_length, "acceptance_length");
  is_figure(p.throughput.value, "throughput");
  is_figure(p.speedup, "speedup");
  is_figure(p.request.ttft.value, "ttft");
  is_figure(p.request.e2e.value, "e2e");
  is_figure(p.throughput_with_prefill.value, "throughput_with_prefill");
  is_figure(p.speedup_with_prefill, "speedup_with_prefill");
  is_figure(p.prefill_time.value, "prefill_time");
  is_figure(p.memory.total().value, "memory");
  is_figure(p.work.flops.value, "flops");
  is_figure(p.work.bytes().value, "bytes");
}

// So small that a step is priced in milliseconds.
inline bool is_small(const TransformerShape& t) { return t.layers() <= 8; }

inline MethodChoice method_of(const char* object, double rate) {
  return {MethodSpec(Document::from_text(object, "method.json").root()), Acceptance(Acceptance::Rate{rate})};
}

inline void price(const Device& device, const Engine& engine, const TransformerShape& target) {
  Recordings recordings([](const NamedNetwork&) { return TransformerShape{}; });
  Pricer pricer(recordings);
  const Setup setup{.device = outliving(device),
                    .engine = outliving(engine),
                    .transformer = outliving(target),
                    .precision = target.checkpoint.value_or(Precision()),
                    .parallel = {},
                    .batch_size = 3,
                    .prompt_tokens = 100,
                    .output_tokens = 20};
  for (const MethodChoice& m : {autoregressive(), method_of(R"({"name": "medusa", "draft_length": 2})", 0.5),
                                method_of(R"({"name": "self_spec", "draft_length": 2})", 0.5)}) {
    const auto result = predict(pricer, setup, m);
    if (const auto* p = std::get_if<Prediction>(&result)) are_figures(*p);
  }
}

}  // namespace draftline::fuzz
