// SPDX-License-Identifier: Apache-2.0
// What `advise` recommends, and how engines take it.
#include "reports/advise_report.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/text_file.h"
#include "reports/engine_settings.h"
#include "reports/verdict.h"
#include "sim/advice_sweep.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

namespace draftline {

namespace {

const std::string kEagle = R"({"name": "eagle3", "draft_length": 8, "acceptance": {"rate": 0.7}})",
                  kMany = R"([{"name": "medusa", "draft_length": 3, "acceptance": {"rate": 0.5}},
    {"name": "eagle3", "draft_length": [1, 3, 8], "acceptance": {"rate": 0.7}}, {"name": "hass", "draft_length": 3, "acceptance": {"rate": 0.6}}])";

struct Answered {
  Answered(const std::string& methods, const std::string& more = "", const std::string& engine = "vllm-0.19",
           const std::string& transformer = "llama-3.1-8b")
      : sweep(Document::from_text(R"({"device": "h100-sxm", "transformer": ")" + transformer + R"(", "engine": ")" +
                                      engine + R"(", "method": )" + methods + more + "}",
                                  "s.json"),
              std::string(DRAFTLINE_SOURCE_DIR) + "/data", false) {
    for (std::size_t i = 0; i < sweep.size(); ++i) advices.push_back(sweep.at(i, 0));
  }
  std::string text(Format format, bool every = false, std::size_t width = 0) const {
    std::ostringstream out;
    write_advice({out, format, {"advise", std::string(DRAFTLINE_SOURCE_DIR) + "/data"}, width}, sweep.scenario(),
                 advices, every ? Reasons::of_all : Reasons::of_best);
    return out.str();
  }
  AdviceSweep sweep;
  std::vector<Advice> advices;
};

long count(const std::string& text, const std::string& part) {
  long n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

}  // namespace

TEST_CASE("a page of advice shows what requests gain of every method, with a chart and all reasons") {
  const Answered many(kMany);
  const std::string page = many.text(Format::html);
  CHECK(count(page, "<figcaption>") == 1);  // the chart of one setup
  CHECK(contains(page, "plain decoding"));
  for (const Advice& a : many.advices)
    CHECK(contains(page, std::string(many.sweep.scenario().method(a.point).spec.label())));
  CHECK(count(page, "; needed to break even: ") == static_cast<long>(many.advices.size()));
  CHECK(contains(page, "Use eagle3"));
}

TEST_CASE("the verdict comes first, and what it says of batches is what requests gain there") {
  const Answered a(kEagle);
  const Advice& advice = a.advices.front();
  const std::string text = a.text(Format::table);
  CHECK(starts_with(text, "Use eagle3, k = 8, up to batch " + std::to_string(advice.pays_to_batch()) +
                              "; above that other draft lengths pay.\nRequest speedup: "));
  CHECK(contains(text, "; decode speedup, without prompts: "));
  for (const BatchAdvice& b : advice.batches) {
    INFO("batch " << b.batch_size);
    CHECK((b.request_speedup >= 1) == (b.batch_size <= advice.pays_to_batch()));
    if (b.speedup > 1) CHECK(b.request_speedup < b.speedup);
  }
  CHECK(!contains(text, "Speedup of requests by batch"));  // of one method there is nothing to rank
}

TEST_CASE("a method that never gains is told not to be used") {
  const Answered a(R"({"name": "eagle3", "draft_length": 8, "acceptance": {"rate": 0.01}})");
  const std::string text = a.text(Format::table);
  CHECK(starts_with(text, "Don't speculate: no method gains at any batch.\n"));
  CHECK(contains(text, "\nSetup: h100-sxm, "));
}

TEST_CASE("one rate says nothing of drafts beyond those it was measured with") {
  const Answered by_rates(R"({"name": "eagle3", "draft_length": 1, "acceptance": {"rates": [0.9, 0.9, 0.9]}})");
  const auto longest = [](const Answered& answered) {
    int most = 0;
    for (const ScheduledLength& s : answered.advices.front().schedule) most = std::max(most, s.draft_length);
    return most;
  };
  const Answered eagle(R"({"name": "eagle3", "draft_length": 1, "acceptance": {"rate": 0.9}})");
  CHECK(longest(eagle) == 1);
  CHECK(longest(by_rates) == 3);
}

TEST_CASE("where another draft length pays it is not told to switch off") {
  const Answered a(kEagle);
  const Advice& advice = a.advices.front();
  REQUIRE(!advice.pays_at_every_batch());
  const bool fewer = std::any_of(advice.schedule.begin(), advice.schedule.end(), [&](const ScheduledLength& s) {
    return s.draft_length > 0 && s.to_batch > advice.pays_to_batch();
  });
  REQUIRE(fewer);
  CHECK(contains(a.text(Format::table), "; above that other draft lengths pay.\n"));
}

