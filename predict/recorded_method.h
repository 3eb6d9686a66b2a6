// SPDX-License-Identifier: Apache-2.0
// One method on one transformer. Its steps are recorded once per batch size, on the backend that computes nothing.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "decoder/priced/step_outline.h"
#include "methods/decoder.h"
#include "predict/setup.h"

namespace draftline {

struct RecordedMethod {
  // Sequences and KV cache entries that a recording may have.
  static constexpr int kSlots = 1 << 17;

  RecordedMethod(const Setup&, const Precision&, const MethodChoice&, const Decoder::FindTransformer&,
                 const Decoder::FindDrafter&);
  RecordedMethod(const RecordedMethod&) = delete;  // the decoder's ops refer to it

  const Method& method() const { return *decoder.method; }
  // The tapes of a decode step, in which `hits` of the sequences have drafts (none: all), and of the prefill of one
  // prompt. They are valid until the next recording.
  std::vector<SegmentRun> record_step(int sequences, std::optional<int> hits = {});
  std::vector<SegmentRun> record_prefill(int tokens);
  const Engine& drafters_engine(const Setup&) const;  // of a drafter that has a device of its own

  struct Recording {
    StepOutline outline;
    std::optional<Bytes> activations;  // none: not asked for yet
    int rows() const { return std::max(1, outline.verified_rows); }
    int slots() const { return std::max(1, outline.widest_pass); }
  };

  Decoder decoder;
  std::shared_ptr<const DrafterDevice> drafter_device;       // null: it drafts on the target's
  std::map<std::pair<int, int>, Recording> steps, prefills;  // by sequences and hits, or by tokens
  std::map<const Trace*, LengthDistribution> replayed;       // lengths of a trace's steps

 private:
  void begin();
  std::vector<SegmentRun> segments_;
};

}  // namespace draftline
