// SPDX-License-Identifier: Apache-2.0
// The steps that a Predictor records, and their prices.
#include <algorithm>
#include <iterator>

#include "model/kernels/kernel_time.h"
#include "predict/binomial.h"
#include "predict/prediction.h"
#include "predict/recorded_plan.h"

namespace draftline {

// Recorded steps are kept for other devices and engines. The memory of activations is computed only on request.
const Predictor::Recorded& Predictor::recorded(Plan& plan, Recording what, int size, bool with_activations,
                                               std::optional<int> hits) {
  constexpr std::size_t kMostBytes = std::size_t{160} << 20;
  auto& all = what == Recording::prefill ? plan.prefills : plan.steps;
  const std::pair key{size, hits.value_or(size)};
  if (const auto known = all.find(key); known != all.end()) {
    if (!with_activations || known->second.activations) return known->second;
    all.erase(known);
  }
  const auto segments = what == Recording::prefill ? plan.record_prefill(size) : plan.record_step(size, hits);
  Recorded one{StepOutline(segments), std::nullopt};
  if (with_activations) {
    std::size_t most = 0;
    for (const SegmentRun& run : segments) most = std::max(most, plan_arena(*run.tape, declared_bytes).size);
    one.activations = Bytes{static_cast<double>(most)};
  }
  if (const auto after = all.upper_bound(key); !all.empty())  // of the nearest size
    one.outline.share_ops((after == all.begin() ? after : std::prev(after))->second.outline);
  recorded_bytes_ += one.outline.bytes();
  if (recorded_bytes_ > kMostBytes) {
    for (auto& [key, other] : plans_) other->steps.clear(), other->prefills.clear();
    recorded_bytes_ = one.outline.bytes();
  }
  return all.emplace(key, std::move(one)).first->second;
}

Precision Predictor::precision(const Setup& s, const MethodChoice& m) {
  Precision p = s.precision;
  if (m.spec.entry().draft_network && !p.draft_given) {
    const auto [it, fresh] = draft_formats_.try_emplace(m.spec);
    if (const auto draft = m.spec.in().find("draft"); fresh && draft)
      if (const auto shape = find_(*draft); shape.checkpoint) it->second = shape.checkpoint->mlp;
    if (it->second) p.draft = *it->second;
  }
  return served_precision(std::move(p), *s.device);
}

Predictor::Plan& Predictor::plan(const Setup& s, const MethodChoice& m) {
  const Precision precision = this->precision(s, m);
  const auto found = plans_.find(std::tie(s.transformer, s.parallel, precision, m.spec, m.acceptance.ranks()));
  if (found != plans_.end()) return *found->second;
  const auto plan = std::make_shared<Plan>(s, precision, m, find_, drafter_);
  plans_[{s.transformer, s.parallel, precision, m.spec, m.acceptance.ranks()}] = plan;
  return *plan;
}

std::optional<std::string> Predictor::refuses(Plan& p, int sequences) {
  if (p.decoder.ops.state_caches().empty()) return std::nullopt;
  try {
    recorded(p, Recording::step, sequences);
  } catch (const InputErrors& e) { return e.messages().front(); }
  return std::nullopt;
}

double Predictor::verifying_share(const Plan& p, const MethodChoice& m) {
  return m.acceptance.verifying_share({m.spec, *p.decoder.method});
}

ExpectedStep Predictor::expected(Plan& p, const Setup& s, int sequences, double hit_share) {
  ExpectedStep step;
  for (const auto& [hits, share] : binomial(sequences, hit_share)) {
    const auto some = hits < sequences ? std::optional(hits) : std::nullopt;
    const Recorded& r = recorded(p, Recording::step, sequences, false, some);
    const int rows = sequences + hits * (r.rows() - 1);
    step.add(share, rows, placed(p, s, sequences, r.outline));
  }
  return step;
}

const Predictor::Priced& Predictor::priced(Plan& plan, const Setup& s, int sequences, double hit_share) {
  constexpr std::size_t kMostPrices = 20'000;  // keeps memory flat over huge sweeps
  if (prices_.size() > kMostPrices) prices_.clear();
  Priced& entry = prices_[{&plan, s.device, s.engine, sequences, hit_share}];
  if (!entry.step) {
    const Recorded& r = recorded(plan, Recording::step, sequences, true);
    entry.activations = *r.activations;
    entry.rows = r.rows();
    entry.slots = r.slots();
    entry.step = std::make_unique<ExpectedStep>(expected(plan, s, sequences, hit_share));
  }
  return entry;
}

// A price refers to its device: one that is not the scenario's own is kept.
const Device& Predictor::as_served(const Device& d, const Engine& e) {
  if (e.bandwidth_share == 1) return d;
  const auto [it, fresh] = served_.try_emplace({&d, e.bandwidth_share});
  if (fresh) {
    auto slower = std::make_unique<Device>(d);
    slower->bandwidth = e.bandwidth_share * d.bandwidth;
    it->second = std::move(slower);
  }
  return *it->second;
}

ExpectedStep Predictor::expected_step(const Setup& s, const MethodChoice& m, int sequences) {
  Plan& p = plan(s, m);
  return expected(p, s, sequences, verifying_share(p, m));
}

StepPrice Predictor::step_price(const Setup& s, const MethodChoice& m) {
  Plan& p = plan(s, m);
  const Speculation speculation = p.decoder.method->speculation();
  return {recorded(p, Recording::step, s.replica_sequences()).outline, as_served(s), *s.engine, speculation};
}

StepPrice Predictor::prefill_price(const Setup& s, const MethodChoice& m, int tokens, std::optional<int> rows) {
  return prompt_price(plan(s, m), s, tokens, rows.value_or(tokens));
}

std::optional<MixedAttention> Predictor::mixed_attention(const Setup& s, const MethodChoice& m, int sequences) {
  if (s.device->cpu() != nullptr) return std::nullopt;
  const AttentionChoice attention = attention_of(s);
  if (attention.layout != HeadLayout::swapped) return std::nullopt;
  Plan& p = plan(s, m);
  StepOutline outline = recorded(p, Recording::step, sequences).outline;
  Seconds launches;
  for (const StepOutline::Segment& segment : outline.segments)
    for (const StepOutline::Op& op : segment.ops()) {
      const StepOutline::Kind& kind = outline.kinds[static_cast<std::size_t>(op.kind)];
      const auto* attends = std::get_if<Attention>(&kind.kernel);
      if (kind.phase == Phase::verify && attends != nullptr && !attends->scores())
        launches += std::min(attention.fit->decode.fixed, attention.fit->prefill.fixed);
    }
  const Speculation speculation = p.decoder.method->speculation();
  StepPrice separate(outline, as_served(s), *s.engine, speculation);
  for (StepOutline::Kind& kind : outline.kinds)
    if (auto* attends = std::get_if<Attention>(&kind.kernel); attends && kind.phase == Phase::verify)
      attends->widest = std::max(attends->widest, 2);
  return MixedAttention{StepPrice(outline, as_served(s), *s.engine, speculation), std::move(separate), launches};
}

int Predictor::verified_rows(const Setup& s, const MethodChoice& m) {
  return recorded(plan(s, m), Recording::step, s.replica_sequences()).rows();
}

std::vector<SegmentRun> Predictor::recorded_step(const Setup& s, const MethodChoice& m) {
  return plan(s, m).record_step(s.replica_sequences());
}

std::optional<MethodChoice> Predictor::with_sharded_draft(const Setup& s, const MethodChoice& m) {
  if (s.parallel.tensor() == 1 || !m.spec.entry().draft_network || m.drafter_device) return std::nullopt;
  if (refuses_shards(find_(m.spec.in().at("draft")), {.devices = s.parallel.tensor()})) return std::nullopt;
  return m.with(m.spec.with_sharded_draft());
}

}  // namespace draftline