TEST_CASE("a method without a schedule has its own setting, in text and in JSON") {
  const auto of = [](const std::string& method, const std::string& engine) {
    return Answered("{" + method + "}", "", engine);
  };
  const auto settings = [](const Answered& a) {
    return nlohmann::json::parse(a.text(Format::json)).at("verdicts")[0].at("settings")[0];
  };
  const Answered suffix = of(R"("name": "suffix_decoding", "acceptance": {"mean_length": 4})", "vllm");
  CHECK(contains(suffix.text(Format::table), R"(  vLLM: vllm serve MODEL --speculative-config '{"method":"suffix"}')"));
  CHECK(settings(suffix).at("vllm").at("method") == "suffix");
  const Answered tree =
      of(R"("name": "eagle3", "tree": {"top_k": 4, "passes": 4, "nodes": 15}, "acceptance": {"mean_length": 3})",
         "sglang");
  CHECK(contains(tree.text(Format::table), " --speculative-eagle-topk 4 "));
  CHECK(contains(settings(tree).at("sglang").get<std::string>(), " --speculative-eagle-topk 4 "));
  const Answered none = of(R"("name": "suffix_decoding", "acceptance": {"mean_length": 4})", "sglang");
  CHECK(contains(none.text(Format::table), "No setting of sglang is known for suffix_decoding.\n"));
  CHECK_FALSE(settings(none).contains("sglang"));
}

TEST_CASE("a chain of the method's own length has the settings that one of a given length has") {
  const auto text_of = [](const std::string& method, const std::string& engine) {
    return Answered(R"({"acceptance": {"mean_length": 1.9}, "name": )" + method + "}", "", engine).text(Format::table);
  };
  for (const std::string engine : {"vllm", "sglang", "tensorrt-llm", "llama.cpp"}) {
    INFO(engine);
    const std::string own = text_of(R"("mtp")", engine), given = text_of(R"("mtp", "draft_length": 1)", engine);
    const auto line = [](const std::string& text) {
      const auto at = text.find("{\"method\":\"mtp\"") != std::string::npos ? text.find("{\"method\":\"mtp\"")
                      : text.find("--spec") != std::string::npos            ? text.find("--spec")
                                                                            : text.find("{\"decoding_type\"");
      return at == std::string::npos ? "" : text.substr(at, text.find('\n', at) - at);
    };
    CHECK(!line(own).empty());
    CHECK(line(own) == line(given));
    CHECK(!contains(own, "No setting of"));
  }
  const auto best_of = [](const std::string& method) {
    return Answered(R"({"acceptance": {"mean_length": 1.9}, "name": )" + method + "}").advices.front().best;
  };
  CHECK(!best_of(R"("draft_model", "draft": "llama-3.2-1b")").empty());
  CHECK(best_of(R"("mcsd", "draft": "llama-3.2-1b", "widths": [1, 1, 1])").empty());  // a chain that widths give
  CHECK(best_of(R"("suffix_decoding")").empty());
  CHECK(contains(text_of(R"("gemma4_assistant")", "vllm"), R"("model":"DRAFTER")"));
  CHECK(!contains(text_of(R"("mtp")", "vllm"), "DRAFTER"));
}

TEST_CASE("methods are ranked setup by setup, each with its own settings", "[once]") {
  const Answered a(kMany, R"(, "precision": ["fp8", "bf16"], "batch_size": [1, 64])");
  const auto order = ranking(a.advices);
  REQUIRE(order.size() == 10);
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(a.advices[order[i]].point.precision == (i < 5 ? 0 : 1));
  const std::string text = a.text(Format::table);
  CHECK(count(text, "  vLLM: vllm serve MODEL ") == 2);
  CHECK(count(text, " --quantization fp8 ") == 1);
  CHECK(contains(text, "tok/s at 64"));
}

TEST_CASE("many methods make one table in order of their gain, and the reasons of the best alone") {
  const Answered a(kMany);
  REQUIRE(a.advices.size() == 5);
  const auto order = ranking(a.advices);
  for (std::size_t i = 0; i + 1 < order.size(); ++i) CHECK(a.advices[order[i]].gain >= a.advices[order[i + 1]].gain);
  const std::string text = a.text(Format::table);
  CHECK(count(text, "; needed to break even: ") == 1);
  CHECK(count(text, "Speedup of requests by batch:\n") == 1);
  CHECK(count(a.text(Format::table, true), "; needed to break even: ") == 5);
  const auto json = nlohmann::json::parse(a.text(Format::json));
  CHECK(json.at("ranking").size() == 5);
  REQUIRE(json.at("verdicts").size() == 1);  // one setup
  CHECK(json.at("verdicts")[0].at("gain").at("value") == json.at("results")[order.front()].at("gain").at("value"));
  std::istringstream lines(a.text(Format::table, true, 80));
  for (std::string line; std::getline(lines, line);) {
    INFO(line);
    if (starts_with(line, "--")) CHECK(line.size() <= 80);  // the rule of a table
  }
}

