// SPDX-License-Identifier: Apache-2.0
#include "reports/verdict.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reports/engine_settings.h"

namespace draftline {

namespace {

bool same_setup(Point a, Point b) {
  a.method = b.method = 0;
  return a == b;
}

// The schedules of an advice, one for each prompt length.
std::vector<std::vector<ScheduledLength>> schedules(const Advice& a) {
  std::vector<std::vector<ScheduledLength>> all;
  for (const ScheduledLength& s : a.schedule) {
    if (all.empty() || all.back().front().prompt_tokens != s.prompt_tokens) all.emplace_back();
    all.back().push_back(s);
  }
  return all;
}

bool same_steps(const std::vector<ScheduledLength>& a, const std::vector<ScheduledLength>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const ScheduledLength& x, const ScheduledLength& y) {
    return x.from_batch == y.from_batch && x.draft_length == y.draft_length;
  });
}

// "6 for batches up to 12, 5 up to 40, none above"
std::string by_batch(const std::vector<ScheduledLength>& schedule) {
  const auto drafts = [](int k) { return k == 0 ? std::string("none") : std::to_string(k); };
  if (schedule.size() == 1) return drafts(schedule.front().draft_length) + " at every batch";
  std::string text;
  for (std::size_t i = 0; i + 1 < schedule.size(); ++i)
    text += drafts(schedule[i].draft_length) + (i == 0 ? " for batches up to " : " up to ") +
            std::to_string(schedule[i + 1].from_batch - 1) + ", ";
  return text + drafts(schedule.back().draft_length) + " above";
}

std::string gains(const BatchAdvice& b, double by = 1) {
  return significant(b.request_speedup / by) + "x at batch " + std::to_string(b.batch_size);
}

// Whether another number of drafts pays at a batch at which the method's own does not. Only the first prompt length
// counts, as pays_at describes that one.
bool pays_with_other_lengths(const MethodSpec& m, const Advice& a) {
  return std::ranges::any_of(a.schedule, [&](const ScheduledLength& s) {
    if (s.draft_length == 0 || s.draft_length == m.draft_length()) return false;
    if (s.prompt_tokens != a.schedule.front().prompt_tokens) return false;
    return std::ranges::none_of(a.pays_at, [&](const auto& p) { return p.from <= s.from_batch && s.to_batch <= p.to; });
  });
}
bool pays(const Advice& a) {
  return !a.pays_at.empty() || std::ranges::any_of(a.schedule, [&](const ScheduledLength& s) {
    return s.draft_length > 0 && s.prompt_tokens == a.schedule.front().prompt_tokens;
  });
}

// The geometric mean of what requests gain at these batches; 1 where they would lose.
double gain_at(const Advice& a, const std::vector<int>& batches) {
  double gain = 1;
  for (const BatchAdvice& b : a.batches)
    if (std::ranges::find(batches, b.batch_size) != batches.end())
      gain *= std::pow(std::max(1.0, b.request_speedup), 1.0 / to_double(batches.size()));
  return gain;
}

// The batch up to which it pays, if the engine runs fewer sequences at once by default.
std::optional<int> more_running(const Advice& a) {
  return a.pays_to_batch() > a.batch_limit ? std::optional(a.pays_to_batch()) : std::nullopt;
}

// The devices that the drafter adds, and the gain over plain decoding on as many devices, or on ones of the same price.
std::string drafters_sentence(const Scenario& s, const Point& p, const BatchAdvice& first, const BatchAdvice& last) {
  const auto& apart = s.method(p).drafter_device;
  if (!apart) return {};
  const std::string &own = apart->device->name, &target = s.devices[p.device]->name;
  const int targets = s.parallel[p.parallel].devices;
  double more = 1.0 / targets;
  bool priced = false;
  if (s.serving) {
    const auto& prices = s.serving->prices.per_hour;
    priced = prices.contains(own) && prices.contains(target) && prices.at(target) > 0;
    if (priced) more *= prices.at(own) / prices.at(target);
  }
  std::string text = " The drafter needs 1 x " + own + " more, " + significant(1 + more) + " times the " +
                     (priced ? "price" : "devices") + ": divided by this, the gain is " + gains(first, 1 + more);
  if (&first != &last) text += " and " + gains(last, 1 + more);
  return text + ".";
}

}  // namespace

