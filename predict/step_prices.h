// SPDX-License-Identifier: Apache-2.0
// The steps of methods: recorded once, priced for devices and engines, and kept for later questions.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "predict/expected_step.h"
#include "predict/recorded_method.h"

namespace draftline {

// A decode step whose attention launches compute a prompt's chunk too, for a library that lays such a launch out in
// another way. `launches`: the fixed time of the chunk's own launches, which it saves.
struct MixedAttention {
  StepPrice mixed, separate;  // the decode step beside a chunk, and by itself
  Seconds launches;
};

// A decode step of so many sequences, on average over the method's share of hits.
struct PricedStep {
  std::unique_ptr<ExpectedStep> step;
  Bytes activations;
  int rows = 1, slots = 1;  // rows per sequence: verified rows; those of the widest pass, drafting included
};

// StepPrices knows devices, engines, networks and traces by their addresses: they must outlive it and not change. Each
// thread needs its own. MethodMistake where a method does not fit its network. `sequences` are always those of one
// replica of the attention, whatever the setup's batch size.
class StepPrices {
 public:
  explicit StepPrices(Decoder::FindTransformer find, Decoder::FindDrafter drafter = {})
      : find_(std::move(find)), drafter_(std::move(drafter)) {}

  const Method& method(const Setup& s, const MethodChoice& m) { return recorded(s, m).method(); }
  int verified_rows(const Setup&, const MethodChoice&);  // per sequence and step
  // The drafts of a chain, as given or as the method has them by default; none if it drafts no chain of a given length.
  std::optional<int> chain_length(const Setup&, const MethodChoice&);
  // The tapes of one decode step of the setup's batch. They are valid until the method is used again.
  std::vector<SegmentRun> recorded_step(const Setup&, const MethodChoice&);

  // The price of decode steps at any context, on average over the method's share of hits.
  ExpectedStep expected_step(const Setup&, const MethodChoice&, int sequences);
  // The price of a step of the setup's batch, if every sequence has drafts.
  StepPrice step_price(const Setup&, const MethodChoice&);
  // The price of the prefill of one prompt. `rows`: of its whole step; none: the prompt is alone in it.
  StepPrice prefill_price(const Setup&, const MethodChoice&, int tokens, std::optional<int> rows = {});
  // The mixed attention of a step of so many sequences. None: a mixed step costs the sum of its parts.
  std::optional<MixedAttention> mixed_attention(const Setup&, const MethodChoice&, int sequences);

  // The method with its draft network divided among the ranks; none if it has no draft network, there is one rank, or
  // the network can't be divided.
  std::optional<MethodChoice> with_sharded_draft(const Setup&, const MethodChoice&);

  // A device, with the memory bandwidth that its engine's kernels reach.
  const Device& as_served(const Device&, const Engine&);
  const Device& as_served(const Setup& s) { return as_served(*s.device, *s.engine); }

  // What the functions above are made of. A method of the same name, parameters and network is recorded once.
  RecordedMethod& recorded(const Setup&, const MethodChoice&);
  // The recordings are valid until the next call.
  const RecordedMethod::Recording& step_of(RecordedMethod&, int sequences, bool with_activations = false,
                                           std::optional<int> hits = {});
  const RecordedMethod::Recording& prefill_of(RecordedMethod&, int tokens, bool with_activations = false);
  const PricedStep& priced(RecordedMethod&, const Setup&, int sequences, double hit_share);
  StepPrice prompt_price(RecordedMethod&, const Setup&, int tokens, int rows);  // on the target's device
  Seconds prefill_time(RecordedMethod&, const Setup&);  // of what is computed of a prompt, the drafter's part included

  // Why the method can't run on this transformer (Ops::gated_delta_rule, Transformer::run); none: it can.
  std::optional<std::string> refuses(RecordedMethod&, int sequences, bool with_activations = true);
  // Why the method's drafter can't have a device of its own here; none: it can, or it has none.
  std::optional<std::string> refuses_drafter_device(const Setup&, const MethodChoice&);
  static double verifying_share(const RecordedMethod&, const MethodChoice&);  // Acceptance::verifying_share

 private:
  using MethodKey = std::tuple<const TransformerShape*, Parallelism, Precision, MethodSpec, RankAcceptance>;
  using Recordings = std::map<std::pair<int, int>, RecordedMethod::Recording>;
  using StepKey = std::tuple<const void*, const Device*, const Engine*, int, double>;
  using PromptKey = std::tuple<const void*, const Device*, const Engine*, int, int>;
  // The formats that the device computes in; a draft network's are its checkpoint's unless others were asked for.
  Precision precision(const Setup&, const MethodChoice&);
  template <class Record>
  const RecordedMethod::Recording& kept(Recordings&, std::pair<int, int> key, bool with_activations, Record);
  PlacedStep placed(const RecordedMethod&, const Setup&, int sequences, const StepOutline&);
  ExpectedStep expected(RecordedMethod&, const Setup&, int sequences, double hit_share);

  Decoder::FindTransformer find_;
  Decoder::FindDrafter drafter_;
  std::size_t recorded_bytes_ = 0;
  std::map<MethodKey, std::shared_ptr<RecordedMethod>, std::less<>> methods_;
  std::map<MethodSpec, std::optional<LinearFormat>> draft_formats_;  // of draft networks' checkpoints
  std::map<StepKey, PricedStep> steps_;
  std::map<PromptKey, Seconds> prefills_;
  std::map<std::pair<const Device*, double>, std::unique_ptr<const Device>> served_;
};

}  // namespace draftline