TEST_CASE("what would be needed hardly depends on the acceptance, so that a guess tells it") {
  const auto needed = [](const std::string& engine, const std::string& rate) {
    const Answered a(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": )" + rate + "}}", "", engine);
    std::vector<double> each;
    for (const BatchAdvice& b : a.advices.front().batches) each.push_back(b.break_even_length);
    return each;
  };
  for (const char* engine : {"vllm", "sglang"}) {  // SGLang's host spends time on each token
    const auto low = needed(engine, "0.1"), high = needed(engine, "0.9");
    REQUIRE(low.size() == high.size());
    for (std::size_t i = 0; i < low.size(); ++i) CHECK(high[i] == Approx(low[i]).epsilon(0.1));
  }
}

TEST_CASE("memory that a method without a drafter needs is not called a drafter's") {
  const Answered a(R"({"name": "prompt_lookup", "draft_length": 5, "acceptance": {"rate": 0.7}})", "", "draftline",
                   "qwen3-30b-a3b");
  REQUIRE(a.advices.front().pool_lost > 0.01);
  CHECK(contains(a.text(Format::table), "KV pool: speculation reduces it by " + percent(*a.advices.front().pool_lost)));
}

TEST_CASE("draft lengths that are best at an engine's costs are no settings of another engine") {
  for (const std::string engine : {"vllm", "sglang", "llama.cpp", "draftline"}) {
    INFO(engine);
    const bool known = engine == "vllm" || engine == "sglang";
    const Answered a(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}})", "", engine);
    const std::string text = a.text(Format::table);
    CHECK(contains(text, "Best k (within 3 %): "));
    CHECK(contains(text, "--speculative-") == known);
    CHECK(contains(text, "--spec-type") == (engine == "llama.cpp"));
    const auto settings = nlohmann::json::parse(a.text(Format::json)).at("verdicts")[0].at("settings");
    CHECK(contains(settings.dump(), "speculative") == known);
  }
}

TEST_CASE("each setup has a verdict of its own") {
  const Answered a(kEagle, R"(, "output_tokens": [100, 1000])");
  const std::string text = a.text(Format::table);
  CHECK(count(text, "On h100-sxm, llama-3.1-8b in bf16, vllm-0.19, 512 + ") == 2);
  CHECK(nlohmann::json::parse(a.text(Format::json)).at("verdicts").size() == 2);
}

std::unique_ptr<Sweep> sweep_of(const std::string& method) {
  auto sweep = std::make_unique<Sweep>(
      Document::from_text(
          R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "method": )" + method + "}",
          "s.json"),
      std::string(DRAFTLINE_SOURCE_DIR) + "/data");
  sweep->validate();
  return sweep;
}

// What a request gains by each draft length up to the longest, from plain decoding's 1 on.
std::vector<double> gains_at(Sweep& sweep, int batch, int longest = 8) {
  Setup setup = sweep.setup(point_at(sweep.scenario(), 0));
  setup.batch_size = batch;
  const MethodChoice& m = sweep.scenario().methods.front();
  std::vector<double> all{1};
  for (int k = 1; k <= longest; ++k) {
    const MethodChoice one{*m.spec.with_draft_length(k, *setup.transformer), m.acceptance, {}};
    all.push_back(std::get<Prediction>(predict(sweep.pricer(), setup, one)).speedup_with_prefill);
  }
  return all;
}

TEST_CASE("a schedule stays near the best draft length at every batch, with the fewest changes", "[once]") {
  const std::string rate = GENERATE("0.8", "0.45");
  const std::string method = R"({"name": "eagle3", "draft_length": 8, "acceptance": {"rate": )" + rate + "}}";
  const auto schedule = Answered(method).advices.front().schedule;
  REQUIRE(schedule.size() > 1);
  const auto sweep = sweep_of(method);
  std::vector<std::vector<double>> gains;
  for (int batch = 0; batch <= 64; ++batch) gains.push_back(gains_at(*sweep, std::max(1, batch)));
  const auto near = [&](int batch, int drafts) {
    const auto& here = gains[static_cast<std::size_t>(batch)];
    const double gain = here[static_cast<std::size_t>(drafts)], best = *std::max_element(here.begin(), here.end());
    return gain >= (1 - DraftSchedule::kNear) * best;
  };
  int next = 1;
  for (std::size_t i = 0; i < schedule.size(); ++i) {
    const ScheduledLength& s = schedule[i];
    CHECK(s.from_batch == next);
    next = s.to_batch + 1;
    for (int batch = s.from_batch; batch <= std::min(64, s.to_batch); ++batch) {
      INFO("rate " << rate << ", batch " << batch);
      CHECK(near(batch, s.draft_length));
    }
    if (next > 64) break;
    if (schedule[i + 1].draft_length == 0) continue;  // which begins where drafts begin to lose
    for (int k = 1; k <= 8; ++k) {                    // no other length would do for longer
      bool everywhere = true;
      for (int batch = s.from_batch; batch <= next; ++batch) everywhere = everywhere && near(batch, k);
      CHECK(!everywhere);
    }
  }
}

