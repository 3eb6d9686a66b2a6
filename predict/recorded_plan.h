// SPDX-License-Identifier: Apache-2.0
// What a Predictor keeps of one method on one transformer; for the files that define its members alone.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "decoder/priced/backend.h"
#include "predict/prediction.h"

namespace draftline {

// One method on one transformer. Its steps are recorded once per batch size, on the backend that computes nothing.
struct Predictor::Plan {
  Plan(const Setup& s, const Precision& precision, const MethodChoice& m, const Decoder::FindTransformer& find,
       const Decoder::FindDrafter& drafter)
      : decoder(Decoder::Options{.target = *s.transformer,
                                 .precision = precision,
                                 .slots = kSlots,
                                 .parallel = s.parallel,
                                 .accepted = m.acceptance.ranks(),
                                 .drafter = drafter,
                                 .states = kSlots},
                m.spec, find, [](const WeightStore&) { return std::make_unique<PricedBackend>(); }),
        drafter_device(m.drafter_device) {
    decoder.ops.on_segment = [this](const SegmentRun& run) { segments.push_back(run); };
  }
  static constexpr int kSlots = 1 << 17;
  static inline const std::vector<std::vector<int>> kUsual;  // empty: decide() returns its usual answer

  // Record a decode step, or the prefill of one prompt. The tapes are valid until the next recording.
  std::vector<SegmentRun> record_step(int batch_size, std::optional<int> hits = {}) {
    begin();
    std::vector<std::vector<int>> drafts;
    if (hits) {
      drafts.emplace_back(static_cast<std::size_t>(batch_size));
      std::fill_n(drafts.front().begin(), *hits, decoder.method->drafts_of_hit());
      decoder.ops.follow(&drafts);
    }
    decoder.generator.assume(batch_size, 1);
    decoder.generator.step();
    decoder.ops.follow(&kUsual);
    return std::move(segments);
  }
  std::vector<SegmentRun> record_prefill(int tokens) {
    begin();
    decoder.generator.assume(0, 0);
    decoder.generator.join({std::vector<int>(static_cast<std::size_t>(tokens))}, {0});
    decoder.generator.assume(0, 0);
    return std::move(segments);
  }
  void begin() {
    segments.clear();
    decoder.ops.forget();
    decoder.ops.follow(&kUsual);
  }

  const Engine& drafters_engine(const Setup& s) const {
    return drafter_device->engine ? *drafter_device->engine : *s.engine;
  }

  Decoder decoder;
  std::shared_ptr<const DrafterDevice> drafter_device;  // null: it drafts on the target's
  std::vector<SegmentRun> segments;
  std::map<std::pair<int, int>, Recorded> steps, prefills;  // by batch size and hits, or by tokens
  std::map<const Trace*, LengthDistribution> replayed;      // lengths of a trace's steps
};

}  // namespace draftline
