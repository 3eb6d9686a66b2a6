// SPDX-License-Identifier: Apache-2.0
// A scenario and its predictor: the outcome of each point of the product. One per thread.
#pragma once
#include <filesystem>
#include <string>
#include <tuple>
#include <variant>

#include "inputs/scenario.h"
#include "predict/prediction.h"

namespace draftline {

struct Outcome {
  Point point;
  std::variant<Prediction, std::string> result;  // or why the point was skipped

  static auto members(auto& s) { return std::tie(s.point, s.result); }
};

class Sweep {
 public:
  Sweep(Document scenario, const std::filesystem::path& data);
  Sweep(Scenario, const std::filesystem::path& data);  // of a value that was read, or made
  Sweep(const std::filesystem::path& scenario, const std::filesystem::path& data)
      : Sweep(Document::from_file(scenario), data) {}
  const Scenario& scenario() const { return scenario_; }

  // Builds every method on every transformer once, so that all mistakes show before anything is written.
  void validate();
  // InputErrors if no point of the product fits its device.
  void find_one_that_fits();
  Outcome at(std::size_t index);
  Setup setup(const Point&) const;
  Predictor& predictor() { return predictor_; }

 private:
  Decoder::FindTransformer finder();  // by name or file
  Catalogue catalogue_;
  Scenario scenario_;
  Predictor predictor_;
};

}  // namespace draftline