TEST_CASE("a change of the schedule lies where the last length stops, between batches that are looked at too") {
  const std::string method =
      R"({"name": "eagle3", "draft_length": 5, "acceptance": {"rates": [0.83, 0.723, 0.75, 0.8, 0.611]}})";
  const auto schedule = Answered(method).advices.front().schedule;
  const auto sweep = sweep_of(method);
  DraftSchedule lengths(sweep->pricer(), sweep->setup(point_at(sweep->scenario(), 0)),
                        sweep->scenario().methods.front());
  const auto gain = [&](int batch, int drafts) { return gains_at(*sweep, batch, 5)[static_cast<std::size_t>(drafts)]; };
  int changes = 0;
  for (std::size_t i = 1; i < schedule.size(); ++i) {
    const int at = schedule[i].from_batch, before = schedule[i - 1].draft_length;
    INFO("batch " << at);
    const double kept = 1 - DraftSchedule::kNear;
    CHECK(gain(at - 1, before) >= kept * lengths.best(512, at - 1)->speedup);
    if (schedule[i].draft_length == 0) CHECK(gain(at, before) < 1);
    else CHECK(gain(at, before) < kept * lengths.best(512, at)->speedup);
    changes += at > 65 ? 1 : 0;
  }
  CHECK(changes > 0);
}

TEST_CASE("where drafts gain and lose a few per cent in turn the schedule doesn't switch back and forth") {
  // One draft gains 0.02 % at 505, loses 0.3 % at 513, gains 3.6 % where a graph size begins, at 514, and so on.
  const Answered a(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}})",
                   R"(, "prompt_tokens": 128)");
  const auto& schedule = a.advices.front().schedule;
  CHECK(schedule.size() <= 4);
  int off = 0;
  for (const ScheduledLength& s : schedule) off += s.draft_length == 0 ? 1 : 0;
  CHECK(off <= 1);
}

TEST_CASE("a verdict names the acceptance that it assumes, where the scenario assumes several", "[once]") {
  const Answered two(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": [0.5, 0.8]}})");
  const std::string text = two.text(Format::table);
  const Advice& worse = two.advices.front();
  REQUIRE(!worse.pays_at_every_batch());
  CHECK(contains(text,
                 "\nThe acceptance is an assumption: this is for {\"rate\":0.8}, one of 2; with {\"rate\":0.5} "
                 "it pays up to batch " +
                     std::to_string(worse.pays_to_batch()) + ".\n"));
  CHECK(!contains(Answered(kEagle).text(Format::table), "assumed"));
  CHECK(!contains(Answered(kMany).text(Format::table), "assumed"));
}

TEST_CASE("a gain that its interval does not tell from a loss is too close to say, with what would settle it") {
  const Answered a(R"({"name": "eagle3", "draft_length": 1, "acceptance": {"rate": 0.10}})");
  const Advice& advice = a.advices.front();
  REQUIRE(advice.pays_to_batch() >= 4);
  REQUIRE(advice.batches.front().request_speedup < 1.03);
  CHECK(advice.verdict() == Payoff::too_close);
  CHECK(advice.schedule.front().draft_length == 1);
  const std::string text = a.text(Format::table);
  CHECK(starts_with(text, "Too close to say whether eagle3, k = 1, pays.\n"));
  CHECK(contains(text, "Too close to say at "));
  CHECK(contains(text, "; a step needs "));
  CHECK(contains(text,
                 "To settle it: draftline calibrate --served plain.json speculating.json --engine vllm "
                 "--device h100-sxm --transformer llama-3.1-8b --engine-out mine.json"));
  CHECK(contains(text, "--speculative-config"));
  CHECK(!contains(text, "No setting of vllm"));
  const auto verdict = nlohmann::json::parse(a.text(Format::json)).at("verdicts")[0];
  CHECK(verdict.at("certainty") == "too close to say");
  CHECK(contains(verdict.at("settles").get<std::string>(), "draftline calibrate --served"));
}

