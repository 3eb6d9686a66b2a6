// SPDX-License-Identifier: Apache-2.0
#include "predict/step_prices.h"

#include <algorithm>
#include <iterator>

#include "model/kernels/kernel_time.h"
#include "predict/binomial.h"

namespace draftline {

// ---- recordings

Precision StepPrices::precision(const Setup& s, const MethodChoice& m) {
  Precision p = s.precision;
  if (m.spec.entry().draft_network && !p.draft_given) {
    const auto [it, fresh] = draft_formats_.try_emplace(m.spec);
    if (fresh && m.spec.draft())
      if (const auto shape = find_(*m.spec.draft()); shape.checkpoint) it->second = shape.checkpoint->mlp;
    if (it->second) p.draft = *it->second;
  }
  return served_precision(std::move(p), *s.device);
}

RecordedMethod& StepPrices::recorded(const Setup& s, const MethodChoice& m) {
  const Precision precision = this->precision(s, m);
  const auto known = methods_.find(std::tie(s.transformer, s.parallel, precision, m.spec, m.acceptance.ranks()));
  if (known != methods_.end()) return *known->second;
  const auto fresh = std::make_shared<RecordedMethod>(s, precision, m, find_, drafter_);
  methods_[{s.transformer, s.parallel, precision, m.spec, m.acceptance.ranks()}] = fresh;
  return *fresh;
}

// Recorded steps are kept for other devices and engines. The memory of activations is computed only on request.
template <class Record>
const RecordedMethod::Recording& StepPrices::kept(Recordings& all, std::pair<int, int> key, bool with_activations,
                                                  Record record) {
  constexpr std::size_t kMostBytes = std::size_t{160} << 20;
  if (const auto known = all.find(key); known != all.end()) {
    if (!with_activations || known->second.activations) return known->second;
    all.erase(known);
  }
  const std::vector<SegmentRun> segments = record();
  RecordedMethod::Recording one{StepOutline(segments), std::nullopt};
  if (with_activations) {
    std::size_t most = 0;
    for (const SegmentRun& run : segments) most = std::max(most, plan_arena(*run.tape, declared_bytes).size);
    one.activations = Bytes{static_cast<double>(most)};
  }
  if (const auto after = all.upper_bound(key); !all.empty())  // of the nearest size
    one.outline.share_ops((after == all.begin() ? after : std::prev(after))->second.outline);
  recorded_bytes_ += one.outline.bytes();
  if (recorded_bytes_ > kMostBytes) {
    for (auto& [of, other] : methods_) other->steps.clear(), other->prefills.clear();
    recorded_bytes_ = one.outline.bytes();
  }
  return all.emplace(key, std::move(one)).first->second;
}

const RecordedMethod::Recording& StepPrices::step_of(RecordedMethod& m, int sequences, bool with_activations,
                                                     std::optional<int> hits) {
  return kept(m.steps, {sequences, hits.value_or(sequences)}, with_activations,
              [&] { return m.record_step(sequences, hits); });
}
const RecordedMethod::Recording& StepPrices::prefill_of(RecordedMethod& m, int tokens, bool with_activations) {
  return kept(m.prefills, {tokens, tokens}, with_activations, [&] { return m.record_prefill(tokens); });
}

int StepPrices::verified_rows(const Setup& s, const MethodChoice& m) {
  return step_of(recorded(s, m), s.replica_sequences()).rows();
}

std::optional<int> StepPrices::chain_length(const Setup& s, const MethodChoice& m) {
  const int depth = method(s, m).usual_depth();
  const auto& lengths = m.spec.entry().lengths;
  const bool other_drafts =
      !m.spec.draft_length() && (lengths.varies_by_default || lengths.tree_by_default || m.spec.says_drafts());
  if (other_drafts || depth < 1 || depth > lengths.most || m.spec.draft_length().value_or(depth) != depth)
    return std::nullopt;
  return verified_rows(s, m) == depth + 1 ? std::optional(depth) : std::nullopt;
}

std::vector<SegmentRun> StepPrices::recorded_step(const Setup& s, const MethodChoice& m) {
  return recorded(s, m).record_step(s.replica_sequences());
}

std::optional<MethodChoice> StepPrices::with_sharded_draft(const Setup& s, const MethodChoice& m) {
  if (s.parallel.tensor() == 1 || !m.spec.entry().draft_network || m.drafter_device) return std::nullopt;
  if (refuses_shards(find_(*m.spec.draft()), {.devices = s.parallel.tensor()})) return std::nullopt;
  return m.with(m.spec.with_shard_draft(ShardDraft::yes));
}

std::optional<std::string> StepPrices::refuses(RecordedMethod& m, int sequences, bool with_activations) {
  try {
    step_of(m, sequences, with_activations);
  } catch (const InputErrors& e) { return e.messages().front(); }
  return std::nullopt;
}

std::optional<std::string> StepPrices::refuses_drafter_device(const Setup& s, const MethodChoice& m) {
  if (!m.drafter_device) return std::nullopt;
  const Device& own = *m.drafter_device->device;
  Setup there = s;
  there.device = &own;
  if (s.parallel.attention_replicas > 1)
    return "a drafter on a device of its own beside data-parallel attention is not modelled";
  if (precision(there, m).draft != precision(s, m).draft)
    return own.name + " computes the draft network's format otherwise than " + s.device->name +
           ": say \"draft\" in \"precision\" so that both do alike";
  return std::nullopt;
}

// ---- prices

// A price refers to its device: one that is not the scenario's own is kept.
const Device& StepPrices::as_served(const Device& d, const Engine& e) {
  if (e.bandwidth_share == 1) return d;
  const auto [it, fresh] = served_.try_emplace({&d, e.bandwidth_share});
  if (fresh) {
    auto slower = std::make_unique<Device>(d);
    slower->bandwidth = e.bandwidth_share * d.bandwidth;
    it->second = std::move(slower);
  }
  return *it->second;
}

double StepPrices::verifying_share(const RecordedMethod& recorded, const MethodChoice& m) {
  return m.acceptance.verifying_share({m.spec, recorded.method()});
}

// Between a drafter's device and the target's go token ids alone: the drafts of all sequences, and what the target
// emits. Where both sides work at the same time they meet once, and both messages are under way together.
static Seconds messages(const DrafterDevice& d, int sequences, int drafts, bool ahead) {
  const auto ids = [&](int each) { return bytes_of(DType::int32, 1.0 * sequences * each); };
  const Seconds to_target = d.message(ids(drafts)), to_drafter = d.message(ids(ahead ? drafts : drafts + 1));
  return ahead ? std::max(to_target, to_drafter) : to_target + to_drafter;
}

PlacedStep StepPrices::placed(const RecordedMethod& m, const Setup& s, int sequences, const StepOutline& outline) {
  const Speculation speculation = m.method().speculation();
  if (!m.drafter_device) return StepPrice(outline, as_served(s), *s.engine, speculation);
  const DrafterDevice& own = *m.drafter_device;
  const Engine& engine = m.drafters_engine(s);
  const bool ahead = m.method().drafts_ahead() > 0;
  const int drafts = ahead ? m.method().drafts_ahead() : outline.verified_rows - 1;
  return {
      StepPrice(outline.part(StepOutline::Part::target), as_served(s), *s.engine, speculation),
      {StepPrice(outline.part(StepOutline::Part::drafter), as_served(*own.device, engine), engine, Speculation::off),
       messages(own, sequences, drafts, ahead), ahead}};
}

ExpectedStep StepPrices::expected(RecordedMethod& m, const Setup& s, int sequences, double hit_share) {
  ExpectedStep step;
  for (const auto& [hits, share] : binomial(sequences, hit_share)) {
    const auto some = hits < sequences ? std::optional(hits) : std::nullopt;
    const RecordedMethod::Recording& r = step_of(m, sequences, false, some);
    const int rows = sequences + hits * (r.rows() - 1);
    step.add(share, rows, placed(m, s, sequences, r.outline));
  }
  return step;
}

const PricedStep& StepPrices::priced(RecordedMethod& m, const Setup& s, int sequences, double hit_share) {
  constexpr std::size_t kMost = 20'000;  // keeps memory flat over huge sweeps
  if (steps_.size() > kMost) steps_.clear();
  PricedStep& entry = steps_[{&m, s.device, s.engine, sequences, hit_share}];
  if (!entry.step) {
    const RecordedMethod::Recording& r = step_of(m, sequences, true);
    entry.activations = *r.activations;
    entry.rows = r.rows();
    entry.slots = r.slots();
    entry.step = std::make_unique<ExpectedStep>(expected(m, s, sequences, hit_share));
  }
  return entry;
}

ExpectedStep StepPrices::expected_step(const Setup& s, const MethodChoice& m, int sequences) {
  RecordedMethod& r = recorded(s, m);
  return expected(r, s, sequences, verifying_share(r, m));
}

StepPrice StepPrices::step_price(const Setup& s, const MethodChoice& m) {
  RecordedMethod& r = recorded(s, m);
  return {step_of(r, s.replica_sequences()).outline, as_served(s), *s.engine, r.method().speculation()};
}

std::optional<MixedAttention> StepPrices::mixed_attention(const Setup& s, const MethodChoice& m, int sequences) {
  const AttentionChoice attention = attention_of(s);
  if (attention.layout != HeadLayout::swapped) return std::nullopt;
  RecordedMethod& r = recorded(s, m);
  StepOutline outline = step_of(r, sequences).outline;
  Seconds launches;
  for (const StepOutline::Segment& segment : outline.segments)
    for (const StepOutline::Op& op : segment.ops()) {
      const StepOutline::Kind& kind = outline.kinds[static_cast<std::size_t>(op.kind)];
      const auto* attends = std::get_if<Attention>(&kind.kernel);
      if (kind.phase == Phase::verify && attends != nullptr && !attends->scores())
        launches += std::min(attention.fit->decode.fixed, attention.fit->prefill.fixed);
    }
  const Speculation speculation = r.method().speculation();
  StepPrice separate(outline, as_served(s), *s.engine, speculation);
  for (StepOutline::Kind& kind : outline.kinds)
    if (auto* attends = std::get_if<Attention>(&kind.kernel); attends && kind.phase == Phase::verify)
      attends->widest = std::max(attends->widest, 2);
  return MixedAttention{StepPrice(outline, as_served(s), *s.engine, speculation), std::move(separate), launches};
}

// ---- prompts

StepPrice StepPrices::prompt_price(RecordedMethod& m, const Setup& s, int tokens, int rows) {
  const StepOutline& outline = prefill_of(m, tokens).outline;
  const Engine engine = for_prompt(*s.engine, rows);
  if (!m.drafter_device) return {outline, as_served(s), engine, Speculation::off};
  return {outline.part(StepOutline::Part::target), as_served(s), engine, Speculation::off};
}

StepPrice StepPrices::prefill_price(const Setup& s, const MethodChoice& m, int tokens, std::optional<int> rows) {
  return prompt_price(recorded(s, m), s, tokens, rows.value_or(tokens));
}

Seconds StepPrices::prefill_time(RecordedMethod& m, const Setup& s) {
  const int tokens = s.computed_prompt_tokens();
  auto [it, fresh] = prefills_.try_emplace({&m, s.device, s.engine, s.prompt_tokens, s.cached_prompt_tokens});
  if (!fresh) return it->second;
  it->second = prompt_price(m, s, tokens, tokens)(s.cached_prompt_tokens);
  if (m.drafter_device) {  // which reads the prompt at the same time
    const Engine& engine = m.drafters_engine(s);
    const StepPrice drafters(prefill_of(m, tokens).outline.part(StepOutline::Part::drafter),
                             as_served(*m.drafter_device->device, engine), for_prompt(engine, tokens),
                             Speculation::off);
    it->second = std::max(it->second, drafters(s.cached_prompt_tokens));
  }
  return it->second;
}

}  // namespace draftline