std::vector<int> common_batches(const std::vector<Advice>& all, const std::vector<std::size_t>& some) {
  std::vector<int> common;
  for (const BatchAdvice& b : all[some.front()].batches) {
    const bool everywhere = std::ranges::all_of(some, [&](std::size_t i) {
      return std::ranges::any_of(all[i].batches, [&](const BatchAdvice& x) { return x.batch_size == b.batch_size; });
    });
    if (everywhere) common.push_back(b.batch_size);
  }
  return common;
}

std::vector<std::size_t> ranking(const std::vector<Advice>& all) {
  std::vector<std::vector<std::size_t>> setups;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].obstacle) continue;
    const auto known = std::ranges::find_if(
        setups, [&](const auto& setup) { return same_setup(all[setup.front()].point, all[i].point); });
    if (known == setups.end()) setups.push_back({i});
    else known->push_back(i);
  }
  for (auto& setup : setups) {
    const std::vector<int> batches = common_batches(all, setup);
    std::ranges::stable_sort(setup, [&](std::size_t a, std::size_t b) {
      if (pays(all[a]) != pays(all[b])) return pays(all[a]);
      return gain_at(all[a], batches) > gain_at(all[b], batches);
    });
  }
  std::stable_partition(setups.begin(), setups.end(), [&](const auto& setup) { return pays(all[setup.front()]); });
  std::vector<std::size_t> order;
  for (const auto& setup : setups) order.insert(order.end(), setup.begin(), setup.end());
  return order;
}

std::vector<std::size_t> best_of_setups(const std::vector<Advice>& all, const std::vector<std::size_t>& ranking) {
  std::vector<std::size_t> best;
  for (const std::size_t i : ranking)
    if (std::ranges::none_of(best, [&](std::size_t b) { return same_setup(all[b].point, all[i].point); }))
      best.push_back(i);
  return best;
}

std::string batches_sentence(const Advice& a) {
  std::string text;
  for (std::size_t i = 0; i < a.pays_at.size(); ++i) {
    const auto [from, to] = a.pays_at[i];
    if (i > 0) text += i + 1 < a.pays_at.size() ? ", " : " and ";
    if (from == to) text += "at batch " + std::to_string(from);
    else if (from == 1) text += "up to batch " + std::to_string(to);
    else text += "from batch " + std::to_string(from) + " to " + std::to_string(to);
  }
  return text;
}

std::string verdict_sentence(const Scenario& s, const Advice& a) {
  const MethodSpec& m = s.method(a.point).spec;
  const bool others = pays_with_other_lengths(m, a);
  std::string text = "use " + m.label();
  if (a.pays_at.empty() && others)
    return text + " with other draft lengths than " + std::to_string(*m.draft_length()) + ", which gains at no batch";
  if (a.pays_at.empty()) return "don't speculate: no method gains at any batch";
  if (const auto k = m.draft_length()) text += ", k = " + std::to_string(*k);
  if (a.pays_at_every_batch()) return text + ", at every batch that fits, up to " + std::to_string(a.largest_batch);
  const bool from_one = a.pays_at.size() == 1 && a.pays_at.front().from == 1;
  return text + ", " + batches_sentence(a) + "; " + (from_one ? "above that" : "elsewhere") +
         (others ? " other draft lengths pay" : " switch it off");
}

std::string gain_sentence(const Scenario& s, const Advice& a) {
  const BatchAdvice *first = nullptr, *last = nullptr;
  for (const BatchAdvice& b : a.batches)
    if (a.pays_at_batch(b.batch_size)) {
      if (first == nullptr || b.batch_size < first->batch_size) first = &b;
      if (last == nullptr || b.batch_size > last->batch_size) last = &b;
    }
  if (first == nullptr) return {};
  std::string text = "Request speedup: " + gains(*first), decoding = significant(first->speedup) + "x";
  if (last != first) text += " and " + gains(*last), decoding += " and " + significant(last->speedup) + "x";
  return text + "; decode speedup, without prompts: " + decoding + "." + drafters_sentence(s, a.point, *first, *last);
}

