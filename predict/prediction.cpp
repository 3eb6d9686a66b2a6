// SPDX-License-Identifier: Apache-2.0
#include "predict/prediction.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "inputs/serving_choice.h"
#include "model/acceptance/first_passage.h"
#include "model/kernels/kernel_time.h"
#include "predict/device_memory.h"
#include "predict/setup_warnings.h"

namespace draftline {

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

std::optional<Mistake> Predictor::mistake(const Setup& s, const MethodChoice& m) try {
  if (const Trace* trace = m.acceptance.trace())
    if (auto why = trace->wrong_target(*s.transformer)) return Mistake{"/acceptance", *std::move(why)};
  const int sequences = s.replica_sequences();
  RecordedMethod& r = steps_.recorded(s, m);
  if (auto why = steps_.refuses(r, sequences, false)) return Mistake{"", *std::move(why)};
  const auto length = acceptance_length(m, r.method(), steps_.step_of(r, sequences).rows(), s);
  if (const auto* mistake = std::get_if<Mistake>(&length)) return *mistake;
  return std::nullopt;
} catch (const MethodMistake& e) { return e.mistake(); }

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

std::variant<double, Mistake> Predictor::acceptance_length(const MethodChoice& m, const Method& method,
                                                           int verified_rows, const Setup& s) {
  if (method.usual_depth() == 0) {
    if (m.acceptance.given()) return Mistake{"", "it drafts nothing: \"acceptance\" has no meaning here"};
    return 1.0;
  }
  if (m.acceptance.hit_share() < 1 && (method.drafts_of_hit() == 0 || method.drafts_ahead() > 0))
    return Mistake{"/acceptance/hit_share", std::string(m.spec.name()) + " drafts in every step: it looks nothing up"};
  if (m.acceptance.table() == nullptr || method.drafts_ahead() > 0) {
    const auto length = m.acceptance.mean_length({m.spec, method, verified_rows});
    if (const auto* why = std::get_if<std::string>(&length)) return Mistake{"/acceptance", *why};
    return std::get<double>(length);
  }
  double mean = 0;
  for (const auto& [context, share] : contexts(m, method, verified_rows, s, {})) {
    const auto length = m.acceptance.mean_length({m.spec, method, verified_rows}, context);
    if (const auto* why = std::get_if<std::string>(&length)) return Mistake{"/acceptance", *why};
    mean += share * std::get<double>(length);
  }
  if (const auto note =
          m.acceptance.table()->extrapolated(s.prompt_tokens, s.prompt_tokens + s.output_tokens, method.usual_depth());
      note && m.in)
    m.in->at("acceptance").note(*note);
  return mean;
}

ChunkPrices& Predictor::chunks(RecordedMethod& m, const Setup& s) {
  constexpr std::size_t kMostTables = 256;  // keeps memory flat over huge sweeps
  if (chunks_.size() > kMostTables) chunks_.clear();
  const auto price = [this, &m, s](int tokens, int rows) { return steps_.prompt_price(m, s, tokens, rows); };
  return chunks_.try_emplace({&m, s.device, s.engine}, price, s.engine->prompt_graphs).first->second;
}

Predictor::MeanStep Predictor::mean_over_output(const RecordedMethod& r, const PricedStep& price, const Setup& s,
                                                const MethodChoice& m) {
  const MeanContexts at = contexts(m, r.method(), price.rows, s, price.step->windows());
  return {at, mean_step(*price.step, at)};
}

// Methods at other draft lengths and acceptances are compared with the same one.
const Predictor::Baseline& Predictor::baseline(const Setup& s) {
  constexpr std::size_t kMost = 20'000;  // keeps memory flat over huge sweeps
  if (baselines_.size() > kMost) baselines_.clear();
  RecordedMethod& r = steps_.recorded(s, autoregressive());
  const int sequences = s.replica_sequences();
  const auto [it, fresh] = baselines_.try_emplace(
      {&r, s.device, s.engine, sequences, s.prompt_tokens, s.output_tokens, s.cached_prompt_tokens});
  if (fresh) {
    const MeanStep usual = mean_over_output(r, steps_.priced(r, s, sequences, 1), s, autoregressive());
    it->second = {usual.step, cycle(r, s, autoregressive(), s.output_tokens - 1, usual).e2e};
    it->second.step.time += sequences * s.engine->token;
  }
  return it->second;
}

double Predictor::decode_steps(RecordedMethod& r, const MethodChoice& m, const Setup& s, int verified_rows,
                               double acceptance_length) {
  const int tokens = s.output_tokens - 1;  // the prefill emits the first
  if (acceptance_length <= 1) return tokens;
  const BuiltMethod built{m.spec, r.method(), verified_rows};
  if (const Trace* trace = m.acceptance.trace()) {
    auto known = r.replayed.find(trace);
    if (known == r.replayed.end()) known = r.replayed.emplace(trace, m.acceptance.lengths(built)).first;
    return expected_steps(tokens, known->second);
  }
  if (!m.acceptance.by_context()) return expected_steps(tokens, m.acceptance.lengths(built));
  std::vector<double> survival(static_cast<std::size_t>(r.method().usual_depth()));
  for (const auto& [context, share] : contexts(m, r.method(), verified_rows, s, {})) {
    double left = 1;
    const LengthDistribution lengths = m.acceptance.lengths(built, context);
    for (std::size_t n = 0; n < survival.size(); ++n)
      survival[n] += share * std::max(0.0, left -= lengths.probability(static_cast<int>(n) + 1));
  }
  return expected_steps(tokens, LengthDistribution(survival));
}

// What requests see of a full batch, with the scheduler that the engine has on this device unless it is given another.
RequestCycle Predictor::cycle(RecordedMethod& r, const Setup& s, const MethodChoice& m, double decode_steps,
                              const MeanStep& full) {
  const double hit_share = StepPrices::verifying_share(r, m);
  const Seconds tokens = (s.output_tokens - 1) / decode_steps * s.engine->token;  // of a sequence's step
  const int all = s.replica_sequences();
  const auto decode = [&](int sequences) {
    const ExpectedStep& price = *steps_.priced(r, s, sequences, hit_share).step;
    const StepBreakdown step = sequences == all ? full.step : mean_step(price, full.contexts);
    Seconds host_slack;
    for (const auto& [length, share] : full.contexts) host_slack += share * price.host_idle(length);
    return DecodeStep{step.time + sequences * tokens, price.idle(step), host_slack, price.rows()};
  };
  const SchedulerLimits limits = engine_limits(*s.engine, *s.device, r.method().speculation());
  const LoopedRequests requests{.batch_size = all,
                                .prompt_tokens = s.computed_prompt_tokens(),
                                .rows = mean_rows(steps_.priced(r, s, all, hit_share).step->rows()) / all,
                                .decode_steps = decode_steps,
                                .max_num_batched_tokens = limits.max_num_batched_tokens,
                                .prompts_apart = limits.batching == Batching::prefill_first,
                                .cached_tokens = s.cached_prompt_tokens,
                                .parts = s.parallel.attention_replicas};
  return request_cycle(requests, decode, chunks(r, s));
}

// Files hold what is physical, but no reader knows what all their coefficients together make of a step.
static bool are_numbers(const Prediction& p) {
  const std::array figures{p.step_time.value,    p.throughput.value,     p.speedup,
                           p.request.ttft.value, p.request.e2e.value,    p.throughput_with_prefill.value,
                           p.prefill_time.value, p.speedup_with_prefill, p.work.flops.value,
                           p.work.bytes().value, p.memory.total().value};
  if (!std::all_of(figures.begin(), figures.end(), [](double v) { return std::isfinite(v); })) return false;
  if (!p.interval) return true;
  const auto finite = [](const RatioInterval& i) { return std::isfinite(i.low) && std::isfinite(i.high); };
  return finite(p.interval->step_time) && finite(p.interval->throughput) && finite(p.interval->speedup);
}

std::variant<Prediction, std::string> Predictor::predict(const Setup& s, const MethodChoice& m) try {
  if (const auto why = refuses_sharing(*s.device, *s.transformer, s.parallel)) return *why;
  const int sequences = s.replica_sequences();
  RecordedMethod& r = steps_.recorded(s, m);
  const Speculation speculation = r.method().speculation();
  if (const auto why = steps_.refuses(r, sequences)) return *why;
  if (const auto why = steps_.refuses_drafter_device(s, m)) return *why;
  const PricedStep& mine = steps_.priced(r, s, sequences, StepPrices::verifying_share(r, m));
  Prediction out{};
  out.verified_rows = mine.rows;
  const auto length = acceptance_length(m, r.method(), mine.rows, s);
  if (const auto* mistake = std::get_if<Mistake>(&length)) return mistake->text;
  out.acceptance_length = std::get<double>(length);
  const Footprints taken = footprints(r, mine, s);
  out.memory = taken.target;
  if (taken.drafter) out.drafter = DrafterUse{*taken.drafter, 0};
  const int context = s.prompt_tokens + s.output_tokens;
  if (const auto most = s.transformer->max_positions; most && context > *most)
    return "a text of " + std::to_string(context) + " tokens, " + s.transformer->name + " has " +
           std::to_string(*most) + " positions";
  if (const auto why = lacks_memory(r, taken, s)) return *why;

  const double middle = s.prompt_tokens + (s.output_tokens - 2) / 2.0;
  const auto throughput = [&](const StepBreakdown& step, double length) { return s.batch_size * length / step.time; };
  const MeanStep mean = mean_over_output(r, mine, s, m);
  out.breakdown = mean.step;
  out.breakdown.time += sequences * out.acceptance_length * s.engine->token;
  out.step_time = out.breakdown.time;
  if (out.drafter)
    for (const auto& [length, share] : mean.contexts)
      out.drafter->busy += share * (mine.step->drafting(length) / out.step_time);
  out.work = mine.step->work(middle);
  out.throughput = throughput(out.breakdown, out.acceptance_length);
  out.prefill_time = steps_.prefill_time(r, s);
  out.request = cycle(r, s, m, decode_steps(r, m, s, mine.rows, out.acceptance_length), mean);
  out.throughput_with_prefill = s.batch_size * s.output_tokens / out.request.e2e;
  const AttentionChoice attention = attention_of(s);
  out.warnings = setup_warnings(s, m.spec, attention);
  if (const int most = engine_limits(*s.engine, *s.device, speculation).max_num_seqs; sequences > most)
    out.warnings.push_back(s.engine->name + " runs " + std::to_string(most) + " sequences at once" +
                           (speculation == Speculation::on ? " while it speculates" : "") +
                           ", unless it is told otherwise: larger batches need that limit raised");
  KnownErrors errors = known_errors(*s.device, s.precision, attention);
  if (s.transformer->latent() != nullptr &&
      s.transformer->latent()->dims.indexer) {  // nobody measured how tokens are chosen and read
    errors.of[static_cast<std::size_t>(KernelKind::attention)].reset();
    errors.plain_attention.reset();
  }
  if (speculation == Speculation::on) {
    const Baseline& plain = baseline(s);
    out.speedup = out.throughput / throughput(plain.step, 1);
    out.speedup_with_prefill = plain.e2e / out.request.e2e;
    // The errors are those of the target's device.
    if (!out.drafter) out.interval = prediction_interval(errors, out.breakdown, &plain.step);
  } else {
    out.speedup = out.speedup_with_prefill = 1;
    out.interval = prediction_interval(errors, out.breakdown, nullptr);
  }
  if (!are_numbers(out))
    return "its figures are no numbers: coefficients of " + s.device->name + " or " + s.engine->name +
           " are out of all proportion";
  return out;
} catch (const MethodMistake& e) { return e.mistake().text; }

}  // namespace draftline
