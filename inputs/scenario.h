// SPDX-License-Identifier: Apache-2.0
// A what-if scenario: any value may be a list, and the run is the product of all lists. Every
// alternative is read once, strictly; a point is one choice of each.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/reader.h"
#include "inputs/acceptance.h"
#include "inputs/catalogue.h"
#include "inputs/serving_choice.h"
#include "methods/method_spec.h"

namespace draftline {

// One method of the product: its object with one choice of each of its lists.
struct MethodChoice {
  MethodSpec spec;
  Acceptance acceptance = {};
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
  std::optional<Serving> serving;                             // it has a workload: for the simulator
  Document document = Document::from_text("{}", "scenario");  // that it was read from, as far as it was

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
