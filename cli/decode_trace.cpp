// SPDX-License-Identifier: Apache-2.0
#include "cli/decode_trace.h"

#include <iostream>
#include <nlohmann/json.hpp>

#include "core/build_info.h"
#include "reports/point.h"

namespace draftline::cli {

using namespace measure;

int record_decode_trace(const DecodeOptions& o, TraceHeader h, const WeightNames& weights, const Tracing& t,
                        const std::vector<std::vector<int>>& prompts,
                        const std::function<void(JsonWriter&)>& write_inputs) {
  h.task = o.task;
  h.sampling = o.sampling;
  h.seed = o.seed;
  h.commit = build_commit();
  const auto traced = record_trace(t, prompts, h);
  write_trace(o.trace, h, traced);
  std::size_t positions = 0;
  for (const TracedPrompt& p : traced) positions += p.tokens.size();
  if (o.json) {
    constexpr int kSchemaVersion = 1;
    JsonWriter w(std::cout);
    w.begin_object();
    write_program(w, kSchemaVersion);
    write_inputs(w);
    w.member("trace", o.trace);
    w.member("target", h.target);
    w.member("weights", h.weights);
    w.member("drafter_weights", weights.drafter_json());
    w.member("method", nlohmann::json::parse(h.method));
    w.member("prompts", traced.size());
    w.member("positions", positions);
    w.member("depth", h.depth);
    w.member("records", h.steps() ? "steps" : h.ranks() ? "ranks" : "lengths");
    w.member("own_depth", h.own_depth);
    w.end_object();
    w.finish();
  } else {
    std::cerr << o.trace << ": " << traced.size() << " prompts, " << positions << " positions, "
              << (h.steps()   ? "steps: " + *h.steps_because
                  : h.ranks() ? "ranks of " + std::to_string(h.depth) + " levels"
                              : "no ranks")
              << (h.lengths() ? "; lengths of its own tree: " + *h.lengths_because : "") << weights.warning() << "\n";
  }
  return kFine;
}

}  // namespace draftline::cli
