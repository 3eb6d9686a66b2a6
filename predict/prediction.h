// SPDX-License-Identifier: Apache-2.0
// Predicts steady decoding: the time of a method's step, from its tapes priced for a device and an engine, and the
// throughput that follows from the acceptance length. Assumptions (docs/prediction.md): the batch stays full, and the
// contexts of its sequences grow together.
#pragma once
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>

#include "decoder/priced/step_price.h"
#include "inputs/scenario.h"
#include "methods/decoder.h"
#include "model/devices/memory.h"
#include "predict/expected_step.h"
#include "predict/mean_contexts.h"
#include "predict/prediction_interval.h"
#include "predict/request_cycle.h"

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

  static auto members(auto& s) {
    return std::tie(s.verified_rows, s.step_time, s.breakdown, s.acceptance_length, s.throughput, s.speedup, s.request,
                    s.throughput_with_prefill, s.speedup_with_prefill, s.prefill_time, s.memory, s.drafter, s.work,
                    s.interval, s.warnings);
  }
};

// Everything besides the method that a prediction depends on. The pointers refer to the scenario.
struct Setup {
  const Device* device;
  const Engine* engine;
  const TransformerShape* transformer;
  Precision precision;
  Parallelism parallel;
  int batch_size, prompt_tokens, output_tokens;           // batch_size: sequences of all devices together
  double gpu_memory_utilization = kGpuMemoryUtilization;  // share of device memory that may be used
  int cached_prompt_tokens = 0;                           // of a prompt, with keys and values in the cache already
  SharedPrefix shared_prefix = {};                        // of them, what is in memory once for many sequences
  int computed_prompt_tokens() const { return prompt_tokens - cached_prompt_tokens; }
  int replica_sequences() const;  // of batch_size, those of one replica of the attention, the fullest
};
AttentionChoice attention_of(const Setup&);  // on a CPU none

// Why so many of these devices can't share this network: no link between them is known, or something of the network
// can't be divided among them; none if they can.
std::optional<std::string> refuses_sharing(const Device&, const TransformerShape&, const Parallelism&);

// A decode step whose attention launches compute a prompt's chunk too, for a library that lays such a launch out in
// another way. `launches`: the fixed time of the chunk's own launches, which it saves.
struct MixedAttention {
  StepPrice mixed, separate;  // the decode step beside a chunk, and by itself
  Seconds launches;
};

// Makes predictions, and keeps recorded steps and prices for later ones. It knows devices, engines, networks and traces
// by their addresses: they must outlive it and not change. Each thread needs its own.
class Predictor {
 public:
  explicit Predictor(Decoder::FindTransformer find, Decoder::FindDrafter drafter = {})
      : find_(std::move(find)), drafter_(std::move(drafter)) {}
  Predictor(const Predictor&) = delete;  // tables of prompts refer to it

  // The prediction, or the reason why this point can't run: the text is longer than the transformer's positions, or it
  // does not fit in device memory. Mistakes of the method's parameters and acceptance are noted at its reader.
  std::variant<Prediction, std::string> predict(const Setup&, const MethodChoice&);

  // Builds the method and reads its parameters and acceptance; mistakes are noted at their places.
  void validate(const Setup&, const MethodChoice&);

  // The price of decode steps at any context, on average over the method's share of hits. `sequences`: of each replica
  // of the attention, whatever the setup's batch size.
  ExpectedStep expected_step(const Setup&, const MethodChoice&, int sequences);
  // The price of a step of the setup's batch, if every sequence has drafts.
  StepPrice step_price(const Setup&, const MethodChoice&);
  // The price of the prefill of one prompt. `rows`: of its whole step; none: the prompt is alone in it.
  StepPrice prefill_price(const Setup&, const MethodChoice&, int tokens, std::optional<int> rows = {});
  // Of so many sequences of each replica. None: a mixed step costs the sum of its parts.
  std::optional<MixedAttention> mixed_attention(const Setup&, const MethodChoice&, int sequences);
  int verified_rows(const Setup&, const MethodChoice&);  // per sequence and step
  const Method& method(const Setup&, const MethodChoice&);

  // The method with its draft network divided among the ranks; none if it has no draft network, there is one rank, or
  // the network can't be divided.
  std::optional<MethodChoice> with_sharded_draft(const Setup&, const MethodChoice&);

  // Memory of each device: the weights, the activations of a step or of a prefill of `batched_tokens`, and the KV cache
  // of one token, of which a sequence may keep fewer than it has.
  struct Room {
    Bytes weights, activations, per_token;
    KeptTokens kept;
    Bytes taken(int stages = 1) const { return weights / stages + activations; }  // on a device of one pipeline stage
    // On the drafter's own device: the bytes that are left for its cache, and those of one token.
    struct Drafter {
      Bytes left, per_token;
    };
    std::optional<Drafter> drafter = {};
    // The tokens that every cache can hold, if `left` bytes are left on the target's device.
    double tokens(Bytes left) const {
      const double own = left / per_token;
      return drafter ? std::min(own, drafter->left / drafter->per_token) : own;
    }
  };
  Room room(const Setup&, const MethodChoice&, int max_num_seqs, int batched_tokens);

