// SPDX-License-Identifier: Apache-2.0
// Steady decoding, predicted: a method's tapes, priced on a device under an engine, times how many steps a text takes.
// What it assumes is in docs/prediction.md: a batch that stays full, contexts that grow together through the output.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <variant>

#include "decoder/priced/step_price.h"
#include "inputs/scenario.h"
#include "methods/decoder.h"
#include "model/memory.h"
#include "predict/prediction_interval.h"

namespace draftline {

struct Prediction {
  int verified_rows;                              // of a sequence, in a step
  Seconds step_time;                              // mean over the output
  StepBreakdown breakdown;                        // of it: every entry is the mean over the output
  double acceptance_length;                       // an input
  PerSecond throughput, throughput_with_prefill;  // output tokens of the whole batch
  double speedup;          // of throughput, against autoregressive on the same device, batch, precision
  Seconds prefill_time;    // of one prompt
  MemoryFootprint memory;  // on each device
  Work work;               // of a step at the middle of the output
  std::optional<PredictionInterval> interval;
};

// What a setup needs to be priced; owned by the scenario.
struct Setup {
  const Device* device;
  const Engine* engine;
  const TransformerShape* transformer;
  PrecisionChoice precision;
  int ranks, batch_size, prompt_tokens, output_tokens;
};

class Predictor {
 public:
  explicit Predictor(Decoder::FindTransformer find) : find_(std::move(find)) {}

  // The prediction, or why this point can't run (it does not fit the device). Wrong input is noted at the method's
  // place.
  std::variant<Prediction, std::string> predict(const Setup&, const MethodChoice&);

  // Builds the method and reads its acceptance, so that mistakes are noted at their places.
  void validate(const Setup&, const MethodChoice&);

  // A step's price for whoever needs other contexts, batches or prompts than a steady text; and what a sequence
  // verifies.
  StepPrice step_price(const Setup&, const MethodChoice&);
  StepPrice prefill_price(const Setup&, const MethodChoice&, int tokens);
  int verified_rows(const Setup&, const MethodChoice&);
  const Method& method(const Setup&, const MethodChoice&);

  // The method with its draft network divided among the ranks; none: it has no network, or there is nothing to divide.
  std::optional<MethodChoice> with_sharded_draft(const Setup&, const MethodChoice&);

  // What lies on each device beside the caches while a batch decodes, and what one token's caches take there.
  struct Room {
    Bytes weights, activations, per_token;
    Bytes taken(int stages = 1) const { return weights / stages + activations; }  // of one of so many pipeline stages
  };
  Room room(const Setup&, const MethodChoice&, int batched_tokens);

  // The tapes of a steady step, for whoever prices them in another way. They live until the method's next prediction.
  std::vector<SegmentRun> recorded_step(const Setup&, const MethodChoice&);

 private:
  struct Plan;  // one method on one transformer: its tapes per batch, its prices
  struct Priced {
    std::unique_ptr<StepPrice> step;
    Bytes activations;
    int rows = 1, slots = 1;  // per sequence: verified; of the widest pass, drafting included
  };
  using PlanKey = std::tuple<const TransformerShape*, int, DType, MethodSpec, RankAcceptance>;
  using PriceKey = std::tuple<const void*, const Device*, const Engine*, int>;
  enum class Recording { step, prefill };
  struct Recorded {  // a step of a batch, or the prefill of a prompt
    StepOutline outline;
    std::optional<Bytes> activations;
    int rows() const { return std::max(1, outline.verified_rows); }
    int slots() const { return std::max(1, outline.widest_pass); }
  };
  Plan& plan(const Setup&, const MethodChoice&);
  // `size`: sequences, or tokens of the prompt. Lives until the next is recorded.
  const Recorded& recorded(Plan&, Recording, int size, bool with_activations = false);
  const Priced& priced(Plan&, const Setup&, bool speculating);
  const Device& as_served(const Setup&);  // with the memory bandwidth that its engine's kernels reach
  // Mean tokens a step emits, the bonus included. Mistakes are noted where the acceptance stands.
  static double acceptance_length(const MethodChoice&, const Method&, int verified_rows);
  Seconds prefill(Plan&, const Setup&);
  MemoryFootprint memory(const Plan&, const Priced&, const Setup&) const;

  Decoder::FindTransformer find_;
  std::size_t recorded_ops_ = 0;
  std::map<PlanKey, std::shared_ptr<Plan>, std::less<>> plans_;
  std::map<PriceKey, Priced> prices_;
  std::map<std::pair<const Device*, double>, std::unique_ptr<const Device>> served_;
  std::map<std::tuple<const void*, const Device*, const Engine*, int>, Seconds> prefills_;
};

// Mean of a step's time, and of each entry of its breakdown, while a text grows from its prompt to its end.
Seconds mean_step_time(const StepPrice&, int prompt_tokens, int output_tokens);
StepBreakdown mean_step(const StepPrice&, int prompt_tokens, int output_tokens);

const MethodChoice& autoregressive();  // the baseline

}  // namespace draftline
