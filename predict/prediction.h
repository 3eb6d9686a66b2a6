// SPDX-License-Identifier: Apache-2.0
// Predicts steady decoding: the time of a method's step, from its tapes priced for a device and an engine, and the
// throughput that follows from the acceptance length. Assumptions (docs/explanation/prediction.md): the batch stays
// full, and the contexts of its sequences grow together.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "core/mistake.h"
#include "predict/mean_contexts.h"
#include "predict/prediction_interval.h"
#include "predict/request_cycle.h"
#include "predict/setup.h"
#include "predict/step_prices.h"

namespace draftline {

// The drafter's own device, where it has one.
struct DrafterUse {
  MemoryFootprint memory;  // draft weights and cache; activations are bounded by those of the whole step
  double busy;             // share of the time that it works
};

struct Prediction {
  int verified_rows;         // per sequence and step
  Seconds step_time;         // mean over the output
  StepBreakdown breakdown;   // of step_time; every entry is the mean over the output
  double acceptance_length;  // mean tokens per sequence and step, the bonus token included; an input
  PerSecond throughput;      // output tokens/s of the whole batch while it decodes
  double speedup;            // throughput over that of plain decoding: same device, batch size and precision
  // What requests see, their prompts included (predict/request_cycle). The speedup is of end-to-end latency, and of
  // throughput.
  RequestCycle request;
  PerSecond throughput_with_prefill;
  double speedup_with_prefill;
  Seconds prefill_time;    // of one prompt, of what is not cached already
  MemoryFootprint memory;  // of each device; of the target's, where the drafter has its own
  std::optional<DrafterUse> drafter;
  Work work;  // FLOP and bytes of a step in the middle of the output, on each device
  std::optional<PredictionInterval> interval;
  std::vector<std::string> warnings;  // setup_warnings()
};

// Makes predictions. Devices, engines, networks and traces must outlive it and not change. Each thread needs its own.
class Predictor {
 public:
  explicit Predictor(Decoder::FindTransformer find, Decoder::FindDrafter drafter = {})
      : steps_(std::move(find), std::move(drafter)) {}
  Predictor(const Predictor&) = delete;  // tables of prompts refer to it

  // The prediction, or the reason why this point can't run: the text is longer than the transformer's positions, or it
  // does not fit in device memory, or there is a mistake().
  std::variant<Prediction, std::string> predict(const Setup&, const MethodChoice&);

  // A mistake in the method's object that only its network shows.
  std::optional<Mistake> mistake(const Setup&, const MethodChoice&);

  StepPrices& steps() { return steps_; }  // what its predictions are made of

 private:
  // The mean acceptance length over the output, or why the acceptance is not of this method.
  static std::variant<double, Mistake> acceptance_length(const MethodChoice&, const Method&, int verified_rows,
                                                         const Setup&);
  // The contexts of the steps over the output: more steps lie where fewer tokens are accepted.
  static MeanContexts contexts(const MethodChoice&, const Method&, int verified_rows, const Setup&,
                               std::span<const Window>);
  struct MeanStep {  // of the whole batch, over the output
    MeanContexts contexts;
    StepBreakdown step;
  };
  static MeanStep mean_over_output(const RecordedMethod&, const PricedStep&, const Setup&, const MethodChoice&);
  // The mean number of steps in which a request decodes, where the mean acceptance length is known.
  static double decode_steps(RecordedMethod&, const MethodChoice&, const Setup&, int verified_rows,
                             double acceptance_length);
  RequestCycle cycle(RecordedMethod&, const Setup&, const MethodChoice&, double decode_steps, const MeanStep& full);
  struct Baseline {  // plain decoding, with which the methods of a setup are compared
    StepBreakdown step;
    Seconds e2e;
  };
  const Baseline& baseline(const Setup&);
  ChunkPrices& chunks(RecordedMethod&, const Setup&);

  StepPrices steps_;
  std::map<std::tuple<const void*, const Device*, const Engine*>, ChunkPrices> chunks_;
  std::map<std::tuple<const void*, const Device*, const Engine*, int, int, int, int>, Baseline> baselines_;
};

// The mean time of a step, and its mean breakdown, while the context grows from the prompt to the end of the output.
// Integrated over mean_contexts().
Seconds mean_step_time(const StepPrice&, int prompt_tokens, int output_tokens);
StepBreakdown mean_step(const StepPrice&, int prompt_tokens, int output_tokens);
StepBreakdown mean_step(const ExpectedStep&, const MeanContexts&);

}  // namespace draftline
