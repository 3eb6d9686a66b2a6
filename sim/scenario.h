// SPDX-License-Identifier: Apache-2.0
// A what-if scenario: any value may be a list, and the run is the product of all lists. Every
// alternative is read once, strictly; a point is one choice of each.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/reader.h"
#include "decoder/trace.h"
#include "model/tree_search.h"
#include "sim/catalogue.h"
#include "sim/serving_choice.h"

namespace draftline {

// Where the acceptance of drafts comes from.
struct Acceptance {
  enum class Kind { none, rates, rate, mean_length, ranks, trace } kind = Kind::none;
  std::vector<double> rates;  // conditional, per position; or the one value of `rate` and `mean_length`
  RankAcceptance ranks;       // of each level: for trees of fixed shape; of a trace too, if it holds ranks
  std::string ranks_text;     // them in full: tells optimal trees apart
  std::shared_ptr<const Trace> trace;
  std::string text;  // as the scenario gives it, for the output
};

// One method of the product: its object with one choice of each of its lists.
struct MethodChoice {
  Reader in;
  std::string name, parameters;  // parameters: what tells it from others of its name, compact JSON
  std::optional<int> draft_length;
  Acceptance acceptance;
};

struct PrecisionChoice {
  std::string name;
  DType matrices = DType::bf16, activations = DType::bf16;
};

struct Scenario {
  std::string name, question, note;  // for people
  std::vector<std::shared_ptr<const Device>> devices;
  std::vector<int> tensor_parallel;
  std::vector<std::shared_ptr<const TransformerShape>> transformers;
  std::vector<PrecisionChoice> precisions;
  std::vector<std::shared_ptr<const Engine>> engines;
  std::vector<MethodChoice> methods;
  std::vector<int> prompt_tokens, output_tokens, batch_sizes;
  std::optional<Serving> serving;  // it has a workload: for the simulator
  Document document;

  std::size_t points() const;  // of the product
};

// Indices into the lists of a scenario: one point of its product. The last field turns fastest.
struct Point {
  std::size_t device, ranks, transformer, precision, engine, method, prompt, output, batch, serving;
  bool operator==(const Point&) const = default;
};
Point point_at(const Scenario&, std::size_t index);

// Throws InputErrors with all mistakes.
Scenario read_scenario(Document, Catalogue&);

}  // namespace draftline