TEST_CASE("verdicts have three values, by the interval or, without one, by a margin") {
  const auto verdict = [](double speedup, std::optional<RatioInterval> interval) {
    BatchAdvice b;
    b.request_speedup = speedup;
    b.interval = interval;
    return verdict_on(b);
  };
  CHECK(verdict(1.3, RatioInterval{0.8, 1.2}) == Payoff::pays);
  CHECK(verdict(1.2, RatioInterval{0.8, 1.2}) == Payoff::too_close);
  CHECK(verdict(0.8, RatioInterval{0.8, 1.2}) == Payoff::does_not_pay);
  CHECK(verdict(1.3, {}) == Payoff::too_close);
  CHECK(verdict(1.35, {}) == Payoff::pays);
  CHECK(verdict(0.76, {}) == Payoff::too_close);
  CHECK(verdict(0.74, {}) == Payoff::does_not_pay);
  for (const std::string rate : {"0.01", "0.1", "0.7"}) {
    const Answered a(R"({"name": "eagle3", "draft_length": 8, "acceptance": {"rate": )" + rate + "}}");
    const auto json = nlohmann::json::parse(a.text(Format::json)).at("results")[0];
    for (const auto& b : json.at("batches")) {
      const auto& speedup = b.at("speedup_with_prefill");
      const double low = speedup.at("low"), high = speedup.at("high");
      INFO(b.dump());
      CHECK(b.at("verdict") == (low >= 1 ? "pays" : high < 1 ? "does not pay" : "too close to say"));
    }
  }
}

TEST_CASE("a comparison of setups shows at each row what was not measured there") {
  const Answered a(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}})",
                   R"(, "precision": ["bf16", "int4"], "batch_size": [1, 8])");
  const std::string text = a.text(Format::table), page = a.text(Format::html);
  const std::string warning = "(a) GEMMs in these formats were not measured on the device";
  CHECK(contains(text, "\nwarning: " + warning));
  CHECK(contains(text, "\nwarning: (b) no interval: unknown errors of GEMMs (these formats were not measured)\n"));
  CHECK(contains(page, warning));
  CHECK(count(text, "  a, b\n") == 1);  // the row of int4
  const auto results = nlohmann::json::parse(a.text(Format::json)).at("results");
  CHECK(!results[0].contains("no_interval"));
  CHECK(results[1].contains("no_interval"));
  CHECK(results[1].at("warnings").size() == 1);
}

TEST_CASE("the setting is one draft length, that of the verdict; lengths by batch are an option with its price") {
  const std::string method = R"([{"name": "autoregressive"}, {"name": "eagle3", "draft_length": [1, 3],
      "acceptance": {"per_position": [0.7, 0.5, 0.35, 0.25, 0.15]}}])",
                    batches = R"(, "batch_size": [1, 4, 64])";
  const std::string fixed =
                        R"(--speculative-config '{"method":"eagle3","num_speculative_tokens":3,"model":"DRAFTER"}')",
                    by_batch = "num_speculative_tokens_per_batch_size";
  const FreshFolder folder;
  nlohmann::json profile =
      nlohmann::json::parse(read_text_file(std::string(DRAFTLINE_SOURCE_DIR) + "/data/engines/vllm-0.19.json"));
  profile["version"] = "0.24";
  write_text_file(folder.path() / "newer.json", profile.dump());
  const Answered old(method, batches), newer(method, batches, (folder.path() / "newer.json").string());
  REQUIRE(old.advices.back().schedule.size() > 1);
  const std::string before = old.text(Format::table), after = newer.text(Format::table);
  for (const std::string& text : {before, after}) {
    CHECK(starts_with(text, "Use eagle3, k = 3, "));
    CHECK(contains(text, "  vLLM: vllm serve MODEL " + fixed + "\n"));
  }
  CHECK(!contains(before, by_batch));
  CHECK(contains(after, "  Option, lengths by batch: --speculative-config '{"));
  CHECK(after.find(fixed) < after.find(by_batch));
  CHECK(contains(after, "  Its price: "));
  CHECK(contains(after, "59.6 to 50.0 tokens/s"));
  const auto settings = [](const Answered& a) {
    return nlohmann::json::parse(a.text(Format::json)).at("verdicts")[0].at("settings")[0];
  };
  CHECK(!settings(old).contains("vllm_by_batch"));
  CHECK(settings(newer).at("vllm_by_batch").contains(by_batch));
  CHECK(settings(newer).at("vllm").at("num_speculative_tokens") == 3);
}

TEST_CASE("the load of the scenario decides, where it has one") {
  const std::string method = R"([{"name": "eagle3", "draft_length": [1, 8], "acceptance": {"rate": 0.7}}])";
  const auto under = [&](const std::string& arrivals) {
    return Answered(method, R"(, "workload": {"arrivals": {)" + arrivals + R"(}, "requests": 100})");
  };
  const Answered one = under(R"("process": "closed", "concurrency": 1)"),
                 many = under(R"("process": "closed", "concurrency": 300)"),
                 rate = under(R"("process": "poisson", "rate": "10 /s")");
  CHECK(one.advices.front().batch_at_load == 1);
  CHECK(many.advices.front().batch_at_load == 300);
  CHECK(starts_with(one.text(Format::table), "Use eagle3, k = 8, "));
  CHECK(!starts_with(many.text(Format::table), "Use eagle3, k = 8, "));
  CHECK(contains(many.text(Format::table), "At the load of the scenario, 300 sequences with plain decoding, requests"));
  // Little's law: ten requests a second and their latency under plain decoding.
  const Advice& a = rate.advices.front();
  REQUIRE(a.batch_at_load);
  Sweep sweep(Document::from_text(R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
                                      "method": {"name": "autoregressive"}, "batch_size": )" +
                                      std::to_string(*a.batch_at_load) + "}",
                                  "s.json"),
              std::string(DRAFTLINE_SOURCE_DIR) + "/data");
  const double latency = std::get<Prediction>(sweep.at(0).result).request.e2e.value;
  CHECK(10 * latency <= *a.batch_at_load);
  CHECK(10 * latency > *a.batch_at_load - 2);
}