std::string assumption_sentence(const Scenario& s, const std::vector<Advice>& all,
                                const std::vector<std::size_t>& ranking, std::size_t advice) {
  const MethodChoice& mine = s.method(all[advice].point);
  const Advice* least = nullptr;
  int assumed = 1;
  for (const std::size_t i : ranking) {
    const MethodChoice& other = s.method(all[i].point);
    if (i == advice || !same_setup(all[i].point, all[advice].point) || other.spec.label() != mine.spec.label() ||
        other.spec.draft_length() != mine.spec.draft_length() || other.acceptance.text() == mine.acceptance.text())
      continue;
    least = &all[i];
    ++assumed;
  }
  if (least == nullptr) return {};
  return "The acceptance is an assumption: this is for " + mine.acceptance.text() + ", one of " +
         std::to_string(assumed) + "; with " + s.method(least->point).acceptance.text() +
         (pays(*least) ? " it pays " + (least->pays_at_every_batch() ? "at every batch" : batches_sentence(*least))
                       : " it pays at no batch") +
         ".";
}

std::string setup_text(const Scenario& s, const Point& p) {
  const Parallelism& parallel = s.parallel[p.parallel];
  return (parallel.devices > 1 ? std::to_string(parallel.devices) + " x " : "") + s.devices[p.device]->name +
         (parallel.attention_replicas > 1
              ? ", attention in " + std::to_string(parallel.attention_replicas) + " replicas"
              : "") +
         (parallel.expert_parallel ? ", whole experts" : "") +
         (parallel.expert_balancedness > 0 ? " of balancedness " + significant(parallel.expert_balancedness) : "") +
         ", " + s.transformers[p.transformer]->name + " in " + precision_at(s, p).name + ", " +
         version_of(*s.engines[p.engine]) + ", " + std::to_string(s.prompt_tokens[p.prompt]) + " + " +
         std::to_string(s.output_tokens[p.output]) + " tokens";
}

namespace {

// The engine's options for the method; draft lengths are the best at that engine's costs.
struct Setting {
  const EngineOptions* options;
  nlohmann::ordered_json value;  // an object, or flags as a string

  std::string text() const {
    const std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
    const std::string line = "  " + std::string(options->title) + ": " + std::string(options->before) + shown +
                             std::string(options->after) + "\n";
    if (!value.is_object() || !value.contains("num_speculative_tokens_per_batch_size")) return line;
    return line + "  Lengths by batch size require " + std::string(options->lengths_by_batch) +
           "; omit them in older versions.\n";
  }
};

// An engine that takes a schedule does so unless attention is data parallel; otherwise one length holds for all
// batches: the method's own, if it pays.
bool takes_schedules(const EngineOptions* options) { return options && !options->lengths_by_batch.empty(); }
bool takes_schedule(const Scenario& s, const Point& p) {
  return takes_schedules(options_of(*s.engines[p.engine])) && s.parallel[p.parallel].attention_replicas == 1;
}
std::optional<Setting> setting_of(const Scenario& s, const Advice& a, const std::vector<ScheduledLength>& schedule) {
  const MethodSpec& own = s.method(a.point).spec;
  const auto with_length =
      a.draft_length ? own.with_draft_length(*a.draft_length, *s.transformers[a.point.transformer]) : std::nullopt;
  const EngineOptions* options = options_of(*s.engines[a.point.engine]);
  const bool by_batch = takes_schedule(s, a.point);
  if (!options || !pays(a) || (!by_batch && a.pays_at.empty())) return std::nullopt;
  const std::vector<ScheduledLength> one_length;
  const auto value =
      options->settings({.method = with_length ? *with_length : own,
                         .schedule = by_batch ? schedule : one_length,
                         .ranks = s.parallel[a.point.parallel].devices,
                         .running = more_running(a),
                         .most_sequences = a.pays_at_every_batch() ? std::nullopt : std::optional(a.pays_to_batch())});
  return value ? std::optional(Setting{options, *value}) : std::nullopt;
}

// The limits that an engine with a schedule needs to run as many sequences as speculation pays for; none if its own are
// high enough.
struct RunningLimits {
  int sequences = 0, verified_rows = 0;
};
std::optional<RunningLimits> running_limits(const Scenario& s, const Advice& a) {
  RunningLimits most;
  for (const ScheduledLength& one : a.schedule) {
    if (one.draft_length == 0) continue;
    most.sequences = std::max(most.sequences, one.to_batch);
    most.verified_rows = std::max(most.verified_rows, one.to_batch * (one.draft_length + 1));
  }
  if (!takes_schedule(s, a.point) || most.sequences <= a.batch_limit) return std::nullopt;
  return most;
}

}  // namespace

