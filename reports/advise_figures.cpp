// SPDX-License-Identifier: Apache-2.0
#include "reports/advise_figures.h"

#include <algorithm>
#include <cmath>

#include "reports/certainty.h"

namespace draftline {

namespace {

// Whether LoadAdvice::pays_to has a value.
bool pays_to_some_load(const Advice& a) { return a.rate && a.rate->pays(); }

// "1-560", "1, 12-150", "none"
std::string batches_text(const Advice& a) {
  std::string text;
  for (const Stretch<int>& s : a.pays_at)
    text += (text.empty() ? "" : ", ") + std::to_string(s.from) + (s.to > s.from ? "-" + std::to_string(s.to) : "");
  return text.empty() ? "none" : text;
}

Reading interval_text(const BatchAdvice& b) {
  const auto i = request_interval(b);
  return i ? Reading(significant(i->low) + " to " + significant(i->high)) : Reading();
}

}  // namespace

const Figures<Advice>& advise_figures() {
  using A = const Advice&;
  const auto of = [](auto get) {  // of a method that can run
    return [get](A a) { return a.obstacle ? Reading() : Reading(get(a)); };
  };
  const auto rate = [&of](auto get) {
    return of([get](A a) { return pays_to_some_load(a) ? Reading(get(*a.rate)) : Reading(); });
  };
  using R = const LoadAdvice&;
  constexpr auto predicted = FigureKind::predicted;
  static const Figures<Advice> all{
      // clang-format off
      {"skipped", "", "", "", {}, [](A a) { return a.obstacle ? Reading(*a.obstacle) : Reading(); },
       "the reason why there is no advice"},
      {"largest_batch", "", "", "", {}, of([](A a) { return a.largest_batch; }), "largest batch that fits the device"},
      {"verdict", "", "", "", {}, of([](A a) { return name_of(a.verdict()); }),
       "`pays` if it surely pays at a batch below, or at `batch_at_load`; else `too close to say` or `does not pay`"},
      {"batch_at_load", "", "", "", {}, of([](A a) { return Reading(a.batch_at_load); }),
       "sequences of a server with plain decoding under the workload, by Little's law; absent without one"},
      {"pays_to_batch", "", "", "", {}, of([](A a) { return a.pays_to_batch(); }),
       "largest batch at which the latency of requests falls, prompts included; 0 if there is none"},
      {"gain", "", "", "", predicted, of([](A a) { return a.gain; }),
       "geometric mean of the speedup of requests over the batches below, or the speedup at `batch_at_load`; 1 where "
       "speculation is slower and is switched off"},
      {"kv_pool_lost", "", "", "", predicted, of([](A a) { return a.pool_lost; }),
       "share of the plain server's KV pool that speculation takes for a drafter, its cache and more verified rows; 0 "
       "where the pool grows, because the engine lets fewer sequences run while it speculates"},
      {"rate", "", "", "", {}, of([](A a) { return pays_to_some_load(a) ? Reading() : Reading(nullptr); }),
       "null if no load bounds the gain"},
      {"rate/pays_from", "", "", "requests/s", predicted, rate([](R r) { return r.pays_from; }),
       "smallest load at which the mean end-to-end latency is lower; 0 if it is lower without load, too"},
      {"rate/pays_to", "", "", "requests/s", predicted, rate([](R r) { return r.pays_to; }),
       "largest load at which the mean end-to-end latency is lower"},
      {"rate/overloaded", "", "", "", {}, rate([](R r) { return r.until_overload(); }),
       "whether `pays_to` is the largest load that plain decoding serves, so that speculation is faster up to its "
       "limit"},
      // clang-format on
  };
  return all;
}

const Figures<BatchAdvice, Advice>& loss_figures() {
  using Part = double StepLosses::*;
  const auto part = [](const char* json, const char* title, Part loss, const char* meaning, Checking check = {}) {
    const auto shows = [loss](const Advice& a) {
      return std::ranges::any_of(a.batches,
                                 [&](const BatchAdvice& b) { return std::lround(100 * (b.losses.*loss)) != 0; });
    };
    // clang-format off
    return Figure<BatchAdvice, Advice>{json, "", title, "plain steps", FigureKind::predicted,
                                       [loss](const BatchAdvice& b) { return b.losses.*loss; }, meaning,
                                       {.text = percent, .show_if = shows, .detail = true}, check};
    // clang-format on
  };
  static const Figures<BatchAdvice, Advice> all{
      part("losses/draft", "draft", &StepLosses::draft,
           "additional time of the drafter, in plain steps (157 %: 1.57 plain steps)"),
      part("losses/gemm", "GEMM", &StepLosses::products,
           "additional time of GEMMs and elementwise ops for more verified rows, in plain steps",
           {.was = "losses/products"}),
      part("losses/cache_reads", "KV reads", &StepLosses::cache_reads,
           "additional time of attention for more query rows, in plain steps"),
      part("losses/experts", "experts", &StepLosses::experts,
           "additional time of more activated experts, in plain steps"),
      part("losses/communication", "comm", &StepLosses::communication,
           "additional time of longer all-reduces, in plain steps"),
      part("losses/commit", "commit", &StepLosses::commit,
           "time of verification and of moving cache entries, in plain steps"),
      part("losses/cpu", "CPU", &StepLosses::host,
           "additional waiting for the CPU (draft passes, lost overlap, cost per emitted token), in plain steps",
           {.was = "losses/host"}),
  };
  return all;
}

Figures<BatchAdvice, Advice> batch_figures(const Advice& advice) {
  using B = const BatchAdvice&;
  constexpr auto predicted = FigureKind::predicted, input = FigureKind::input;
  Figures<BatchAdvice, Advice> all{
      // clang-format off
      {"batch_size", "", "batch", "", {}, [](B b) { return b.batch_size; }, "sequences in one step", {}, kIdentifies},
      {"plain_step_time", "", "plain step", "s", predicted, [](B b) { return b.plain_step; }, "step of plain decoding",
       {.detail = true}},
      {"step_time", "", "its step", "s", predicted, [](B b) { return b.step; },
       "step of the method, drafting included", {.detail = true}},
      {"speedup", "", "decode speedup", "", predicted, [](B b) { return b.speedup; },
       "throughput over that of plain decoding"},
      {"speedup_with_prefill", "", "request speedup", "", predicted,
       [](B b) { return Reading(b.request_speedup, request_interval(b)); },
       "speedup of a request, its prompt included"},
      {"", "", "90 %", "", {}, interval_text,
       "90 % interval of the request speedup"},
      {"verdict", "", "verdict", "", {}, [](B b) { return name_of(verdict_on(b)); },
       "`pays`, `does not pay`, or `too close to say`: the interval contains 1, or there is none and the speedup is "
       "within a factor of 1.34 of 1"},
      {"break_even_acceptance_length", "", "break-even", "tokens", predicted, [](B b) { return b.break_even_length; },
       "tokens that a step must emit for a speedup of 1: its cost in plain steps",
       {}, {.was = "acceptance_length_needed"}},
      {"acceptance_length", "", "tok/step", "tokens", input, [](B b) { return b.acceptance_length; },
       "tokens per sequence and step with the given acceptance"},
      // clang-format on
  };
  all.insert(all.end(), loss_figures().begin(), loss_figures().end());
  std::vector<int> prompts;
  for (const BestLength& b : advice.best)
    if (prompts.empty() || prompts.back() != b.prompt_tokens) prompts.push_back(b.prompt_tokens);
  // clang-format off
  for (const int prompt : prompts)
    all.push_back({"", "", prompts.size() > 1 ? "best at " + std::to_string(prompt) : "best", "", {},
                   [prompt, best = advice.best](B b) {
                     for (const BestLength& x : best)
                       if (x.prompt_tokens == prompt && x.batch_size == b.batch_size) return Reading(x.draft_length);
                     return Reading();
                   },
                   "draft length with the highest speedup of requests, among those whose acceptance is known"});
  all.push_back({"sharded_drafter_speedup", "", "sharded", "", predicted, [](B b) { return b.sharded_speedup; },
                 "speedup with the draft network divided among the devices",
                 {.show_if = [](const Advice& a) { return a.batches.front().sharded_speedup.has_value(); }}});
  // clang-format on
  return all;
}

const Figures<BestLength>& best_length_figures() {
  using B = const BestLength&;
  static const Figures<BestLength> all{
      // clang-format off
      {"prompt_tokens", "", "", "", {}, [](B b) { return b.prompt_tokens; }, "tokens of the prompt", {}, kIdentifies},
      {"batch_size", "", "", "", {}, [](B b) { return b.batch_size; }, "sequences in one step", {}, kIdentifies},
      {"draft_length", "", "", "", {}, [](B b) { return b.draft_length; }, "best draft length; 0 for plain decoding"},
      {"speedup", "", "", "", FigureKind::predicted, [](B b) { return b.speedup; },
       "speedup of a request, its prompt included"},
      // clang-format on
  };
  return all;
}

const Figures<Stretch<int>>& stretch_figures() {
  using S = const Stretch<int>&;
  static const Figures<Stretch<int>> all{
      {"from", "", "", "", {}, [](S s) { return s.from; }, "smallest batch of a range in which requests gain"},
      {"to", "", "", "", {}, [](S s) { return s.to; }, "largest batch of the range"},
  };
  return all;
}

const Figures<ScheduledLength>& schedule_figures() {
  using S = const ScheduledLength&;
  static const Figures<ScheduledLength> all{
      // clang-format off
      {"prompt_tokens", "", "", "", {}, [](S s) { return s.prompt_tokens; }, "tokens of the prompt", {}, kIdentifies},
      {"from_batch", "", "", "", {}, [](S s) { return s.from_batch; }, "smallest batch size of the range"},
      {"to_batch", "", "", "", {}, [](S s) { return s.to_batch; },
       "largest batch size of the range; in the last range the largest batch that fits"},
      {"draft_length", "", "", "", {}, [](S s) { return s.draft_length; },
       "best draft length, to 3 %; 0 for plain decoding",
       {}, kIdentifies},
      // clang-format on
  };
  return all;
}

Figures<Advice, Scenario> ranking_figures(const std::vector<int>& batches, int common) {
  using A = const Advice&;
  Figures<Advice, Scenario> all{
      // clang-format off
      {"", "", "pays at batch", "", {}, [](A a) { return batches_text(a); },
       "batches at which requests gain (`pays_at`)"},
      {"", "", "verdict", "", {}, [](A a) { return name_of(a.verdict()); }, "`verdict`"},
      // clang-format on
  };
  for (const int batch : batches)
    all.push_back({"", "", "batch " + std::to_string(batch), "", FigureKind::predicted,
                   [batch](A a) {
                     for (const BatchAdvice& b : a.batches)
                       if (b.batch_size == batch) return Reading(b.request_speedup);
                     return Reading();
                   },
                   "speedup of requests at that batch"});
  if (common > 0)
    all.push_back({"", "", "tok/s at " + std::to_string(common), "tokens/s", FigureKind::predicted,
                   [common](A a) {
                     for (const BatchAdvice& b : a.batches)
                       if (b.batch_size == common) return Reading(b.batch_size * b.acceptance_length / b.step);
                     return Reading();
                   },
                   "output tokens of the whole batch at that batch size: gains of setups refer to each setup's own "
                   "plain decoding"});
  // clang-format off
  all.push_back({"", "", "mean gain", "", FigureKind::predicted, [](A a) { return a.gain; },
                 "`gain`, by which methods are ranked on each setup"});
  all.push_back({"", "", "largest cost", "", {},
                 [](A a) {
                   const Figure<BatchAdvice, Advice>* most = nullptr;
                   const auto cost = [&](const auto& f) { return std::get<double>(f.get(a.batches.back()).value); };
                   for (const auto& f : loss_figures())
                     if (most == nullptr || cost(f) > cost(*most)) most = &f;
                   const double steps = cost(*most);
                   return Reading(most->title + (steps < 0 ? " " : " +") + significant(steps, 2) + " plain steps");
                 },
                 "largest additional cost of a step at the largest batch", {.detail = true}});
  // clang-format on
  return all;
}

}  // namespace draftline