TEST_CASE("the command that starts a server has the devices, the formats and the method") {
  const auto text = [](const std::string& engine, const std::string& more) {
    return Answered(R"({"name": "mtp", "draft_length": 1, "acceptance": {"rate": 0.9}})", more, engine, "qwen3-30b-a3b")
        .text(Format::table);
  };
  const std::string two =
      R"(, "tensor_parallel": 2, "expert_parallel": true, "precision": {"weights": "fp8", "kv_cache": "fp8"})";
  CHECK(contains(text("vllm", two),
                 "  vLLM: vllm serve MODEL --tensor-parallel-size 2 --enable-expert-parallel "
                 "--quantization fp8 --kv-cache-dtype fp8 --speculative-config '{\"method\":\"mtp\""));
  CHECK(contains(text("sglang", two),
                 "python -m sglang.launch_server --model-path MODEL --tp-size 2 --ep-size 2 "
                 "--quantization fp8 --kv-cache-dtype fp8_e4m3 --speculative-algorithm"));
  CHECK(contains(text("tensorrt-llm", two), "echo '{\"speculative_config\": {\"decoding_type\":\"MTP\""));
  CHECK(contains(text("tensorrt-llm", two),
                 "trtllm-serve MODEL --tp_size 2 --ep_size 2 --extra_llm_api_options options.yaml"));
  CHECK(
      contains(text("llama.cpp", ""), "llama-server -m MODEL.gguf -ngl 99 --spec-type draft-mtp --spec-draft-n-max 1"));
  CHECK(contains(text("vllm", ""), "  MODEL is a checkpoint of qwen3-30b-a3b in bf16.\n"));
}

TEST_CASE("vLLM is told to run as many sequences as speculation pays for, in text and in JSON") {
  const auto of = [](const std::string& engine) {
    return Answered(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.8}})", "", engine,
                    "llama-3.2-1b");
  };
  const Answered vllm = of("vllm");
  const Advice& advice = vllm.advices.front();
  const int sequences = advice.pays_to_batch(), rows = sequences * 4;
  REQUIRE(sequences > advice.batch_limit);
  CHECK(contains(vllm.text(Format::table), "--max-num-seqs " + std::to_string(sequences) +
                                               " and --max-num-batched-tokens above " + std::to_string(rows)));
  const auto verdict = [](const Answered& a) { return nlohmann::json::parse(a.text(Format::json)).at("verdicts")[0]; };
  CHECK(verdict(vllm).at("vllm_limits").at("max_num_seqs") == sequences);
  CHECK(verdict(vllm).at("vllm_limits").at("max_num_batched_tokens_above") == rows);
  const Answered large(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.8}})");
  REQUIRE(large.advices.front().largest_batch <= large.advices.front().batch_limit);
  CHECK(!verdict(large).contains("vllm_limits"));
  CHECK(!verdict(of("sglang")).contains("vllm_limits"));
}

