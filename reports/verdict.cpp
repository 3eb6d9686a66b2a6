// SPDX-License-Identifier: Apache-2.0
#include "reports/verdict.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "reports/certainty.h"
#include "reports/setting_text.h"

namespace draftline {

namespace {

bool same_setup(Point a, Point b) {
  a.method = b.method = 0;
  return a == b;
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
std::optional<int> first_paying_length(const Advice& a) {
  for (const ScheduledLength& one : a.schedule)
    if (one.draft_length > 0 && one.prompt_tokens == a.schedule.front().prompt_tokens) return one.draft_length;
  return std::nullopt;
}
bool pays(const Advice& a) {
  return !a.pays_at.empty() || std::ranges::any_of(a.schedule, [&](const ScheduledLength& s) {
    return s.draft_length > 0 && s.prompt_tokens == a.schedule.front().prompt_tokens;
  });
}

bool sure(const Advice& a) { return a.verdict() == Payoff::pays; }

// The geometric mean of what requests gain at these batches; 1 where they would lose.
double gain_at(const Advice& a, const std::vector<int>& batches) {
  double gain = 1;
  for (const BatchAdvice& b : a.batches)
    if (std::ranges::find(batches, b.batch_size) != batches.end())
      gain *= std::pow(std::max(1.0, b.request_speedup), 1.0 / to_double(batches.size()));
  return gain;
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
    std::vector<int> batches = common_batches(all, setup);
    if (const auto loaded = all[setup.front()].batch_at_load) batches = {*loaded};
    std::ranges::stable_sort(setup, [&](std::size_t a, std::size_t b) {
      if (pays(all[a]) != pays(all[b])) return pays(all[a]);
      if (sure(all[a]) != sure(all[b])) return sure(all[a]);
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

std::optional<int> advised_length(const Advice& a) {
  return a.pays_at.empty() ? first_paying_length(a) : a.draft_length;
}
bool pays_at_some_length(const Advice& a) { return pays(a); }

std::string verdict_sentence(const Scenario& s, const Advice& a) {
  const MethodSpec& m = s.method(a.point).spec;
  const std::string method = m.label() + (m.draft_length() ? ", k = " + std::to_string(*m.draft_length()) : "");
  const Payoff verdict = a.verdict();
  const bool others = pays_with_other_lengths(m, a);
  if (verdict == Payoff::too_close)
    return "too close to say whether " + method + (m.draft_length() ? ", pays" : " pays");
  if (a.pays_at.empty() && others)
    return "use " + m.label() + ", k = " + std::to_string(*advised_length(a)) + ", at small batches; " +
           std::to_string(*m.draft_length()) + " drafts gain at no batch";
  if (a.pays_at.empty()) return "don't speculate: no method gains at any batch";
  const std::string text = "use " + method;
  if (a.pays_at_every_batch()) return text + ", at every batch that fits, up to " + std::to_string(a.largest_batch);
  const bool from_one = a.pays_at.size() == 1 && a.pays_at.front().from == 1;
  return text + ", " + batches_sentence(a) + "; " + (from_one ? "above that" : "elsewhere") +
         (others ? " other draft lengths pay" : " switch it off");
}

std::string load_gain_sentence(const Advice& a) {
  const auto b = std::ranges::find_if(a.batches, [&](const auto& one) { return a.batch_at_load == one.batch_size; });
  if (b == a.batches.end()) return {};
  const auto i = request_interval(*b);
  return "At the load of the scenario, " + std::to_string(b->batch_size) +
         (b->batch_size == 1 ? " sequence" : " sequences") + " with plain decoding, requests gain " +
         significant(b->request_speedup) + "x" +
         (i ? " (" + significant(i->low) + "x to " + significant(i->high) + "x)" : "") + ".";
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
         (!parallel.expert_parallel    ? ""
          : parallel.expert_tensor > 1 ? ", experts in " + std::to_string(parallel.expert_groups()) + " groups"
                                       : ", whole experts") +
         (parallel.expert_balancedness > 0 ? " of balancedness " + significant(parallel.expert_balancedness) : "") +
         ", " + s.transformers[p.transformer]->name + " in " + precision_at(s, p).name + ", " +
         version_of(*s.engines[p.engine]) + ", " + std::to_string(s.prompt_tokens[p.prompt]) + " + " +
         std::to_string(s.output_tokens[p.output]) + " tokens";
}

void write_verdict(JsonWriter& w, const PointInputs& inputs, const Scenario& s, const Advice& a) {
  inputs.write(w, a.point);
  w.member("verdict", verdict_sentence(s, a));
  w.member("certainty", name_of(a.verdict()));
  if (const std::string gain = gain_sentence(s, a); !gain.empty()) w.member("gains", gain);
  if (const BatchAdvice* b = undecided(a)) {
    w.member("decides", "at batch " + std::to_string(b->batch_size) + " " + deciding_figure(*b));
    w.member("settles", settling_command(s, a, *b, false));
  }
  w.member("pays_to_batch", a.pays_to_batch());
  w.figure("gain", a.gain, "", FigureKind::predicted);
  write_settings(w, s, a);
}

}  // namespace draftline
