// SPDX-License-Identifier: Apache-2.0
// A scenario: device, engine, transformer, methods, and batch or workload. Any value may be a list of alternatives; a
// scenario is the product of all lists, and a point is one element of the product.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/reader.h"
#include "inputs/acceptance.h"
#include "inputs/catalogue.h"
#include "inputs/drafter_device.h"
#include "inputs/precision_choice.h"
#include "inputs/serving_choice.h"
#include "methods/method_spec.h"

namespace draftline {

inline constexpr int kMostBatchSize = 1 << 16;  // largest batch size of a scenario

// One method of the product, with its acceptance and the drafter's device.
struct MethodChoice {
  MethodSpec spec;
  Acceptance acceptance = {};
  std::shared_ptr<const DrafterDevice> drafter_device = {};  // null: the target's
  std::optional<Reader> in = {};                             // its place in the scenario; none: not from a scenario

  MethodChoice with(MethodSpec other) const { return {std::move(other), acceptance, drafter_device, in}; }
};
const MethodChoice& autoregressive();  // plain decoding, the baseline of speedups

struct Scenario {
  std::string name, question, note;  // for readers of the output
  std::vector<std::shared_ptr<const Device>> devices;
  std::vector<Parallelism> parallel;  // the product of "tensor_parallel", "data_parallel_attention", "expert_parallel"
  std::vector<std::shared_ptr<const TransformerShape>> transformers;
  std::vector<PrecisionChoice> precisions;  // before the checkpoint's formats are applied: see precision_at()
  std::vector<std::shared_ptr<const Engine>> engines;           // with the server's options (inputs/server_options)
  std::vector<std::shared_ptr<const Engine>> engines_by_batch;  // the same with draft lengths that change by batch
  std::vector<MethodChoice> methods;
  std::vector<std::vector<MethodChoice>> methods_of_engine;    // with each engine's defaults (inputs/engine_defaults)
  std::vector<int> prompt_tokens, output_tokens, batch_sizes;  // at least 1, 2 and 1
  int cached_prompt_tokens = 0;               // tokens of each prompt already in the KV cache; fewer than in any prompt
  std::optional<SharedPrefix> shared_prefix;  // the part of them that sequences share; not for workloads
  double gpu_memory_utilization = kGpuMemoryUtilization;      // share of device memory; not for serving choices
  std::optional<Serving> serving;                             // the workload part, for the simulator
  Document document = Document::from_text("{}", "scenario");  // the file from which it was read

  std::size_t points() const;  // the size of the product
  // A method with the engine's defaults for values that the scenario does not give.
  const MethodChoice& method(std::size_t engine, std::size_t index) const {
    const bool own = engine < methods_of_engine.size() && index < methods_of_engine[engine].size();
    return own ? methods_of_engine[engine][index] : methods[index];
  }
  const MethodChoice& method(const struct Point&) const;
  const std::shared_ptr<const Engine>& engine(const struct Point&) const;
};

// One point of the product: an index into each list of the scenario. point_at() numbers the points, with the last field
// varying fastest; `index` is below points().
struct Point {
  std::size_t device, parallel, transformer, precision, engine, method, prompt, output, batch, serving;
  bool operator==(const Point&) const = default;
};
Point point_at(const Scenario&, std::size_t index);
inline const MethodChoice& Scenario::method(const Point& p) const { return method(p.engine, p.method); }
Precision precision_at(const Scenario&, const Point&);

// Reads and checks a scenario (docs/explanation/prediction.md, docs/explanation/simulator.md). Throws InputErrors with
// all mistakes.
Scenario read_scenario(Document, Catalogue&);

}  // namespace draftline
