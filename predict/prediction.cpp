// SPDX-License-Identifier: Apache-2.0
#include "predict/prediction.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/quantity_text.h"
#include "predict/device_memory.h"
#include "predict/link_errors.h"
#include "predict/prefix_reuse.h"
#include "predict/setup_warnings.h"
#include "predict/step_modes.h"

namespace draftline {

Seconds mean_step_time(const StepPrice& price, int prompt_tokens, int output_tokens) {
  Seconds mean;
  for (const auto& [length, share] : mean_contexts(prompt_tokens, output_tokens, price.windows()))
    mean += share * price(length);
  return mean;
}

StepBreakdown mean_step(const StepPrice& price, int prompt_tokens, int output_tokens) {
  StepBreakdown mean;
  for (const auto& [length, share] : mean_contexts(prompt_tokens, output_tokens, price.windows()))
    mean.add(price.breakdown(length), share);
  return mean;
}

void Caveats::note(const Prediction& p) {
  for (const std::string& warning : p.warnings)
    if (std::find(warnings.begin(), warnings.end(), warning) == warnings.end()) warnings.push_back(warning);
  if (no_interval.empty()) no_interval = p.no_interval;
}

std::optional<Mistake> mistake(Recordings& recordings, const Setup& s, const MethodChoice& m) try {
  if (auto why = m.acceptance.other_target(*s.transformer); why && !m.acceptance.borrowable())
    return Mistake{"/acceptance",
                   *std::move(why) + "; \"borrowed\": true takes its acceptance for this network all the same"};
  const int sequences = s.replica_sequences();
  RecordedMethod& r = *recordings.of(s, m);
  if (auto why = r.refuses(sequences)) return Mistake{"", *std::move(why)};
  const auto length =
      EmittedTokens(m, r.method()).mean_length({r.verified_rows(sequences), s.prompt_tokens, s.output_tokens});
  if (const auto* mistake = std::get_if<Mistake>(&length)) return *mistake;
  return std::nullopt;
} catch (const MethodMistake& e) { return e.mistake(); }

std::variant<Prediction, std::string> predict(Pricer& pricer, const Setup& s, const MethodChoice& m) {
  return Predictor(pricer, s, m).at(s.batch_size, s.prompt_tokens, s.output_tokens);
}

// Warns where an engine verifies no trees on a network with recurrent states.
static std::string tree_on_states(const Engine& e, const StepOutline& step) {
  const auto commits = [](const StepOutline::Kind& k) { return k.key == CommitStates::key; };
  if (!e.chain || std::none_of(step.kinds.begin(), step.kinds.end(), commits)) return "";
  return e.name +
         " verifies chains alone on a network with recurrent states: the tree is priced with a state for each " +
         "of its nodes, as SGLang keeps them";
}

Predictor::Predictor(Pricer& pricer, const Setup& s, const MethodChoice& m, Intervals intervals)
    : setup_(s), method_(m), intervals_(intervals) {
  refuses_setup_ = refuses_sharing(*s.device, *s.transformer, s.parallel);
  if (refuses_setup_) return;
  setup_ = with_reused_prefix(s, m.spec);
  plain_cached_tokens_ = with_reused_prefix(s, autoregressive().spec).cached_prompt_tokens;
  try {
    priced_ = pricer.of(s, method_);
  } catch (const MethodMistake& e) {
    refuses_setup_ = e.mistake().text;
    return;
  }
  if (priced_->method().speculation() == Speculation::on) plain_ = pricer.of(s, autoregressive());
  refuses_drafter_ = pricer.recordings().refuses_drafter_device(s, method_);
  if (s.engine->state_pool > 0 && s.transformer->states()) {
    const SchedulerLimits& l = priced_->limits();
    const ServerMemory memory = server_memory(pricer.recordings(), s, m, l.max_num_seqs, l.max_num_batched_tokens);
    seats_ = memory.states->sequences(s.gpu_memory_utilization * s.device->memory - memory.taken());
  }
  emitted_.emplace(method_, priced_->method());
  const BuiltMethod built{method_.spec, priced_->method()};
  drafts_ = method_.acceptance.draft_counts(built);
  hits_ = method_.acceptance.usual_hits(built);
  const AttentionChoice attention = attention_of(s);
  const ChosenFits fits = chosen_fits(*s.device, s.precision);
  errors_ = known_errors(*s.device, fits, attention);
  errors_.steps = s.engine->step_error;
  if (const std::string what = unmeasured_attention(*s.transformer); !what.empty()) {
    errors_.of[KernelKind::attention].reset();
    errors_.plain_attention.reset();
    errors_.why[KernelKind::attention] = what + " was not measured";
  }
  if (const std::string what = unmeasured_recurrence(*s.transformer); !what.empty()) {
    errors_.of[KernelKind::recurrence].reset();
    errors_.why[KernelKind::recurrence] = what + " was not measured";
  }
  set_link_errors(errors_, s);
  if (has_ungated_experts(*s.transformer)) {
    errors_.experts_as_gemm = false;
    errors_.of[KernelKind::experts].reset();
    errors_.why[KernelKind::experts] = "experts without a gate were not measured";
  }
  warnings_ = setup_warnings(s, method_, attention, fits);
  if (const auto unknown = method_.acceptance.unknown_drafts(built)) warnings_.push_back(*unknown);
  if (!s.transformer->states()) return;
  const StepOutline& step = pricer.recordings().of(s, method_)->step(s.replica_sequences());
  if (const std::string warning = tree_on_states(*s.engine, step); !warning.empty()) warnings_.push_back(warning);
}

// What requests see of a full batch, with the scheduler that the engine has on this device unless it is given another.
RequestCycle Predictor::cycle(PricedMethod& priced, const DraftCounts& drafts, double decode_steps,
                              const MeanContexts* contexts) const {
  const int all = setup_.replica_sequences();
  const int cached = &priced == priced_.get() ? setup_.cached_prompt_tokens : plain_cached_tokens_;
  const LoopedRequests requests{.batch_size = all,
                                .prompt_tokens = setup_.prompt_tokens - cached,
                                .rows = mean_rows(priced.step(all, drafts)->price.rows()) / all,
                                .decode_steps = decode_steps,
                                .max_num_batched_tokens = priced.limits().max_num_batched_tokens,
                                .prompts_apart = priced.limits().batching == Batching::prefill_first,
                                .cached_tokens = cached,
                                .parts = setup_.parallel.attention_replicas};
  return priced.cycle(requests, drafts, setup_.output_tokens, contexts);
}

void Predictor::add_memory(Prediction& out, const PricedStep& step) {
  const Footprints taken = footprints(*priced_, step, setup_);
  out.memory = taken.target;
  if (taken.drafter) out.drafter = DrafterUse{*taken.drafter, 0};
}

// Why the texts are too long for the network, or the memory too small for the texts.
std::optional<std::string> Predictor::refuses(const Prediction& p) const {
  const int context = setup_.prompt_tokens + setup_.output_tokens;
  if (const auto most = setup_.transformer->max_positions; most && context > *most)
    return "a text of " + std::to_string(context) + " tokens, " + setup_.transformer->name + " has " +
           std::to_string(*most) + " positions";
  Footprints taken{p.memory, {}};
  if (p.drafter) taken.drafter = p.drafter->memory;
  return lacks_memory(priced_->recorded(), taken, setup_);
}

TermEffect Predictor::effect_of(const Acceptance::UsualHits& hits) {
  const auto step = [&](double share) {
    const DraftCounts drafts = DraftCounts::of_hits(priced_->method().drafts_of_hit(), share);
    return priced_->mean_step(setup_.replica_sequences(), drafts, setup_.prompt_tokens, setup_.output_tokens).step.time;
  };
  const Seconds now = step(hits.share);
  return {nullptr, step(hits.range.low) - now, step(hits.range.high) - now};
}

// `plain`: the plain step, null if it is the step itself.
void Predictor::add_interval(Prediction& out, const StepBreakdown* plain) {
  if (out.drafter) {  // the known errors are those of the target's device
    out.no_interval = "no interval: unknown errors of the drafter's own device";
    return;
  }
  const int sequences = setup_.replica_sequences();
  const double context = setup_.prompt_tokens + setup_.output_tokens / 2.0;
  const auto terms = priced_->term_effects(sequences, context, out.acceptance_length);
  std::vector<TermEffect> mine(terms.begin(), terms.end());
  if (hits_) mine.push_back(effect_of(*hits_));
  const UncertainStep step(out.breakdown, mine);
  if (plain == nullptr) {
    out.interval = prediction_interval(errors_, step, nullptr);
  } else {
    const auto base = plain_->term_effects(sequences, context, 1);
    const UncertainStep baseline(*plain, base);
    out.interval = prediction_interval(errors_, step, &baseline);
  }
  if (!out.interval) out.no_interval = missing_error(errors_, out.breakdown, plain).value_or("");
}

void Predictor::compare_with_plain(Prediction& out) {
  if (!plain_) {
    out.speedup = out.speedup_with_prefill = 1;
    if (intervals_ == Intervals::computed) add_interval(out, nullptr);
    return;
  }
  const int sequences = setup_.replica_sequences();
  StepBreakdown step = plain_->mean_step(sequences, {}, setup_.prompt_tokens, setup_.output_tokens).step;
  step.time += sequences * setup_.engine->token;
  out.speedup = out.throughput / throughput(step, 1);
  out.speedup_with_prefill = cycle(*plain_, {}, setup_.output_tokens - 1, nullptr).e2e / out.request.e2e;
  if (intervals_ == Intervals::computed) add_interval(out, &step);
}

std::vector<std::string> Predictor::warnings() const {
  std::vector<std::string> all = warnings_;
  if (const int most = priced_->limits().max_num_seqs; setup_.replica_sequences() > most)
    all.push_back(setup_.engine->name + " runs " + std::to_string(most) + " concurrent sequences by default" +
                  (plain_ ? " while it speculates" : "") + ": larger batches need a higher limit");
  if (seats_ && setup_.replica_sequences() > *seats_)
    all.push_back(setup_.engine->name + "'s pool of recurrent states seats " + std::to_string(*seats_) +
                  " sequences here: larger batches need a larger share of the memory for states");
  return all;
}

// Short prompts wait for the host that launches their kernels, so that a format with more kernels is slower.
std::optional<std::string> Predictor::quantised_prompts(Seconds prefill) {
  constexpr double kNoted = 0.1;
  const Seconds launches =
      priced_->launches_of_quantising(setup_.computed_prompt_tokens(), setup_.cached_prompt_tokens);
  if (launches <= kNoted * prefill) return std::nullopt;
  return setup_.engine->name + " quantises rows by kernels of their own, whose launches take " + to_text(launches) +
         " of the " + to_text(prefill) + " of a prompt: a short prompt may be faster in 16 bits";
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

std::variant<Prediction, std::string> Predictor::at(int batch_size, int prompt_tokens, int output_tokens) try {
  if (refuses_setup_) return *refuses_setup_;
  setup_.batch_size = batch_size, setup_.prompt_tokens = prompt_tokens, setup_.output_tokens = output_tokens;
  const int sequences = setup_.replica_sequences();

  // Record and price a step.
  if (const auto why = priced_->recorded().refuses(sequences)) return *why;
  if (refuses_drafter_) return *refuses_drafter_;
  const std::shared_ptr<const PricedStep> priced = priced_->step(sequences, drafts_);
  const PricedStep& step = *priced;
  const EmittedTokens::Output output{step.rows, prompt_tokens, output_tokens};
  Prediction out{};
  out.verified_rows = step.rows;
  const auto length = emitted_->mean_length(output);
  if (const auto* mistake = std::get_if<Mistake>(&length)) return mistake->text;
  out.acceptance_length = std::get<double>(length);
  add_memory(out, step);
  if (const auto why = refuses(out)) return *why;

  // The mean step over the output.
  const MeanContexts contexts = emitted_->contexts(output, step.price.windows());
  const MeanContexts* own = method_.acceptance.by_context() ? &contexts : nullptr;
  out.breakdown = (own != nullptr ? mean_step(step.price, contexts)
                                  : priced_->mean_step(sequences, drafts_, prompt_tokens, output_tokens))
                      .step;
  out.breakdown.time += sequences * out.acceptance_length * setup_.engine->token;
  out.step_time = out.breakdown.time;
  if (out.drafter)
    for (const auto& [length, share] : contexts)
      out.drafter->busy += share * (step.price.drafting(length) / out.step_time);
  out.work = step.price.work(prompt_tokens + (output_tokens - 2) / 2.0);
  out.throughput = throughput(out.breakdown, out.acceptance_length);

  // The cycle of requests with their prompts.
  out.prefill_time = priced_->prefill_time(setup_.computed_prompt_tokens(), setup_.cached_prompt_tokens);
  out.request = cycle(*priced_, drafts_, emitted_->decode_steps(output, out.acceptance_length), own);
  out.throughput_with_prefill = batch_size * output_tokens / out.request.e2e;
  out.warnings = warnings();
  if (const auto slow = quantised_prompts(out.prefill_time)) out.warnings.push_back(*slow);
  const auto modes = mode_warnings(setup_, method_.spec, *priced_, drafts_);
  out.warnings.insert(out.warnings.end(), modes.begin(), modes.end());
  if (const auto note = emitted_->extrapolated(output); note && !method_.in) out.warnings.push_back(*note);

  compare_with_plain(out);
  // Neither the batch nor the plain server waits for the front end.
  out.request.ttft += setup_.engine->front_end;
  out.request.e2e += setup_.engine->front_end;
  if (!are_numbers(out))
    return "its figures are not finite: coefficients of " + setup_.device->name + " or " + setup_.engine->name +
           " have implausible values";
  return out;
} catch (const MethodMistake& e) { return e.mistake().text; }

}  // namespace draftline
