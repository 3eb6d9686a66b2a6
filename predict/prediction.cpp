// SPDX-License-Identifier: Apache-2.0
#include "predict/prediction.h"

#include <cmath>

#include "core/notes.h"
#include "inputs/serving_choice.h"
#include "model/kernel_time.h"
#include "predict/mean_contexts.h"
#include "predict/recorded_plan.h"

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

const Method& Predictor::method(const Setup& s, const MethodChoice& m) { return *plan(s, m).decoder.method; }

// The window of a cache that gives back what lies before it.
static std::optional<int> slides(const Cache& c) {
  return c.window.tokens > 0 && !c.window.chunked ? std::optional(c.window.tokens) : std::nullopt;
}

// Of a sequence whose steps verify so many rows: as long as the verdict is out, each row's state is kept, whatever the
// context. The convolution reads the rows before the first of them.
static Bytes state_bytes(const Ops& ops, int rows) {
  Bytes sum;
  for (const StateCache& c : ops.state_caches())
    sum += c.layers * (rows * c.state_bytes() + (c.net.kernel - 2 + rows) * c.row_bytes());
  return sum;
}

Predictor::Room Predictor::room(const Setup& s, const MethodChoice& m, int batched_tokens) {
  Plan& p = plan(s, m);
  MemoryFootprint all{};
  all.weights = p.decoder.target_bytes;
  all.draft_weights = p.decoder.weights.bytes() - p.decoder.target_bytes;
  all.activations = *recorded(p, Recording::step, s.of_replica().batch_size, true).activations;
  all.activations = std::max(all.activations, *recorded(p, Recording::prefill, batched_tokens, true).activations);
  Bytes per_token;
  for (const Cache& c : p.decoder.ops.caches()) per_token += c.layers * c.row_bytes();
  KeptTokens kept;
  for (const Cache& c : p.decoder.ops.caches())
    if (const auto window = slides(c)) kept.windows.push_back({*window, c.layers * c.row_bytes() / per_token});
  kept.states = state_bytes(p.decoder.ops, recorded(p, Recording::step, s.batch_size).slots()) / per_token;
  const Bytes weights = all.weights + all.draft_weights;
  return {weights, all.total() - weights, per_token, std::move(kept)};
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
  if (m.acceptance.hit_share() < 1 && method.drafts_of_hit() == 0)
    at.at("acceptance").at("hit_share").fail(std::string(m.spec.name()) + " drafts in every step: it looks nothing up");
  const auto at_context = [&](double context) {
    const auto length = m.acceptance.mean_length({m.spec, method, verified_rows}, context);
    if (const auto* tokens = std::get_if<double>(&length)) return *tokens;
    at.find("acceptance").value_or(at).fail(std::get<std::string>(length));
    return 1.0;
  };
  if (m.acceptance.table() == nullptr) return at_context(0);
  double mean = 0;
  for (const auto& [context, share] : contexts(m, method, verified_rows, s, {})) mean += share * at_context(context);
  if (const auto note =
          m.acceptance.table()->extrapolated(s.prompt_tokens, s.prompt_tokens + s.output_tokens, method.usual_depth()))
    tell_listener(at.at("acceptance").place() + ": " + *note);
  return mean;
}

Seconds Predictor::prefill(Plan& plan, const Setup& s) {
  auto [it, fresh] = prefills_.try_emplace({&plan, s.device, s.engine, s.prompt_tokens});
  if (fresh)
    it->second = StepPrice(recorded(plan, Recording::prefill, s.prompt_tokens).outline, as_served(s),
                           for_prompt(*s.engine, s.prompt_tokens), false)(0);
  return it->second;
}

ChunkPrices& Predictor::chunks(Plan& plan, const Setup& s) {
  constexpr std::size_t kMostTables = 256;  // keeps memory flat over huge sweeps
  if (chunks_.size() > kMostTables) chunks_.clear();
  const auto price = [this, &plan, device = &as_served(s), engine = s.engine](int tokens) {
    return StepPrice(recorded(plan, Recording::prefill, tokens).outline, *device, for_prompt(*engine, tokens), false);
  };
  return chunks_.try_emplace({&plan, s.device, s.engine}, price, s.engine->prompt_graphs.value_or(0)).first->second;
}

Predictor::MeanStep Predictor::mean_over_output(const Plan& plan, const Priced& price, const Setup& s,
                                                const MethodChoice& m) {
  const MeanContexts at = contexts(m, *plan.decoder.method, price.rows, s, price.step->windows());
  return {at, mean_step(*price.step, at)};
}

// Methods at other draft lengths and acceptances are compared with the same one.
const Predictor::Baseline& Predictor::baseline(const Setup& s) {
  constexpr std::size_t kMost = 20'000;  // keeps memory flat over huge sweeps
  if (baselines_.size() > kMost) baselines_.clear();
  Plan& p = plan(s, autoregressive());
  const auto [it, fresh] =
      baselines_.try_emplace({&p, s.device, s.engine, s.batch_size, s.prompt_tokens, s.output_tokens});
  if (fresh) {
    const MeanStep usual = mean_over_output(p, priced(p, s, 1), s, autoregressive());
    it->second = {usual.step, cycle(p, s, autoregressive(), 1, usual).e2e};
    it->second.step.time += s.batch_size * s.engine->token;
  }
  return it->second;
}