  // A device, with the memory bandwidth that its engine's kernels reach.
  const Device& as_served(const Device&, const Engine&);
  const Device& as_served(const Setup& s) { return as_served(*s.device, *s.engine); }

  // The tapes of one decode step. They are valid until the method is used again.
  std::vector<SegmentRun> recorded_step(const Setup&, const MethodChoice&);

 private:
  struct Plan;  // one method on one transformer, with its recorded steps
  struct Priced {
    std::unique_ptr<ExpectedStep> step;
    Bytes activations;
    int rows = 1, slots = 1;  // rows per sequence: verified rows; those of the widest pass, drafting included
  };
  using PlanKey = std::tuple<const TransformerShape*, Parallelism, Precision, MethodSpec, RankAcceptance>;
  using PriceKey = std::tuple<const void*, const Device*, const Engine*, int, double>;
  enum class Recording { step, prefill };
  struct Recorded {  // a decode step or a prefill
    StepOutline outline;
    std::optional<Bytes> activations;
    int rows() const { return std::max(1, outline.verified_rows); }
    int slots() const { return std::max(1, outline.widest_pass); }
  };
  Plan& plan(const Setup&, const MethodChoice&);
  // The formats that the device computes in; a draft network's are its checkpoint's unless others were asked for.
  Precision precision(const Setup&, const MethodChoice&);
  // Why the method can't verify on this transformer (Ops::gated_delta_rule); none: it can.
  std::optional<std::string> refuses(Plan&, int sequences);
  // `size`: sequences of a step, or tokens of a prompt. `hits`: how many sequences of the step have drafts; none: all.
  // The result is valid until the next call.
  const Recorded& recorded(Plan&, Recording, int size, bool with_activations = false, std::optional<int> hits = {});
  // Why its drafter can't have a device of its own here; none: it can, or has none.
  std::optional<std::string> refuses_drafter_device(const Setup&, const MethodChoice&);
  static double verifying_share(const Plan&, const MethodChoice&);  // Acceptance::verifying_share
  PlacedStep placed(const Plan&, const Setup&, int sequences, const StepOutline&);
  StepPrice prompt_price(Plan&, const Setup&, int tokens, int rows);  // on the target's device, in a step of such rows
  ExpectedStep expected(Plan&, const Setup&, int sequences, double hit_share);
  const Priced& priced(Plan&, const Setup&, int sequences, double hit_share);
  // The mean acceptance length over the output; mistakes are noted at the acceptance, and 1 is returned.
  static double acceptance_length(const MethodChoice&, const Method&, int verified_rows, const Setup&);
  // Where in the output steps are: more of them where fewer tokens are accepted.
  static MeanContexts contexts(const MethodChoice&, const Method&, int verified_rows, const Setup&,
                               std::span<const Window>);
  Seconds prefill(Plan&, const Setup&);
  struct MeanStep {  // of the whole batch, over the output
    MeanContexts contexts;
    StepBreakdown step;
  };
  static MeanStep mean_over_output(const Plan&, const Priced&, const Setup&, const MethodChoice&);
  // Steps in which a request decodes, whose mean acceptance length is known; the mean over requests.
  static double decode_steps(Plan&, const MethodChoice&, const Setup&, int verified_rows, double acceptance_length);
  RequestCycle cycle(Plan&, const Setup&, const MethodChoice&, double decode_steps, const MeanStep& full);
  struct Baseline {  // plain decoding, with which the methods of a setup are compared
    StepBreakdown step;
    Seconds e2e;
  };
  const Baseline& baseline(const Setup&);
  ChunkPrices& chunks(Plan&, const Setup&);
  struct Footprints {
    MemoryFootprint target;                  // of each of the target's devices
    std::optional<MemoryFootprint> drafter;  // of the drafter's own
  };
  Footprints memory(const Plan&, const Priced&, const Setup&) const;
  // Why they do not fit; none: they do.
  static std::optional<std::string> lacks_memory(const Plan&, const Footprints&, const Setup&);

  Decoder::FindTransformer find_;
  Decoder::FindDrafter drafter_;
  std::size_t recorded_bytes_ = 0;
  std::map<PlanKey, std::shared_ptr<Plan>, std::less<>> plans_;
  std::map<MethodSpec, std::optional<LinearFormat>> draft_formats_;  // of draft networks' checkpoints
  std::map<PriceKey, Priced> prices_;
  std::map<std::pair<const Device*, double>, std::unique_ptr<const Device>> served_;
  std::map<std::tuple<const void*, const Device*, const Engine*, int, int>, Seconds> prefills_;
  std::map<std::tuple<const void*, const Device*, const Engine*>, ChunkPrices> chunks_;
  std::map<std::tuple<const void*, const Device*, const Engine*, int, int, int, int>, Baseline> baselines_;
};

// The mean time of a step, and its mean breakdown, while the context grows from the prompt to the end of the output.
// Integrated over mean_contexts().
Seconds mean_step_time(const StepPrice&, int prompt_tokens, int output_tokens);
StepBreakdown mean_step(const StepPrice&, int prompt_tokens, int output_tokens);
StepBreakdown mean_step(const ExpectedStep&, const MeanContexts&);

const MethodChoice& autoregressive();  // plain decoding, the baseline of speedups

}  // namespace draftline
