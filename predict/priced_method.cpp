// SPDX-License-Identifier: Apache-2.0
#include "predict/priced_method.h"

#include <algorithm>
#include <numeric>

#include "core/int_indexed.h"
#include "inputs/serving_choice.h"

namespace draftline {

static constexpr std::size_t kMostCached = 1 << 14;  // entries of a table: keeps memory flat over huge sweeps

MeanStep mean_step(const ExpectedStep& price, const MeanContexts& contexts) {
  StepTiming mean;
  for (const auto& [length, share] : contexts) mean.add(price.timing(length), share);
  return {mean.step, price.idle(mean.step), mean.host_idle};
}

PricedMethod::PricedMethod(std::shared_ptr<RecordedMethod> recorded, Stack targets, std::optional<Stack> drafters,
                           ModeFacts facts)
    : recorded_(std::move(recorded)),
      targets_(std::move(targets)),
      drafters_(std::move(drafters)),
      facts_(std::move(facts)),
      limits_(engine_limits(engine(), device(), method().speculation())),
      chunks_([this](int tokens, std::optional<int> rows) { return prompt_price(tokens, rows); },
              targets_.engine->prompt_graphs) {}

// ---- steps

// Between a drafter's device and the target's go token ids alone: the drafts of all sequences, and what the target
// emits. A window does not depend on what the target emits, so that both messages are under way together.
static Seconds messages(const DrafterDevice& d, int sequences, int drafts, bool window) {
  const auto ids = [&](int each) { return bytes_of(DType::int32, 1.0 * sequences * each); };
  const Seconds to_target = d.message(ids(drafts)), to_drafter = d.message(ids(window ? drafts : drafts + 1));
  return window ? std::max(to_target, to_drafter) : to_target + to_drafter;
}

PricedMethod::BatchRows PricedMethod::usual_rows(int sequences, const StepOutline& outline) const {
  return {sequences, sequences * std::max(1, outline.verified_rows), true};
}

ModeFacts PricedMethod::facts(const StepOutline& outline, const BatchRows& rows) const {
  ModeFacts facts = facts_;
  facts.looks_up = outline.looks_up();
  facts.uniform = rows.uniform;
  facts.sequences = rows.sequences;
  facts.rows = rows.verified;
  return facts;
}

ModeFacts PricedMethod::mode_facts(int sequences, int hits) const {
  const StepOutline& outline = recorded_->step(sequences);
  return facts(outline, {sequences, usual_rows(hits, outline).verified + sequences - hits, hits == sequences});
}

const Engine& PricedMethod::running(const StepOutline& outline, const BatchRows& rows) const {
  const StepMode mode = mode_of(engine(), facts(outline, rows));
  const auto known = running_.find(mode);
  return known != running_.end() ? known->second : running_.emplace(mode, in_mode(engine(), mode)).first->second;
}

Seconds PricedMethod::time_in(const StepMode& mode, int sequences, double length) const {
  return StepPrice(recorded_->step(sequences), device(), in_mode(engine(), mode), method().speculation())(length);
}

PlacedStep PricedMethod::placed(const StepOutline& outline, const BatchRows& rows) const {
  const Speculation speculation = method().speculation();
  if (!drafters_) return StepPrice(outline, device(), running(outline, rows), speculation);
  const bool window = method().window() > 0;
  const int drafts = window ? method().window() : outline.verified_rows - 1;
  return {
      StepPrice(outline.part(StepOutline::Part::target), device(), running(outline, rows), speculation),
      {StepPrice(outline.part(StepOutline::Part::drafter), *drafters_->device, *drafters_->engine, Speculation::off),
       messages(*recorded_->drafter_device, rows.sequences, drafts, window), method().drafts_while_verifying()}};
}

ExpectedStep PricedMethod::expected_step(int sequences, const DraftCounts& counts) const {
  ExpectedStep step;
  for (const auto& [drafts, share] : counts.batches(sequences)) {
    const StepOutline& outline = recorded_->step(sequences, drafts);
    BatchRows rows = usual_rows(sequences, outline);
    if (!recorded_->usual(drafts)) rows = {sequences, std::accumulate(drafts.begin(), drafts.end(), sequences), false};
    step.add(share, rows.verified, placed(outline, rows));
  }
  return step;
}

std::shared_ptr<const PricedStep> PricedMethod::step(int sequences, const DraftCounts& drafts) {
  const std::pair key(sequences, drafts);
  if (const auto known = steps_.find(key); known != steps_.end()) return known->second;
  if (steps_.size() > kMostCached) steps_.clear();
  const int rows = recorded_->verified_rows(sequences), slots = recorded_->slots(sequences);
  return steps_[key] = std::make_shared<const PricedStep>(expected_step(sequences, drafts), rows, slots);
}

MeanStep PricedMethod::mean_step(int sequences, const DraftCounts& drafts, int prompt_tokens, int output_tokens) {
  const std::tuple key(sequences, drafts, prompt_tokens, output_tokens);
  if (const auto known = means_.find(key); known != means_.end()) return known->second;
  if (means_.size() > kMostCached) means_.clear();
  const auto priced = step(sequences, drafts);
  const MeanContexts contexts = mean_contexts(prompt_tokens, output_tokens, priced->price.windows());
  return means_.emplace(key, draftline::mean_step(priced->price, contexts)).first->second;
}

StepPrice PricedMethod::step_price(int sequences) const {
  const StepOutline& outline = recorded_->step(sequences);
  return {outline, device(), running(outline, usual_rows(sequences, outline)), method().speculation()};
}

std::span<const TermEffect> PricedMethod::term_effects(int sequences, double context, double tokens) {
  if (!effects_) effects_.emplace(targets_.device, targets_.engine, method().speculation());
  return effects_->of(recorded_->step(sequences), sequences, context, tokens);
}

std::optional<MixedAttention> PricedMethod::mixed_attention(int sequences, const AttentionChoice& attention) const {
  if (attention.layout != HeadLayout::swapped) return std::nullopt;
  StepOutline outline = recorded_->step(sequences);
  Seconds launches;
  for (const StepOutline::Segment& segment : outline.segments)
    for (const StepOutline::Op& op : segment.ops()) {
      const StepOutline::Kind& kind = outline.kinds[at(op.kind)];
      const auto* attends = std::get_if<Attention>(&kind.kernel);
      if (kind.phase == Phase::verify && attends != nullptr && !attends->scores())
        launches += std::min(attention.fit->decode.fixed, attention.fit->prefill.fixed);
    }
  const Speculation speculation = method().speculation();
  const Engine& engine = running(outline, usual_rows(sequences, outline));
  StepPrice separate(outline, device(), engine, speculation);
  for (StepOutline::Kind& kind : outline.kinds)
    if (auto* attends = std::get_if<Attention>(&kind.kernel); attends && kind.phase == Phase::verify)
      attends->widest = std::max(attends->widest, 2);
  return MixedAttention{StepPrice(outline, device(), engine, speculation), std::move(separate), launches};
}

// ---- prompts

StepPrice PricedMethod::prompt_price(int tokens, std::optional<int> rows) const {
  const StepOutline& outline = recorded_->prefill(tokens);
  const Engine& decoding = running(outline, usual_rows(1, outline));
  const Engine prompts = rows ? for_prompt(decoding, *rows) : decoding;
  if (!drafters_) return {outline, device(), prompts, Speculation::off};
  return {outline.part(StepOutline::Part::target), device(), prompts, Speculation::off};
}

StepPrice PricedMethod::drafters_prompt(int tokens) const {
  return {recorded_->prefill(tokens).part(StepOutline::Part::drafter), *drafters_->device,
          for_prompt(*drafters_->engine, tokens), Speculation::off};
}

// A drafter's own device reads the prompt at the same time.
Seconds PricedMethod::prefill_time(int tokens, int cached_tokens) {
  const auto [it, fresh] = prefills_.try_emplace({tokens, cached_tokens});
  if (!fresh) return it->second;
  const Seconds time = prompt_price(tokens, tokens)(cached_tokens);
  return it->second = drafters_ ? std::max(time, drafters_prompt(tokens)(cached_tokens)) : time;
}

Seconds PricedMethod::launches_of_quantising(int tokens, int cached_tokens) {
  const auto [it, fresh] = quantising_.try_emplace({tokens, cached_tokens});
  if (!fresh) return it->second;
  const StepOutline& prefill = recorded_->prefill(tokens);
  const Engine& prompts = running(prefill, usual_rows(1, prefill));
  Engine without = for_prompt(prompts, tokens);
  for (const StepOutline::Kind& kind : recorded_->prefill(tokens).kinds)
    if (kind.key.starts_with("quantise")) {
      OpCost& cost = without.ops[std::string(kind.key)] = prompts.cost_of(kind.key, false);
      cost.launches = cost.host_launches = 0;
    }
  if (without.ops == prompts.ops) return {};  // it quantises nothing, or by no kernels of their own
  const auto time_with = [&](const Engine& e) {
    const StepOutline& outline = recorded_->prefill(tokens);
    if (!drafters_) return StepPrice(outline, device(), e, Speculation::off)(cached_tokens);
    return StepPrice(outline.part(StepOutline::Part::target), device(), e, Speculation::off)(cached_tokens);
  };
  return it->second = time_with(for_prompt(prompts, tokens)) - time_with(without);
}

// ---- requests

RequestCycle PricedMethod::new_cycle(const LoopedRequests& r, const DraftCounts& drafts, int output_tokens,
                                     const MeanContexts* contexts) {
  const Seconds tokens = (output_tokens - 1) / r.decode_steps * engine().token;  // of a sequence's step
  const auto decode = [&](int sequences) {
    const ExpectedStep& price = step(sequences, drafts)->price;  // steps_ has it during this call
    const MeanStep mean = contexts != nullptr
                              ? draftline::mean_step(price, *contexts)
                              : mean_step(sequences, drafts, r.prompt_tokens + r.cached_tokens, output_tokens);
    return DecodeStep{mean.step.time + sequences * tokens, mean.idle, mean.host_idle, &price.rows()};
  };
  return request_cycle(r, decode, chunks_);
}

// Methods of other draft lengths and acceptances are compared with the same plain decoding.
RequestCycle PricedMethod::cycle(const LoopedRequests& r, const DraftCounts& drafts, int output_tokens,
                                 const MeanContexts* contexts) {
  if (contexts != nullptr) return new_cycle(r, drafts, output_tokens, contexts);
  const std::tuple key(r, drafts, output_tokens);
  if (const auto known = cycles_.find(key); known != cycles_.end()) return known->second;
  if (cycles_.size() > kMostCached) cycles_.clear();
  return cycles_[key] = new_cycle(r, drafts, output_tokens, nullptr);
}

}  // namespace draftline
