// SPDX-License-Identifier: Apache-2.0
#include "predict/recorded_method.h"

#include <algorithm>
#include <iterator>

#include "core/int_indexed.h"
#include "decoder/priced/backend.h"

namespace draftline {

static const std::vector<std::vector<int>> kUsual;  // a script without answers: decide() returns its usual one

RecordedMethod::RecordedMethod(const Setup& s, const Precision& precision, const MethodChoice& m,
                               const Decoder::FindTransformer& find, const Decoder::FindDrafter& drafter,
                               MakeRoom make_room)
    : decoder(Decoder::Options{.target = *s.transformer,
                               .precision = precision,
                               .slots = kSlots,
                               .parallel = s.parallel,
                               .accepted = m.acceptance.ranks(),
                               .drafter = drafter,
                               .states = kSlots},
              m.spec, find, [](const WeightStore&) { return std::make_unique<PricedBackend>(); }),
      drafter_device(m.drafter_device),
      make_room_(std::move(make_room)),
      steps_([this](int sequences) { return record_step(sequences); }, kSlots / 2, make_room_),
      prefills_([this](int tokens) { return record_prefill(tokens); }, kSlots / 2, make_room_) {
  decoder.ops.on_segment = [this](const SegmentRun& run) { segments_.push_back(run); };
}

// ---- tapes

std::vector<SegmentRun> RecordedMethod::record_step(int sequences, const std::vector<int>& drafts) {
  begin();
  std::optional<Method::Answers> answers;
  if (!drafts.empty()) {
    answers = decoder.method->answers(drafts);
    check(answers && count(drafts) == sequences, "record_step: the method does not verify so many drafts");
    decoder.ops.follow(&*answers);
  }
  decoder.generator.assume(sequences, 1);
  decoder.generator.step();
  decoder.ops.follow(&kUsual);
  return std::move(segments_);
}

std::vector<SegmentRun> RecordedMethod::record_prefill(int tokens) {
  begin();
  decoder.generator.assume(0, 0);
  decoder.generator.join({std::vector<int>(at(tokens))}, {0});
  decoder.generator.assume(0, 0);
  return std::move(segments_);
}

void RecordedMethod::begin() {
  segments_.clear();
  decoder.ops.forget();
  decoder.ops.follow(&kUsual);
}

// ---- outlines

bool RecordedMethod::usual(const std::vector<int>& drafts) const {
  const int hit = method().drafts_of_hit(), usual = hit > 0 ? hit : method().usual_depth();
  return std::ranges::all_of(drafts, [&](int n) { return n == usual; });
}

const StepOutline& RecordedMethod::step(int sequences, const std::vector<int>& drafts) {
  if (usual(drafts)) return steps_.at(sequences);
  const std::pair key(sequences, drafts);
  if (const auto known = other_steps_.find(key); known != other_steps_.end()) return known->second;
  StepOutline fresh(record_step(sequences, drafts));
  if (const auto after = other_steps_.upper_bound(key); !other_steps_.empty())  // of a step like it
    fresh.share_ops((after == other_steps_.begin() ? after : std::prev(after))->second);
  make_room_(fresh.bytes());
  return other_steps_.emplace(key, std::move(fresh)).first->second;
}

std::optional<std::string> RecordedMethod::refuses(int sequences) {
  try {
    step(sequences);
  } catch (const InputErrors& e) { return e.messages().front(); }
  return std::nullopt;
}

void RecordedMethod::forget() {
  steps_.forget();
  prefills_.forget();
  other_steps_.clear();
}

}  // namespace draftline
