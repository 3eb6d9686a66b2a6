// SPDX-License-Identifier: Apache-2.0
#include "reports/run_figures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

namespace draftline {

namespace {

// Whether a method of the scenario drafts a tree or block. Only then the verified rows are not draft length + 1.
bool beyond_chains(const Scenario& s) {
  return std::ranges::any_of(s.methods,
                             [](const MethodChoice& m) { return !m.spec.draft_length() && !m.spec.is_plain(); });
}

// Whether any point has several devices, and therefore communication.
bool several_devices(const Scenario& s) {
  return std::ranges::any_of(s.parallel, [](const Parallelism& p) { return p.devices > 1; });
}

// Whether any method drafts on a device of its own, and the messages to it are communication.
bool drafter_devices(const Scenario& s) {
  return std::ranges::any_of(s.methods, [](const MethodChoice& m) { return m.drafter_device != nullptr; });
}

// Tokens/s as text: a whole number, with three digits below 10.
std::string token_rate(double rate) { return rate < 9.995 ? significant(rate, 3) : std::to_string(std::lround(rate)); }

// The 90 % intervals in the units of the figures; none if the errors of the device's fits are unknown.
std::optional<Interval> step_interval(const Prediction& p) {
  return p.interval ? std::optional(p.interval->step_time.of(p.step_time.value)) : std::nullopt;
}

std::optional<Interval> throughput_interval(const Prediction& p) {
  return p.interval ? std::optional(p.interval->throughput.of(p.throughput.value)) : std::nullopt;
}

}  // namespace

std::optional<Interval> speedup_interval(const Prediction& p) {
  return p.interval ? std::optional(p.interval->speedup.of(p.speedup)) : std::nullopt;
}

const Figures<Outcome>& run_figures() {
  using P = const Prediction&;
  constexpr auto predicted = FigureKind::predicted, input = FigureKind::input;
  constexpr auto of = [](auto get) {  // of a point that was not skipped
    return [get](const Outcome& o) {
      const auto* p = std::get_if<Prediction>(&o.result);
      return p ? Reading(get(*p)) : Reading();
    };
  };
  constexpr auto end_of = [of](auto interval, double Interval::*end) {
    return of([=](P p) {
      const std::optional<Interval> i = interval(p);
      return i ? Reading((*i).*end) : Reading();
    });
  };
  constexpr auto skipped = [](const Outcome& o) {
    const auto* why = std::get_if<std::string>(&o.result);
    return why ? Reading(*why) : Reading();
  };
  constexpr auto step = [](const Outcome& o) { return std::get<Prediction>(o.result).step_time.value; };
  static const Figures<Outcome> all{
      // clang-format off
      {"verified_rows", "verified_rows", "rows", "rows", predicted, of([](P p) { return p.verified_rows; }),
       "rows of a sequence that a step verifies; tables show it if a method drafts a tree or a block",
       {.show_if = beyond_chains}},
      {"throughput", "throughput_per_s", "decode tokens/s", "tokens/s", predicted,
       of([](P p) { return Reading(p.throughput, throughput_interval(p)); }),
       "output tokens of the whole batch, prefill excluded", {.text = token_rate}},
      {"throughput_with_prefill", "throughput_with_prefill_per_s", "", "tokens/s", predicted,
       of([](P p) { return p.throughput_with_prefill; }),
       "output tokens of the whole batch; each prompt is computed in steps in which other requests decode",
       {}, kPinned},
      {"speedup", "speedup", "decode speedup", "", predicted,
       of([](P p) { return Reading(p.speedup, speedup_interval(p)); }),
       "throughput over that of plain decoding: same device, batch and precision"},
      {"speedup_with_prefill", "speedup_with_prefill", "request speedup", "", predicted,
       of([](P p) { return p.speedup_with_prefill; }),
       "end-to-end latency of a request under plain decoding over its latency with the method, prompt included"},
      {"ttft", "ttft_s", "TTFT", "s", predicted, of([](P p) { return p.request.ttft; }),
       "time to first token of a request that joins the batch when another leaves it, without a queue"},
      {"e2e", "e2e_s", "", "s", predicted, of([](P p) { return p.request.e2e; }),
       "end-to-end latency of such a request"},
      {"acceptance_length", "acceptance_length", "tok/step", "tokens", input,
       of([](P p) { return p.acceptance_length; }),
       "mean acceptance length: tokens per sequence and step, the bonus token included", {.detail = true}},
      {"step_time", "step_time_s", "step", "s", predicted,
       of([](P p) { return Reading(p.step_time, step_interval(p)); }),
       "one step of the target, drafting included", {.detail = true}},
      {"breakdown/draft", "draft_s", "draft", "s", predicted,
       of([](P p) { return p.breakdown.of(Phase::draft) + p.breakdown.drafting; }),
       "the drafter's part of a step, its waits for the CPU included", {.whole = step, .detail = true}},
      {"", "verify_s", "verify", "s", predicted,
       of([](P p) { return p.breakdown.of(Phase::verify) + p.breakdown.of(Phase::commit); }),
       "the target's part of a step, with the commit of the accepted tokens", {.whole = step, .detail = true}},
      {"breakdown/verify", "", "", "s", predicted, of([](P p) { return p.breakdown.of(Phase::verify); }),
       "the target's part of a step", {}, kPinned},
      {"breakdown/commit", "", "", "s", predicted, of([](P p) { return p.breakdown.of(Phase::commit); }),
       "the part of a step that commits the accepted tokens", {}, kPinned},
      {"breakdown/communication", "communication_s", "comm", "s", predicted,
       of([](P p) { return p.breakdown.communication(); }),
       "the part of a step that all-reduces and messages to a drafter's own device take; tables show it with several "
       "devices",
       {.whole = step, .show_if = [](const Scenario& s) { return several_devices(s) || drafter_devices(s); }, .detail = true}},
      {"breakdown/cpu", "cpu_s", "CPU", "s", predicted,
       of([](P p) { return std::max(Seconds{}, p.breakdown.host() - p.breakdown.drafting); }),
       "the part of a step in which the device waits for the engine's CPU code, drafting "
       "excluded", {.whole = step, .detail = true},
       {.was = "breakdown/host"}},
      {"peak_memory", "peak_memory_bytes", "memory", "B", predicted, of([](P p) { return p.memory.total(); }),
       "peak memory of each device that holds the target", {.detail = true}},
      {"drafter_memory", "drafter_memory_bytes", "", "B", predicted,
       of([](P p) { return p.drafter ? Reading(p.drafter->memory.total()) : Reading(); }),
       "peak memory of the drafter's own device, if the scenario has one", {.in_csv_if = drafter_devices}},
      {"drafter_busy", "drafter_busy", "drafter busy", "", predicted,
       of([](P p) { return p.drafter ? Reading(p.drafter->busy) : Reading(); }),
       "share of the time in which the drafter's own device works, if the scenario has one",
       {.text = percent, .show_if = drafter_devices, .in_csv_if = drafter_devices, .detail = true}},
      {"prefill_time", "", "", "s", predicted, of([](P p) { return p.prefill_time; }),
       "time to compute one prompt", {}, kPinned},
      {"arithmetic_intensity", "", "", "FLOP/B", predicted, of([](P p) { return p.work.flops / p.work.bytes(); }),
       "FLOP per byte of a step in the middle of the output"},
      {"skipped", "skipped", "", "", {}, skipped, "the reason why the point cannot run", {}, kPinned},
      {"", "step_time_low_s", "", "s", predicted, end_of(step_interval, &Interval::low),
       "90 % interval of the step time: its lower end"},
      {"", "step_time_high_s", "", "s", predicted, end_of(step_interval, &Interval::high),
       "90 % interval of the step time: its upper end"},
      {"", "throughput_low_per_s", "", "tokens/s", predicted, end_of(throughput_interval, &Interval::low),
       "90 % interval of the throughput: its lower end"},
      {"", "throughput_high_per_s", "", "tokens/s", predicted, end_of(throughput_interval, &Interval::high),
       "90 % interval of the throughput: its upper end"},
      {"", "speedup_low", "", "", predicted, end_of(speedup_interval, &Interval::low),
       "90 % interval of the speedup: its lower end"},
      {"", "speedup_high", "", "", predicted, end_of(speedup_interval, &Interval::high),
       "90 % interval of the speedup: its upper end"},
      {"interval_covers", "interval_covers", "", "", predicted,
       of([](P p) { return p.interval ? Reading(p.interval->covers) : Reading(); }),
       "share of the step that consists of kernels whose error is known"},
      {"no_interval", "no_interval", "", "", {},
       of([](P p) { return p.no_interval.empty() ? Reading() : Reading(p.no_interval); }),
       "the reason why the point has no 90 % interval", {}, kNotPinned},
      {"warnings", "", "", "", {},
       of([](P p) {
         if (p.warnings.empty()) return Reading();
         return Reading(Reading::Tree(std::make_shared<const nlohmann::json>(nlohmann::json(p.warnings))));
       }),
       "warnings about the point, as sentences; absent without any", {}, kPinned},
      // clang-format on
  };
  return all;
}

const Figures<KernelTime>& kernel_figures() {
  using K = const KernelTime&;
  constexpr auto predicted = FigureKind::predicted;
  constexpr auto per = [](double of, double whole) { return whole > 0 && of > 0 ? Reading(of / whole) : Reading(); };
  static const Figures<KernelTime> all{
      // clang-format off
      {"phase", "", "phase", "", {}, [](K k) { return name_of(kPhaseNames, k.phase); }, "draft, verify or commit",
       {}, kIdentifies},
      {"op", "", "op", "", {}, [](K k) { return k.op; }, "operation of the decoder", {}, kIdentifies},
      {"shape", "", "shape", "", {}, [](K k) { return k.shape; },
       "for a GEMM: rows x in x out, and the format of the weights",
       {}, kIdentifies},
      {"count", "", "count", "", {}, [](K k) { return k.count; }, "number of such kernels in a step"},
      {"time", "", "time", "s", predicted, [](K k) { return k.time; }, "device time of all of them"},
      {"flops", "", "", "FLOP", predicted, [](K k) { return k.work.flops; }, "FLOP of all of them"},
      {"bytes", "", "bytes", "B", predicted, [](K k) { return k.work.bytes(); }, "bytes that all of them read and write"},
      {"", "", "FLOP/B", "FLOP/B", predicted,
       [per](K k) { return per(k.work.flops.value, k.work.bytes().value); }, "FLOP per byte", {.text = to_digits<3>}},
      {"", "", "TFLOP/s", "FLOP/s", predicted,
       [per](K k) { return per(k.work.flops.value, k.time.value); }, "FLOP over time",
       {.text = [](double v) { return significant(v / 1e12); }}},
      {"", "", "TB/s", "B/s", predicted, [per](K k) { return per(k.work.bytes().value, k.time.value); }, "bytes over time",
       {.text = [](double v) { return significant(v / 1e12); }}},
      // clang-format on
  };
  return all;
}

}  // namespace draftline