TEST_CASE("engines take a schedule as ranges of batch sizes, or one draft length") {
  const Answered a(R"([{"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}},
                    {"name": "hydra", "draft_length": 3, "acceptance": {"rate": 0.7}}])");
  const MethodSpec &eagle = a.sweep.scenario().methods[0].spec, &hydra = a.sweep.scenario().methods[1].spec;
  const std::vector<ScheduledLength> schedule{{512, 1, 12, 5}, {512, 13, 64, 3}, {512, 65, 256, 0}};
  CHECK(vllm_settings(eagle, schedule)->dump() ==
        R"({"method":"eagle3","num_speculative_tokens":5,)"
        R"("num_speculative_tokens_per_batch_size":[[1,12,5],[13,64,3],[65,256,0]]})");
  CHECK(vllm_settings(eagle, {})->dump() == R"({"method":"eagle3","num_speculative_tokens":3})");
  CHECK(!vllm_settings(eagle, {{512, 1, 256, 0}}));  // nothing to draft
  const auto of = [](const char* method) { return MethodSpec(Document::from_text(method, "m.json").root()); };
  CHECK(vllm_settings(of(R"({"name": "p_eagle", "draft_length": 5})"), {})->dump() ==
        R"({"method":"eagle3","num_speculative_tokens":5,"parallel_drafting":true})");
  CHECK(vllm_settings(of(R"({"name": "dflash2", "draft_length": 7})"), {})->dump() ==
        R"({"method":"dflash","num_speculative_tokens":7})");
  CHECK(*sglang_flags(of(R"({"name": "dflash", "draft_length": 15})")) ==
        "--speculative-algorithm DFLASH --speculative-num-draft-tokens 16");
  CHECK(*sglang_flags(of(R"({"name": "dflash", "draft_length": 15, "window": 2048})")) ==
        "--speculative-algorithm DFLASH --speculative-dflash-draft-window-size 2048 --speculative-num-draft-tokens 16");
  CHECK(!vllm_settings(hydra, schedule));  // no such method there
  CHECK(sglang_flags(eagle) ==
        "--speculative-algorithm EAGLE3 --speculative-num-steps 3 --speculative-eagle-topk 1 "
        "--speculative-num-draft-tokens 4");
  CHECK(!sglang_flags(hydra));
  const MethodSpec tree = of(R"({"name": "eagle3", "tree": {"top_k": 4, "passes": 4, "nodes": 15}})");
  CHECK(*sglang_flags(tree) ==
        "--speculative-algorithm EAGLE3 --speculative-num-steps 5 --speculative-eagle-topk 4 "
        "--speculative-num-draft-tokens 16");
  CHECK(!vllm_settings(tree, {}));
  CHECK(*sglang_flags(of(R"({"name": "eagle3"})")) ==
        "--speculative-algorithm EAGLE3 --speculative-num-steps 8 --speculative-eagle-topk 10 "
        "--speculative-num-draft-tokens 60");
  CHECK(*sglang_flags(of(R"({"name": "eagle2", "tree": "default"})")) ==
        "--speculative-algorithm EAGLE --speculative-num-steps 6 --speculative-eagle-topk 10 "
        "--speculative-num-draft-tokens 60");
  CHECK(!sglang_flags(of(R"({"name": "eagle1"})")));  // a tree that SGLang does not grow
  CHECK(vllm_settings(of(R"({"name": "suffix_decoding"})"), {})->dump() == R"({"method":"suffix"})");
  CHECK(*sglang_flags(of(R"({"name": "dflash", "draft_length": 7, "block_size": 16})")) ==
        "--speculative-algorithm DFLASH --speculative-dflash-block-size 16 --speculative-num-draft-tokens 8");
  CHECK(*sglang_flags(of(R"({"name": "domino", "draft_length": 15, "block_size": 16})")) ==
        "--speculative-algorithm DFLASH --speculative-num-draft-tokens 16");
  CHECK(!sglang_flags(of(R"({"name": "domino", "draft_length": 16, "block_size": 16})")));
  CHECK(!vllm_settings(of(R"({"name": "domino", "draft_length": 15})"), {}));
  CHECK(*sglang_flags(of(R"({"name": "dspark", "draft_length": 7})")) ==
        "--speculative-algorithm DSPARK --speculative-dspark-block-size 7 --speculative-num-draft-tokens 8");
  CHECK(!sglang_flags(of(R"({"name": "dspark", "draft_length": 3, "block_size": 7})")));
  const auto settings = nlohmann::json::parse(a.text(Format::json)).at("verdicts")[0].at("settings")[0];
  CHECK(settings.at("prompt_tokens") == 512);
}

TEST_CASE("lengths that rest on an acceptance measured at one of them say so") {
  const std::string sentence = "acceptance per position does not depend on k";
  CHECK(contains(Answered(kEagle).text(Format::table), sentence));
  const Answered table(R"({"name": "eagle3", "draft_length": 3, "acceptance": {"table": [
      {"draft_length": 1, "rates": [0.8]}, {"draft_length": 3, "rates": [0.7, 0.6, 0.5]}]}})");
  CHECK(contains(table.text(Format::table), "Best k (within 3 %): "));
  CHECK(!contains(table.text(Format::table), sentence));
}

TEST_CASE("engines are told what was priced where their own defaults differ") {
  const auto of = [](const char* method) { return MethodSpec(Document::from_text(method, "m.json").root()); };
  CHECK(vllm_settings(of(R"({"name": "ngram", "draft_length": 5})"), {})->dump() ==
        R"({"method":"ngram","num_speculative_tokens":5,"prompt_lookup_max":3,"prompt_lookup_min":1})");
  CHECK(vllm_settings(of(R"({"name": "suffix", "max_tree_depth": 64, "suffix_decoding_max_spec_factor": 2})"), {})
            ->dump() ==
        R"({"method":"suffix","suffix_decoding_max_tree_depth":64,"suffix_decoding_max_spec_factor":2})");
  const MethodSpec whole = of(R"({"name": "draft_model", "draft": "small", "draft_length": 2,
                                  "rejection_sample_method": "block", "shard_draft": false})"),
                   divided = of(R"({"name": "draft_model", "draft": "small", "draft_length": 2, "shard_draft": true})");
  CHECK(vllm_settings(whole, {}, 4)->dump() == R"({"method":"draft_model","num_speculative_tokens":2,)"
                                               R"("rejection_sample_method":"block","draft_tensor_parallel_size":1})");
  CHECK(!vllm_settings(whole, {}, 1)->contains("draft_tensor_parallel_size"));
  CHECK(!vllm_settings(divided, {}, 4)->contains("draft_tensor_parallel_size"));
}