// What requests see of a full batch, with the scheduler that the engine has on this device unless it is given another.
RequestCycle Predictor::cycle(Plan& plan, const Setup& s, const MethodChoice& m, double acceptance_length,
                              const MeanStep& full) {
  const double hit_share = m.acceptance.hit_share();
  const auto decode = [&](int sequences) {
    Setup fewer = s;
    fewer.batch_size = sequences;
    const ExpectedStep& price = *priced(plan, fewer, hit_share).step;
    const StepBreakdown step = sequences == s.batch_size ? full.step : mean_step(price, full.contexts);
    return DecodeStep{step.time + sequences * acceptance_length * s.engine->token,
                      std::max(Seconds{}, step.host() - price.host_least())};
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

MemoryFootprint Predictor::memory(const Plan& plan, const Priced& priced, const Setup& s) const {
  MemoryFootprint m;
  m.weights = plan.decoder.target_bytes;
  m.draft_weights = plan.decoder.weights.bytes() - plan.decoder.target_bytes;
  const int text = s.prompt_tokens + s.output_tokens;
  for (const Cache& c : plan.decoder.ops.caches()) {
    const int kept = std::min(text, slides(c).value_or(text));
    const double slots = cached_tokens({s.batch_size, kept, priced.slots, CacheLayout::paged, 16, 0});
    (plan.decoder.target.owns(c) ? m.cache : m.draft_cache) += slots * c.layers * c.row_bytes();
  }
  m.cache += s.batch_size * state_bytes(plan.decoder.ops, priced.slots);
  m.activations = priced.activations;
  return m;
}

// Files hold what is physical, but no reader knows what all their coefficients together make of a step.
static bool are_numbers(const Prediction& p) {
  const std::array figures{p.step_time.value,    p.throughput.value,     p.speedup,
                           p.request.ttft.value, p.request.e2e.value,    p.throughput_with_prefill.value,
                           p.prefill_time.value, p.speedup_with_prefill, p.work.flops.value,
                           p.work.bytes().value, p.memory.total().value};
  if (!std::all_of(figures.begin(), figures.end(), [](double v) { return std::isfinite(v); })) return false;
  if (!p.interval) return true;
  const auto finite = [](const Interval& i) { return std::isfinite(i.low) && std::isfinite(i.high); };
  return finite(p.interval->step_time) && finite(p.interval->throughput) && finite(p.interval->speedup);
}

std::variant<Prediction, std::string> Predictor::predict(const Setup& all, const MethodChoice& m) {
  const Setup s = all.of_replica();
  Plan& p = plan(s, m);
  const int depth = p.decoder.method->depth();
  const bool speculating = depth > 0;
  if (const auto why = refuses(p, s)) return *why;
  const Priced& mine = priced(p, s, m.acceptance.hit_share());
  Prediction out{};
  out.verified_rows = mine.rows;
  out.acceptance_length = acceptance_length(m, *p.decoder.method, mine.rows, s);
  out.memory = memory(p, mine, s);
  const int context = s.prompt_tokens + s.output_tokens;
  if (const auto most = s.transformer->max_positions; most && context > *most)
    return "a text of " + std::to_string(context) + " tokens, " + s.transformer->name + " has " +
           std::to_string(*most) + " positions";
  if (!fits(out.memory, *s.device, s.gpu_memory_utilization))
    return "needs " + to_text(out.memory.total()) + " on each device, " + s.device->name + " has " +
           to_text(s.device->memory) + ", of which " + to_text(s.gpu_memory_utilization * s.device->memory) +
           " may be used";

  const double middle = s.prompt_tokens + (s.output_tokens - 2) / 2.0;
  const auto throughput = [&](const StepBreakdown& step, double length) { return all.batch_size * length / step.time; };
  const MeanStep mean = mean_over_output(p, mine, s, m);
  out.breakdown = mean.step;
  out.breakdown.time += s.batch_size * out.acceptance_length * s.engine->token;
  out.step_time = out.breakdown.time;
  out.work = mine.step->work(middle);
  out.throughput = throughput(out.breakdown, out.acceptance_length);
  out.prefill_time = prefill(p, s);
  out.request = cycle(p, s, m, out.acceptance_length, mean);
  out.throughput_with_prefill = all.batch_size * s.output_tokens / out.request.e2e;
  const AttentionChoice attention = attention_of(s);
  out.attention_measured = attention.measured;
  const KnownErrors errors = known_errors(*s.device, s.precision, attention);
  if (speculating) {
    const Baseline& plain = baseline(s);
    out.speedup = out.throughput / throughput(plain.step, 1);
    out.speedup_with_prefill = plain.e2e / out.request.e2e;
    out.interval = prediction_interval(errors, out.breakdown, &plain.step);
  } else {
    out.speedup = out.speedup_with_prefill = 1;
    out.interval = prediction_interval(errors, out.breakdown, nullptr);
  }
  if (!are_numbers(out))
    return "its figures are no numbers: coefficients of " + s.device->name + " or " + s.engine->name +
           " are out of all proportion";
  return out;
}

}  // namespace draftline
