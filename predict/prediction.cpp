// SPDX-License-Identifier: Apache-2.0
#include "predict/prediction.h"

#include <cmath>

#include "core/notes.h"
#include "decoder/priced/backend.h"
#include "inputs/serving_choice.h"
#include "model/kernel_time.h"
#include "predict/mean_contexts.h"

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

// One method on one transformer. Its steps are recorded once per batch size, on the backend that computes nothing.
struct Predictor::Plan {
  Plan(const Setup& s, const Precision& precision, const MethodChoice& m, const Decoder::FindTransformer& find,
       const Decoder::FindDrafter& drafter)
      : decoder({*s.transformer, precision, kSlots, 1, s.parallel, {}, m.acceptance.ranks(), 1, drafter, kSlots},
                m.spec, find, [](const WeightStore&) { return std::make_unique<PricedBackend>(); }) {
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

  Decoder decoder;
  std::vector<SegmentRun> segments;
  std::map<std::pair<int, int>, Recorded> steps, prefills;  // by batch size and hits, or by tokens
};

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

ExpectedStep Predictor::expected(Plan& p, const Setup& s, double hit_share) {
  ExpectedStep step;
  const bool speculating = p.decoder.method->depth() > 0;
  for (const auto& [hits, share] : hits_of(s.batch_size, hit_share)) {
    const auto some = hits < s.batch_size ? std::optional(hits) : std::nullopt;
    step.add(share,
             {recorded(p, Recording::step, s.batch_size, false, some).outline, as_served(s), *s.engine, speculating});
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
const Device& Predictor::as_served(const Setup& s) {
  if (s.engine->bandwidth_share == 1) return *s.device;
  const auto [it, fresh] = served_.try_emplace({s.device, s.engine->bandwidth_share});
  if (fresh) {
    auto slower = std::make_unique<Device>(*s.device);
    slower->bandwidth = s.engine->bandwidth_share * s.device->bandwidth;
    it->second = std::move(slower);
  }
  return *it->second;
}

ExpectedStep Predictor::expected_step(const Setup& s, const MethodChoice& m) {
  return expected(plan(s, m), s.of_replica(), m.acceptance.hit_share());
}

StepPrice Predictor::step_price(const Setup& s, const MethodChoice& m) {
  Plan& p = plan(s, m);
  const bool speculating = p.decoder.method->depth() > 0;
  return {recorded(p, Recording::step, s.of_replica().batch_size).outline, as_served(s), *s.engine, speculating};
}

StepPrice Predictor::prefill_price(const Setup& s, const MethodChoice& m, int tokens) {
  return {recorded(plan(s, m), Recording::prefill, tokens).outline, as_served(s), for_prompt(*s.engine, tokens), false};
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

std::vector<SegmentRun> Predictor::recorded_step(const Setup& s, const MethodChoice& m) {
  return plan(s, m).record_step(s.of_replica().batch_size);
}

std::optional<MethodChoice> Predictor::with_sharded_draft(const Setup& s, const MethodChoice& m) {
  if (s.parallel.tensor() == 1 || !m.spec.entry().draft_network) return std::nullopt;
  if (refuses_shards(find_(m.spec.in().at("draft")), {s.parallel.tensor()})) return std::nullopt;
  return MethodChoice{m.spec.with_sharded_draft(), m.acceptance};
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

// What requests see of a full batch, with the scheduler that the engine has on this device unless it is given another.
RequestCycle Predictor::cycle(Plan& plan, const Setup& s, const MethodChoice& m, double acceptance_length) {
  const double hit_share = m.acceptance.hit_share();
  const Priced& full = priced(plan, s, hit_share);
  const MeanContexts steps = contexts(m, *plan.decoder.method, full.rows, s, full.step->windows());
  const auto decode = [&](int sequences) {
    Setup fewer = s;
    fewer.batch_size = sequences;
    const ExpectedStep& price = *priced(plan, fewer, hit_share).step;
    const StepBreakdown step = mean_step(price, steps);
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
  const auto step_of = [&](const ExpectedStep& price, const MeanContexts& steps, double length) {
    StepBreakdown b = mean_step(price, steps);
    b.time += s.batch_size * length * s.engine->token;
    return b;
  };
  const auto throughput = [&](const StepBreakdown& step, double length) { return all.batch_size * length / step.time; };
  out.breakdown =
      step_of(*mine.step, contexts(m, *p.decoder.method, mine.rows, s, mine.step->windows()), out.acceptance_length);
  out.step_time = out.breakdown.time;
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
    out.interval = prediction_interval(errors, out.breakdown, &plain);
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
