// SPDX-License-Identifier: Apache-2.0
#include "predict/recorded_method.h"

#include <algorithm>

#include "decoder/priced/backend.h"

namespace draftline {

static const std::vector<std::vector<int>> kUsual;  // a script without answers: decide() returns its usual one

RecordedMethod::RecordedMethod(const Setup& s, const Precision& precision, const MethodChoice& m,
                               const Decoder::FindTransformer& find, const Decoder::FindDrafter& drafter)
    : decoder(Decoder::Options{.target = *s.transformer,
                               .precision = precision,
                               .slots = kSlots,
                               .parallel = s.parallel,
                               .accepted = m.acceptance.ranks(),
                               .drafter = drafter,
                               .states = kSlots},
              m.spec, find, [](const WeightStore&) { return std::make_unique<PricedBackend>(); }),
      drafter_device(m.drafter_device) {
  decoder.ops.on_segment = [this](const SegmentRun& run) { segments_.push_back(run); };
}

std::vector<SegmentRun> RecordedMethod::record_step(int sequences, std::optional<int> hits) {
  begin();
  std::vector<std::vector<int>> drafts;
  if (hits) {
    drafts.emplace_back(static_cast<std::size_t>(sequences));
    std::fill_n(drafts.front().begin(), *hits, decoder.method->drafts_of_hit());
    decoder.ops.follow(&drafts);
  }
  decoder.generator.assume(sequences, 1);
  decoder.generator.step();
  decoder.ops.follow(&kUsual);
  return std::move(segments_);
}

std::vector<SegmentRun> RecordedMethod::record_prefill(int tokens) {
  begin();
  decoder.generator.assume(0, 0);
  decoder.generator.join({std::vector<int>(static_cast<std::size_t>(tokens))}, {0});
  decoder.generator.assume(0, 0);
  return std::move(segments_);
}

void RecordedMethod::begin() {
  segments_.clear();
  decoder.ops.forget();
  decoder.ops.follow(&kUsual);
}

const Engine& RecordedMethod::drafters_engine(const Setup& s) const {
  return drafter_device->engine ? *drafter_device->engine : *s.engine;
}

}  // namespace draftline
