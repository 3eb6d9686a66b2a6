// SPDX-License-Identifier: Apache-2.0
// A scenario with its predictor, which computes the outcome of each point of the product. Each thread needs its own.
#pragma once
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/files.h"
#include "core/mistake.h"
#include "inputs/scenario.h"
#include "predict/kernel_times.h"
#include "predict/prediction.h"

namespace draftline {

struct Outcome {
  Point point;
  std::variant<Prediction, std::string> result;  // string: why the point was skipped

  std::vector<KernelTime> kernels = {};  // of a step; empty if not requested or if skipped
};

class Sweep {
 public:
  // Throws InputErrors if the scenario is wrong.
  Sweep(Document scenario, const Data&);
  Sweep(Scenario, const Data&);
  Sweep(const std::filesystem::path& scenario, const Data& data)
      : Sweep(Document::from_file(scenario, *data.files), data) {}
  const Scenario& scenario() const { return scenario_; }

  // Builds every method on every transformer once. Throws InputErrors with all mistakes. Values of lists that only some
  // combinations can have are no mistakes: the other points are skipped with their reasons.
  void validate();
  std::optional<Mistake> mistake(const Point&);  // of the point's method with its network
  // What is in the way of the point's devices, network and method; empty: nothing is.
  std::vector<PlacedMistake> refusals(const Point&);
  Outcome at(std::size_t index, bool with_kernels = false);  // of the point point_at(scenario, index)
  Setup setup(const Point&) const;
  Recordings& recordings() { return recordings_; }
  Pricer& pricer() { return pricer_; }

 private:
  Decoder::FindTransformer finder();  // by name or file
  Decoder::FindDrafter drafter_finder();
  void validate_method(std::size_t method);
  Reader place_of(const Parallelism&) const;
  void refuse_undividable(const MethodChoice&);
  Catalogue catalogue_;
  Scenario scenario_;
  std::vector<std::vector<std::shared_ptr<const Device>>> devices_;  // by engine: each device with the fits for it
  Recordings recordings_;
  Pricer pricer_;
  // Of the last point. Neighbouring points differ only in batch size and lengths.
  std::optional<Point> predicted_;
  std::optional<Predictor> predictor_;
  std::optional<Mistake> refused_;
};

// What is in the way of a point; empty: it can run.
using Refusals = std::function<std::vector<PlacedMistake>(const Point&)>;
// Whether some combination of a scenario's values can run, with the first `servings` of its serving choices. If none
// can, notes what is in the way of each.
bool note_unless_some_run(const Scenario&, std::size_t servings, const Refusals&);

}  // namespace draftline
