// SPDX-License-Identifier: Apache-2.0
#include "predict/prediction.h"

#include "core/notes.h"
#include "inputs/serving_choice.h"
#include "model/kernel_time.h"
#include "predict/mean_contexts.h"
#include "predict/plan.h"

namespace draftline {

const MethodChoice& autoregressive() {
  static thread_local const MethodChoice choice{};
  return choice;
}

template <class Price>
static StepBreakdown mean_breakdown(const Price& price, const MeanContexts& contexts) {
  StepBreakdown mean;
  for (const auto& [length, share] : contexts) mean.add(price.breakdown(length), share);
  return mean;
}
Seconds mean_step_time(const StepPrice& price, int prompt_tokens, int output_tokens) {
  Seconds mean;
  for (const auto& [length, share] : mean_contexts(prompt_tokens, output_tokens, price.windows()))
    mean += share * price(length);
  return mean;
}
StepBreakdown mean_step(const StepPrice& price, int prompt_tokens, int output_tokens) {
  return mean_breakdown(price, mean_contexts(prompt_tokens, output_tokens, price.windows()));
}
StepBreakdown mean_step(const ExpectedStep& price, const MeanContexts& contexts) {
  return mean_breakdown(price, contexts);
}

Setup Setup::of_replica() const {
  Setup one = *this;
  const int replicas = parallel.attention_replicas;
  one.batch_size = (batch_size + replicas - 1) / replicas;
  return one;
}

AttentionChoice attention_of(const Setup& s) {
  if (s.device->cpu() != nullptr) return {};
  return attention_choice(*s.device, s.engine->attention, s.precision.kv_cache,
                          s.transformer->latent ? AttentionForm::absorbed : AttentionForm::ordinary);
}

// Recorded steps are kept for other devices and engines. The memory of activations is computed only on request.
const Predictor::Recorded& Predictor::recorded(Plan& plan, Recording what, int size, bool with_activations,
                                               std::optional<int> hits) {
  constexpr std::size_t kMostOps = 4'000'000;  // some 50 MB
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
  recorded_ops_ += one.outline.ops();
  if (recorded_ops_ > kMostOps) {
    for (auto& [key, other] : plans_) other->steps.clear(), other->prefills.clear();
    recorded_ops_ = one.outline.ops();
  }
  return all.emplace(key, std::move(one)).first->second;
}

Predictor::Plan& Predictor::plan(const Setup& s, const MethodChoice& m) {
  const Precision precision = served_precision(s.precision, *s.device);
  const auto found = plans_.find(std::tie(s.transformer, s.parallel, precision, m.spec, m.acceptance.ranks()));
  if (found != plans_.end()) return *found->second;
  const auto plan = std::make_shared<Plan>(s, precision, m, find_, drafter_);
  plans_[{s.transformer, s.parallel, precision, m.spec, m.acceptance.ranks()}] = plan;
  return *plan;
}

std::optional<std::string> Predictor::refuses(Plan& p, const Setup& s) {
  if (p.decoder.ops.state_caches().empty()) return std::nullopt;
  try {
    recorded(p, Recording::step, s.batch_size);
  } catch (const InputErrors& e) { return e.messages().front(); }
  return std::nullopt;
}

double Predictor::verifying_share(const Plan& p, const MethodChoice& m) {
  return m.acceptance.verifying_share({m.spec, *p.decoder.method});
}

ExpectedStep Predictor::expected(Plan& p, const Setup& s, double hit_share) {
  ExpectedStep step;
  for (const auto& [hits, share] : hits_of(s.batch_size, hit_share)) {
    const auto some = hits < s.batch_size ? std::optional(hits) : std::nullopt;
    step.add(share, placed(p, s, recorded(p, Recording::step, s.batch_size, false, some).outline));
  }
  return step;
}

const Predictor::Priced& Predictor::priced(Plan& plan, const Setup& s, double hit_share) {
  constexpr std::size_t kMostPrices = 20'000;  // keeps memory flat over huge sweeps
  if (prices_.size() > kMostPrices) prices_.clear();
  Priced& entry = prices_[{&plan, s.device, s.engine, s.batch_size, hit_share}];
  if (!entry.step) {
    const Recorded& r = recorded(plan, Recording::step, s.batch_size, true);
    entry.activations = *r.activations;
    entry.rows = r.rows();
    entry.slots = r.slots();
    entry.step = std::make_unique<ExpectedStep>(expected(plan, s, hit_share));
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

ExpectedStep Predictor::expected_step(const Setup& s, const MethodChoice& m) {
  Plan& p = plan(s, m);
  return expected(p, s.of_replica(), verifying_share(p, m));
}

StepPrice Predictor::step_price(const Setup& s, const MethodChoice& m) {
  Plan& p = plan(s, m);
  const bool speculating = p.decoder.method->depth() > 0;
  return {recorded(p, Recording::step, s.of_replica().batch_size).outline, as_served(s), *s.engine, speculating};
}

StepPrice Predictor::prefill_price(const Setup& s, const MethodChoice& m, int tokens) {
  return prompt_price(plan(s, m), s, tokens);
}

std::optional<BesidePrompt> Predictor::beside_prompt(const Setup& s, const MethodChoice& m) {
  if (s.device->cpu() != nullptr) return std::nullopt;
  const AttentionChoice attention = attention_of(s);
  if (attention.layout != HeadLayout::swapped) return std::nullopt;
  Plan& p = plan(s, m);
  StepOutline outline = recorded(p, Recording::step, s.of_replica().batch_size).outline;
  Seconds launches;
  for (const StepOutline::Segment& segment : outline.segments)
    for (const StepOutline::Op& op : segment.ops) {
      const StepOutline::Kind& kind = outline.kinds[static_cast<std::size_t>(op.kind)];
      if (kind.phase == Phase::verify && std::holds_alternative<Attention>(kind.kernel))
        launches += std::min(attention.fit->decode.fixed, attention.fit->prefill.fixed);
    }
  const bool speculating = p.decoder.method->depth() > 0;
  StepPrice apart(outline, as_served(s), *s.engine, speculating);
  for (StepOutline::Kind& kind : outline.kinds)
    if (auto* attends = std::get_if<Attention>(&kind.kernel); attends && kind.phase == Phase::verify)
      attends->widest = std::max(attends->widest, 2);
  return BesidePrompt{StepPrice(outline, as_served(s), *s.engine, speculating), std::move(apart), launches};
}

int Predictor::verified_rows(const Setup& s, const MethodChoice& m) {
  return recorded(plan(s, m), Recording::step, s.of_replica().batch_size).rows();
}

const Method& Predictor::method(const Setup& s, const MethodChoice& m) { return *plan(s, m).decoder.method; }

std::vector<SegmentRun> Predictor::recorded_step(const Setup& s, const MethodChoice& m) {
  return plan(s, m).record_step(s.of_replica().batch_size);
}

std::optional<MethodChoice> Predictor::with_sharded_draft(const Setup& s, const MethodChoice& m) {
  if (s.parallel.tensor() == 1 || !m.spec.entry().draft_network || m.drafter_device) return std::nullopt;
  if (refuses_shards(find_(m.spec.in().at("draft")), {s.parallel.tensor()})) return std::nullopt;
  return m.with(m.spec.with_sharded_draft());
}

void Predictor::validate(const Setup& s, const MethodChoice& m) {
  const auto known = plans_.size();
  Plan& p = plan(s, m);
  if (plans_.size() == known)
    Plan(s, s.precision, m, find_, drafter_);  // an equal method elsewhere in the file: its keys must be read too
  if (m.spec.in().failed()) return;
  if (const Trace* trace = m.acceptance.trace())
    if (const auto why = trace->wrong_target(*s.transformer)) m.spec.in().at("acceptance").fail(*why);
  if (const auto why = refuses(p, s)) return m.spec.in().fail(*why);
  acceptance_length(m, *p.decoder.method, recorded(p, Recording::step, s.of_replica().batch_size).rows(), s);
}

MeanContexts Predictor::contexts(const MethodChoice& m, const Method& method, int verified_rows, const Setup& s,
                                 std::span<const Window> windows) {
  MeanContexts contexts = mean_contexts(s.prompt_tokens, s.output_tokens, windows);
  if (!m.acceptance.by_context()) return contexts;
  double steps = 0;
  for (auto& [context, share] : contexts) {
    const auto length = m.acceptance.mean_length({m.spec, method, verified_rows}, context);
    if (const auto* tokens = std::get_if<double>(&length)) share /= *tokens;
    steps += share;
  }
  for (auto& [context, share] : contexts) share /= steps;
  return contexts;
}

double Predictor::acceptance_length(const MethodChoice& m, const Method& method, int verified_rows, const Setup& s) {
  const Reader& at = m.spec.in();
  if (method.usual_depth() == 0) {
    if (m.acceptance.given()) at.fail("it drafts nothing: \"acceptance\" has no meaning here");
    return 1;
  }
  if (m.acceptance.hit_share() < 1 && (method.drafts_of_hit() == 0 || method.drafts_ahead() > 0))
    at.at("acceptance").at("hit_share").fail(std::string(m.spec.name()) + " drafts in every step: it looks nothing up");
  const auto at_context = [&](double context) {
    const auto length = m.acceptance.mean_length({m.spec, method, verified_rows}, context);
    if (const auto* tokens = std::get_if<double>(&length)) return *tokens;
    at.find("acceptance").value_or(at).fail(std::get<std::string>(length));
    return 1.0;
  };
  if (m.acceptance.table() == nullptr || method.drafts_ahead() > 0) return at_context(0);
  double mean = 0;
  for (const auto& [context, share] : contexts(m, method, verified_rows, s, {})) mean += share * at_context(context);
  if (const auto note =
          m.acceptance.table()->extrapolated(s.prompt_tokens, s.prompt_tokens + s.output_tokens, method.usual_depth()))
    tell_listener(at.at("acceptance").place() + ": " + *note);
  return mean;
}

ChunkPrices& Predictor::chunks(Plan& plan, const Setup& s) {
  constexpr std::size_t kMostTables = 256;  // keeps memory flat over huge sweeps
  if (chunks_.size() > kMostTables) chunks_.clear();
  const auto price = [this, &plan, s](int tokens) { return prompt_price(plan, s, tokens); };
  return chunks_.try_emplace({&plan, s.device, s.engine}, price, s.engine->prompt_graphs.value_or(0)).first->second;
}

// What requests see of a full batch, with the scheduler that the engine has on this device unless it is given another.
RequestCycle Predictor::cycle(Plan& plan, const Setup& s, const MethodChoice& m, double acceptance_length) {
  const double hit_share = verifying_share(plan, m);
  const Priced& full = priced(plan, s, hit_share);
  const MeanContexts steps = contexts(m, *plan.decoder.method, full.rows, s, full.step->windows());
  const auto decode = [&](int sequences) {
    Setup fewer = s;
    fewer.batch_size = sequences;
    const ExpectedStep& price = *priced(plan, fewer, hit_share).step;
    const StepBreakdown step = mean_step(price, steps);
    return DecodeStep{step.time + sequences * acceptance_length * s.engine->token, price.idle(step)};
  };
  const SchedulerLimits limits = limits_on({}, *s.engine, *s.device, plan.decoder.method->depth() > 0);
  const LoopedRequests requests{s.batch_size,
                                s.prompt_tokens,
                                s.output_tokens,
                                priced(plan, s, hit_share).rows,
                                acceptance_length,
                                limits.max_num_batched_tokens,
                                limits.batching == SchedulerLimits::Batching::prefill_first};
  return request_cycle(requests, decode, chunks(plan, s));
}

std::variant<Prediction, std::string> Predictor::predict(const Setup& all, const MethodChoice& m) {
  const Setup s = all.of_replica();
  Plan& p = plan(s, m);
  const int depth = p.decoder.method->depth();
  const bool speculating = depth > 0;
  if (const auto why = refuses(p, s)) return *why;
  if (const auto why = refuses_drafter_device(p, s)) return *why;
  const Priced& mine = priced(p, s, verifying_share(p, m));
  Prediction out{};
  out.verified_rows = mine.rows;
  out.acceptance_length = acceptance_length(m, *p.decoder.method, mine.rows, s);
  const Footprints footprints = memory(p, mine, s);
  out.memory = footprints.target;
  if (footprints.drafter) out.drafter = DrafterUse{*footprints.drafter, 0};
  const int context = s.prompt_tokens + s.output_tokens;
  if (const auto most = s.transformer->max_positions; most && context > *most)
    return "a text of " + std::to_string(context) + " tokens, " + s.transformer->name + " has " +
           std::to_string(*most) + " positions";
  if (const auto why = lacks_memory(p, footprints, s)) return *why;

  const double middle = s.prompt_tokens + (s.output_tokens - 2) / 2.0;
  const auto step_of = [&](const ExpectedStep& price, const MeanContexts& steps, double length) {
    StepBreakdown b = mean_step(price, steps);
    b.time += s.batch_size * length * s.engine->token;
    return b;
  };
  const auto throughput = [&](const StepBreakdown& step, double length) { return all.batch_size * length / step.time; };
  const MeanContexts steps = contexts(m, *p.decoder.method, mine.rows, s, mine.step->windows());
  out.breakdown = step_of(*mine.step, steps, out.acceptance_length);
  out.step_time = out.breakdown.time;
  if (out.drafter)
    for (const auto& [length, share] : steps)
      out.drafter->busy += share * (mine.step->drafting(length) / out.step_time);
  out.work = mine.step->work(middle);
  out.throughput = throughput(out.breakdown, out.acceptance_length);
  out.prefill_time = prefill(p, s);
  out.request = cycle(p, s, m, out.acceptance_length);
  out.throughput_with_prefill = all.batch_size * s.output_tokens / out.request.e2e;
  const AttentionChoice attention = attention_of(s);
  out.attention_measured = attention.measured;
  const KnownErrors errors = known_errors(*s.device, s.precision, attention);
  if (speculating) {
    Plan& baseline = plan(s, autoregressive());
    const ExpectedStep& usual = *priced(baseline, s, 1).step;
    const StepBreakdown plain = step_of(usual, mean_contexts(s.prompt_tokens, s.output_tokens, usual.windows()), 1);
    out.speedup = out.throughput / throughput(plain, 1);
    out.speedup_with_prefill = cycle(baseline, s, autoregressive(), 1).e2e / out.request.e2e;
    // The errors are those of the target's device.
    if (!out.drafter) out.interval = prediction_interval(errors, out.breakdown, &plain);
  } else {
    out.speedup = out.speedup_with_prefill = 1;
    out.interval = prediction_interval(errors, out.breakdown, nullptr);
  }
  return out;
}

}  // namespace draftline
