// SPDX-License-Identifier: Apache-2.0
// Predicts steady decoding: the time of a method's step, from its tapes priced for a device and an engine, and the
// throughput that follows from the acceptance length. Assumptions (docs/explanation/prediction.md): the batch stays
// full, and the contexts of its sequences grow together.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "predict/emitted_tokens.h"
#include "predict/prediction_interval.h"
#include "predict/pricer.h"

namespace draftline {

// The drafter's own device, where it has one.
struct DrafterUse {
  MemoryFootprint memory;  // draft weights and cache; activations are bounded by those of the whole step
  double busy;             // share of the time in which it works
};

struct Prediction {
  int verified_rows;         // per sequence and step
  Seconds step_time;         // mean over the output
  StepBreakdown breakdown;   // of step_time; every entry is the mean over the output
  double acceptance_length;  // mean tokens per sequence and step, the bonus token included; an input
  PerSecond throughput;      // output tokens/s of the whole batch while it decodes
  double speedup;            // throughput over that of plain decoding: same device, batch size and precision
  // Times of requests, prompts included (predict/request_cycle). Its speedup applies to end-to-end latency and to
  // throughput.
  RequestCycle request;
  PerSecond throughput_with_prefill;
  double speedup_with_prefill;
  Seconds prefill_time;    // of one prompt's uncached tokens
  MemoryFootprint memory;  // of each device, without a drafter's own device
  std::optional<DrafterUse> drafter;
  Work work;  // FLOP and bytes of a step in the middle of the output, on each device
  std::optional<PredictionInterval> interval;
  std::string no_interval;            // the reason if there is none, as a sentence
  std::vector<std::string> warnings;  // setup_warnings()
};

// What should be read before the figures of several predictions are used.
struct Caveats {
  std::vector<std::string> warnings;  // each once
  std::string no_interval;            // of the first prediction without an interval; "": all have one
  void note(const Prediction&);
};

// Predicts one method on one setup, at any batch size and lengths. Results that depend on neither are computed once.
class Predictor {
 public:
  enum class Intervals : std::uint8_t { computed, left_out };  // they cost as much as several prices of a step
  Predictor(Pricer&, const Setup&, const MethodChoice&,
            Intervals = Intervals::computed);  // the pricer must outlive it
  Predictor(const Predictor&) = delete;        // its parts refer to each other

  // The prediction, or the reason why this point can't run: the text is longer than the transformer's positions, or it
  // does not fit in device memory, or there is a mistake().
  std::variant<Prediction, std::string> at(int batch_size, int prompt_tokens, int output_tokens);

 private:
  void add_memory(Prediction&, const PricedStep&);
  void compare_with_plain(Prediction&);
  void add_interval(Prediction&, const StepBreakdown* plain);
  TermEffect effect_of(const Acceptance::UsualHits&);  // on the step, of the shares at the ends
  RequestCycle cycle(PricedMethod&, const DraftCounts&, double decode_steps, const MeanContexts*) const;
  std::optional<std::string> refuses(const Prediction&) const;
  std::vector<std::string> warnings() const;
  std::optional<std::string> quantised_prompts(Seconds prefill);
  PerSecond throughput(const StepBreakdown& step, double length) const {
    return setup_.batch_size * length / step.time;
  }

  Setup setup_;               // at the last batch size and lengths
  std::optional<int> seats_;  // sequences whose recurrent states fit the engine's pool of states; none: it has no pool
  int plain_cached_tokens_ = 0;  // setup_.cached_prompt_tokens of plain decoding
  const MethodChoice method_;
  const Intervals intervals_;
  std::optional<std::string> refuses_setup_, refuses_drafter_;
  std::shared_ptr<PricedMethod> priced_, plain_;  // plain_: plain decoding, the baseline
  std::optional<EmittedTokens> emitted_;
  DraftCounts drafts_;
  std::optional<Acceptance::UsualHits> hits_;  // where the share of steps with drafts is unknown
  KnownErrors errors_;
  std::vector<std::string> warnings_;
};

// The prediction of the setup itself.
std::variant<Prediction, std::string> predict(Pricer&, const Setup&, const MethodChoice&);

// A mistake in the method's object that can only be found with its network.
std::optional<Mistake> mistake(Recordings&, const Setup&, const MethodChoice&);

// The mean time of a step, and its mean breakdown, while the context grows from the prompt to the end of the output.
// Integrated over mean_contexts().
Seconds mean_step_time(const StepPrice&, int prompt_tokens, int output_tokens);
StepBreakdown mean_step(const StepPrice&, int prompt_tokens, int output_tokens);

}  // namespace draftline