std::string schedule_text(const Scenario& s, const Advice& a) {
  const auto all = schedules(a);
  const Engine& engine = *s.engines[a.point.engine];
  std::string text;
  std::optional<Setting> last;
  const bool same = std::ranges::all_of(all, [&](const auto& one) { return same_steps(one, all.front()); });
  for (const auto& one : all) {
    const std::string prompt = same ? "" : ", prompts of " + std::to_string(one.front().prompt_tokens);
    text += "Best k (within " + percent(DraftSchedule::kNear) + prompt + "): " + by_batch(one) + ".\n";
    last = setting_of(s, a, one);
    if (last && takes_schedule(s, a.point)) text += last->text();
    if (same) break;
  }
  if (a.schedule.size() > 1 && !s.method(a.point).acceptance.table())
    text +=
        "  These lengths assume that acceptance per position does not depend on k; give a \"table\" if it does "
        "(docs/recipes/your_acceptance.md).\n";
  if (all.empty()) last = setting_of(s, a, {});
  if (last && (all.empty() || !takes_schedule(s, a.point))) {
    if (!all.empty() && takes_schedules(last->options))
      text += "  " + std::string(last->options->title) + " does not support a schedule with data-parallel attention.\n";
    text += last->text();
  }
  if (const auto limits = running_limits(s, a); last && limits)
    text += "  For this number of sequences " + std::string(last->options->title) + " needs --max-num-seqs " +
            std::to_string(limits->sequences) + " and --max-num-batched-tokens above " +
            std::to_string(limits->verified_rows) + "; tokens beyond this are available to prompts.\n";
  if (last && has_drafter_weights(s.method(a.point).spec))
    text += "  Add the drafter's weights: " + std::string(last->options->weights) + ".\n";
  if (!a.pays_at.empty() && !last && options_of(engine))
    text += "  No setting of " + engine.name + " is known for " + s.method(a.point).spec.label() + ".\n";
  return text;
}

void write_verdict(JsonWriter& w, const PointInputs& inputs, const Scenario& s, const Advice& a) {
  inputs.write(w, a.point);
  w.member("verdict", verdict_sentence(s, a));
  if (const std::string gain = gain_sentence(s, a); !gain.empty()) w.member("gains", gain);
  w.member("pays_to_batch", a.pays_to_batch());
  w.figure("gain", a.gain, "", FigureKind::predicted);
  auto all = schedules(a);
  if (all.empty()) all.emplace_back();  // of no chain: the method's own setting
  w.objects("settings", all, [&](const std::vector<ScheduledLength>& one) {
    w.member("prompt_tokens", one.empty() ? s.prompt_tokens[a.point.prompt] : one.front().prompt_tokens);
    if (const auto own = setting_of(s, a, one)) w.member(own->options->json_key, nlohmann::json(own->value));
  });
  if (const auto limits = running_limits(s, a))
    w.object("vllm_limits", [&] {
      w.member("max_num_seqs", limits->sequences);
      w.member("max_num_batched_tokens_above", limits->verified_rows);
    });
}

}  // namespace draftline
