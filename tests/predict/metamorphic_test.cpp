// SPDX-License-Identifier: Apache-2.0
// Laws between the predictions of two scenarios that differ in one way, over scenarios drawn at random: what is better
// is never slower, what is more work is never faster, and what says the same has the same answer.
#include <array>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "core/rng.h"
#include "methods/table.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {
namespace {

using nlohmann::json;

constexpr std::size_t kScenarios = 100;
// Sums whose terms come in another order differ in their last bits.
constexpr double kRounding = 1e-9;

// An object with which a scenario names a method: one of its examples, or its name alone, with some acceptance.
json method_object(Rng& rng, const methods::Entry& entry) {
  const std::size_t n = rng.below(entry.examples.size() + 1);
  const std::string_view example = n < entry.examples.size() ? entry.examples[n] : "";
  json method = json::parse("{" + std::string(example) + "}");
  method["name"] = entry.name;
  if (entry.draft_network) method["draft"] = "llama-3.2-1b";
  const double u = rng.uniform();
  if (entry.name == "autoregressive") return method;
  method["acceptance"] = rng.below(2) == 0 ? json{{"rate", 0.3 + 0.5 * u}} : json{{"mean_length", 1.2 + 0.6 * u}};
  return method;
}

// A scenario of one point, which may not fit. `i`: the method's place in the table, beyond whose end it begins anew.
json drawn(Rng& rng, std::size_t i) {
  const auto one_of = [&](const json& values) { return values[rng.below(values.size())]; };
  json method;
  std::string mistakes;
  for (int tried = 0; tried < 20 && mistakes != "none"; ++tried) {  // not all have defaults, and trees have no rate
    method = method_object(rng, methods::all()[i % methods::all().size()]);
    mistakes = ScenarioText(with_method(method.dump())).mistakes();
  }
  INFO(method.dump());
  REQUIRE(mistakes == "none");
  return {{"device", one_of({"h100-sxm", "h200", "b200", "a100-sxm", "l40s", "rtx-4090"})},
          {"transformer", one_of({"llama-3.1-8b", "llama-3.2-1b", "llama-3-70b"})},  // one vocabulary
          {"engine", one_of({"vllm-0.10", "vllm-0.19", "sglang-0.4", "hf-eager", "tgi", "draftline"})},
          {"tensor_parallel", one_of({1, 1, 2, 4})},
          {"batch_size", one_of({1, 2, 5, 16, 48, 128, 300})},
          {"prompt_tokens", one_of({1, 60, 512, 3000, 20000})},
          {"output_tokens", one_of({2, 30, 256, 900})},
          {"method", method}};
}

std::optional<Prediction> predicted(const json& scenario, const std::string& device = "") {
  const ScenarioText text(scenario.dump());
  if (!device.empty()) std::ofstream(text.folder() / "changed.json") << device;
  const Outcome o = text.sweep()->at(0);
  const auto* p = std::get_if<Prediction>(&o.result);
  return p == nullptr ? std::nullopt : std::optional(*p);
}

// Predicts two scenarios that differ in what `change` does to the second, and compares them where both fit. `change`
// says false where the law says nothing of a scenario.
template <class Change, class Compare>
void hold(std::string_view law, const Change& change, const Compare& compare) {
  Rng rng(1, law);
  std::size_t compared = 0;
  for (std::size_t i = 0; i < kScenarios; ++i) {
    const json one = drawn(rng, i);
    json other = one;
    if (!change(rng, other)) continue;
    INFO(one.dump() << "\nagainst\n" << other.dump());
    const auto a = predicted(one), b = predicted(other);
    if (!a || !b) continue;
    ++compared;
    compare(*a, *b);
  }
  CHECK(compared >= kScenarios / 5);  // a law that is asked of nothing holds
}

bool no_less(auto more, auto less) { return more.value >= less.value * (1 - kRounding); }

bool equal(const Prediction& a, const Prediction& b) {
  return a.step_time == b.step_time && a.throughput == b.throughput && a.speedup == b.speedup &&
         a.throughput_with_prefill == b.throughput_with_prefill && a.prefill_time == b.prefill_time &&
         a.memory == b.memory && a.acceptance_length == b.acceptance_length;
}

// "864 GB/s" -> "1728 GB/s"
std::string times(double factor, const json& quantity) {
  const auto& text = quantity.get_ref<const std::string&>();
  std::size_t unit = 0;
  const double value = std::stod(text, &unit);
  return std::to_string(factor * value) + text.substr(unit);
}

// A shipped device with a better datasheet; its fits are shares of it.
json faster(const std::string& name, bool memory, bool arithmetic) {
  std::ifstream file(kData / "devices" / (name + ".json"));
  json device = json::parse(file);
  for (json& block : device["datasheet"]) {
    if (memory && block.contains("bandwidth")) block["bandwidth"] = times(1.7, block["bandwidth"]);
    if (arithmetic && block.contains("peak"))
      for (json& peak : block["peak"]) peak = times(1.7, peak);
  }
  return device;
}

}  // namespace

