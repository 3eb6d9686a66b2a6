// SPDX-License-Identifier: Apache-2.0
// One method on one transformer. Each of its steps is recorded once, on the backend that computes nothing, and kept for
// any device and engine.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "methods/decoder.h"
#include "predict/outlines_by_size.h"
#include "predict/setup.h"

namespace draftline {

// `sequences` always counts the sequences of one replica of the attention. References are valid until the next
// recording.
class RecordedMethod {
 public:
  // Sequences and KV cache entries that a recording may have.
  static constexpr int kSlots = 1 << 17;
  using MakeRoom = OutlinesBySize::MakeRoom;

  RecordedMethod(const Setup&, const Precision&, const MethodChoice&, const Decoder::FindTransformer&,
                 const Decoder::FindDrafter&, MakeRoom);
  RecordedMethod(const RecordedMethod&) = delete;  // the decoder's ops refer to it

  const Method& method() const { return *decoder.method; }

  // A decode step whose sequences verify these numbers of drafts, [sequences] (empty: the usual), and the prefill of
  // one prompt. Bug if the method can't (Method::answers).
  const StepOutline& step(int sequences, const std::vector<int>& drafts = {});
  bool usual(const std::vector<int>& drafts) const;  // whether each is the number of the usual step; true if empty
  const StepOutline& prefill(int tokens) { return prefills_.at(tokens); }
  Bytes activations_of_step(int sequences) { return steps_.activations(sequences); }  // their memory
  Bytes activations_of_prefill(int tokens) { return prefills_.activations(tokens); }
  // Rows per sequence of a decode step: verified rows, and rows of the widest pass, drafting included.
  int verified_rows(int sequences) { return std::max(1, step(sequences).verified_rows); }
  int slots(int sequences) { return std::max(1, step(sequences).widest_pass); }
  // Why the method can't run on this transformer (Ops::gated_delta_rule, Transformer::run); none: it can.
  std::optional<std::string> refuses(int sequences);
  void forget();

  // Records the step again and returns its tapes.
  std::vector<SegmentRun> record_step(int sequences, const std::vector<int>& drafts = {});
  std::vector<SegmentRun> record_prefill(int tokens);

  Decoder decoder;
  std::shared_ptr<const DrafterDevice> drafter_device;  // null: the drafter runs on the target's device

 private:
  void begin();

  MakeRoom make_room_;
  std::vector<SegmentRun> segments_;
  OutlinesBySize steps_, prefills_;
  std::map<std::pair<int, std::vector<int>>, StepOutline> other_steps_;  // by sequences and their drafts
};

}  // namespace draftline