TEST_CASE("vLLM is given no schedule where attention is data parallel, as it would drop it") {
  const std::string told = Answered(R"({"name": "mtp", "draft_length": 3, "acceptance": {"rates": [0.8, 0.6, 0.4]}})",
                                    R"(, "tensor_parallel": 2, "data_parallel_attention": 2)", "vllm", "qwen3-30b-a3b")
                               .text(Format::table);
  CHECK(!contains(told, "num_speculative_tokens_per_batch_size"));
  CHECK(contains(told,
                 "  vLLM: vllm serve MODEL --data-parallel-size 2 --speculative-config "
                 "'{\"method\":\"mtp\",\"num_speculative_tokens\":3}'\n"));
}

TEST_CASE("TensorRT-LLM and llama.cpp take one draft length, the first of them to a largest batch") {
  const auto of = [](const char* method) { return MethodSpec(Document::from_text(method, "m.json").root()); };
  const MethodSpec eagle = of(R"({"name": "eagle3", "draft_length": 3})"), tree = of(R"({"name": "eagle3"})");
  CHECK(tensorrt_llm_settings(eagle, 128)->dump() ==
        R"({"decoding_type":"Eagle3","max_draft_len":3,"max_concurrency":128})");
  CHECK(tensorrt_llm_settings(of(R"({"name": "mtp", "draft_length": 1})"))->dump() ==
        R"({"decoding_type":"MTP","num_nextn_predict_layers":1})");
  CHECK(tensorrt_llm_settings(of(R"({"name": "ngram", "draft_length": 4, "max_ngram": 2})"))->dump() ==
        R"({"decoding_type":"NGram","max_draft_len":4,"max_matching_ngram_size":2})");
  CHECK(llama_cpp_flags(eagle) == "--spec-type draft-eagle3 --spec-draft-n-max 3");
  CHECK((!tensorrt_llm_settings(tree) && !llama_cpp_flags(tree)));
  CHECK(!llama_cpp_flags(of(R"({"name": "medusa", "draft_length": 3})")));
  const auto told = [](const std::string& engine) { return Answered(kEagle, "", engine).text(Format::table); };
  CHECK(contains(told("tensorrt-llm"), "\"speculative_config\": {\"decoding_type\":\"Eagle3\""));
  CHECK(contains(told("llama.cpp"), " --spec-type draft-eagle3 --spec-draft-n-max"));
  CHECK(contains(told("llama.cpp"), " --spec-draft-model DRAFTER\n"));
  for (const MethodSpec& with : {eagle, of(R"({"name": "domino"})")}) CHECK(has_drafter_weights(with));
  for (const char* without : {R"({"name": "ngram"})", R"({"name": "suffix"})", R"({"name": "mtp"})"})
    CHECK(!has_drafter_weights(of(without)));
}

TEST_CASE("a drafter's own device is counted beside what it gains, and no engine is told to have one") {
  const std::string method = R"({"name": "pearl", "draft": "llama-3.2-1b", "draft_length": 2,
                                 "acceptance": {"rate": 0.8},
                                 "drafter_device": {"device": "h200", "latency": "50 us"}})";
  const Answered a(method, R"(, "batch_size": [1, 2])");
  const std::string text = a.text(Format::table, false, 400);
  INFO(text);
  REQUIRE(a.advices.front().pays_to_batch() > 0);
  const double gain = a.advices.front().batches.front().request_speedup;
  CHECK(contains(text, " The drafter needs 1 x h200 more, 2.00 times the devices: divided by this, the gain is " +
                           significant(gain / 2) + "x at batch 1"));
  const Answered four(method, R"(, "tensor_parallel": 4, "prices": {"h100-sxm": 2.5, "h200": 1},
      "workload": {"arrivals": {"process": "closed", "concurrency": 1}, "requests": 1})");
  CHECK(contains(four.text(Format::json), "1.10 times the price"));
  const Document with_device = Document::from_text(
      R"({"name": "draft_model", "draft": "small", "draft_length": 2, "drafter_device": {"device": "h200", "latency": "50 us"}})",
      "s.json");
  CHECK(!vllm_settings(MethodSpec(with_device.root()), {}));
  CHECK(!sglang_flags(MethodSpec(with_device.root())));
}

}  // namespace draftline