TEST_CASE("a larger batch takes no less time a step, and more memory") {
  hold(
      "batch",
      [](Rng& rng, json& s) {
        s["batch_size"] = s["batch_size"].get<int>() + 1 + static_cast<int>(rng.below(40));
        return true;
      },
      [](const Prediction& few, const Prediction& many) {
        CHECK(no_less(many.step_time, few.step_time));
        CHECK(many.memory.total() > few.memory.total());
      });
}

TEST_CASE("a longer prompt takes no less time to read nor a step behind it, and memory") {
  hold(
      "prompt",
      [](Rng& rng, json& s) {
        s["prompt_tokens"] = s["prompt_tokens"].get<int>() + 1 + static_cast<int>(rng.below(700));
        return true;
      },
      [](const Prediction& shorter, const Prediction& longer) {
        CHECK(no_less(longer.prefill_time, shorter.prefill_time));
        CHECK(no_less(longer.step_time, shorter.step_time));
        CHECK(no_less(longer.memory.total(), shorter.memory.total()));
      });
}

TEST_CASE("a longer output has no shorter mean step") {
  hold(
      "output",
      [](Rng& rng, json& s) {
        s["output_tokens"] = s["output_tokens"].get<int>() + 1 + static_cast<int>(rng.below(700));
        return true;
      },
      [](const Prediction& shorter, const Prediction& longer) { CHECK(no_less(longer.step_time, shorter.step_time)); });
}

TEST_CASE("a device with more bandwidth or more arithmetic is never slower") {
  const bool memory = GENERATE(true, false);
  Rng rng(2, memory ? "bandwidth" : "arithmetic");
  std::size_t compared = 0;
  for (std::size_t i = 0; i < kScenarios / 2; ++i) {
    const json scenario = drawn(rng, i);
    json better = scenario;
    better["device"] = "./changed.json";
    const auto slow = predicted(scenario),
               fast = predicted(better, faster(scenario["device"].get<std::string>(), memory, !memory).dump());
    if (!slow || !fast) continue;
    INFO(scenario.dump());
    ++compared;
    CHECK(no_less(slow->step_time, fast->step_time));
    CHECK(no_less(slow->prefill_time, fast->prefill_time));
  }
  CHECK(compared >= kScenarios / 5);
}

TEST_CASE("more acceptance is more throughput, at the same step") {
  hold(
      "acceptance",
      [](Rng& rng, json& s) {
        if (!s["method"].contains("acceptance")) return false;
        for (json& value : s["method"]["acceptance"]) value = value.get<double>() + 0.15 * (1 - rng.uniform());
        return true;
      },
      [](const Prediction& less, const Prediction& more) {
        CHECK(more.throughput > less.throughput);
        CHECK(more.speedup > less.speedup);
      });
}

TEST_CASE("a scenario's lists, in any order, give each point what it gets alone") {
  Rng rng(3, "lists");
  const auto of = [](const json& s, std::size_t i) {
    const Outcome o = ScenarioText(s.dump()).sweep()->at(i);
    const auto* p = std::get_if<Prediction>(&o.result);
    return p == nullptr ? std::nullopt : std::optional(*p);
  };
  std::size_t compared = 0;
  for (std::size_t i = 0; i < kScenarios / 6; ++i) {
    const json one = drawn(rng, 5 * i), other = drawn(rng, 7 * i + 1);
    json forward, backward;
    for (const auto& [key, value] : one.items()) {
      forward[key] = {value, other[key]};
      backward[key] = {other[key], value};
    }
    INFO(forward.dump());
    const std::size_t points = ScenarioText(forward.dump()).sweep()->scenario().points();
    REQUIRE(points == 256);
    const auto first = of(forward, 0), last = of(backward, points - 1), alone = predicted(one);
    REQUIRE(first.has_value() == alone.has_value());
    REQUIRE(last.has_value() == alone.has_value());
    if (!alone) continue;
    ++compared;
    CHECK(equal(*first, *alone));
    CHECK(equal(*last, *alone));
  }
  CHECK(compared > 3);
}

}  // namespace draftline
