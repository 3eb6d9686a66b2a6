// SPDX-License-Identifier: Apache-2.0
// The values of shipped engine profiles that were fitted to published rows: fitted again, and judged on other networks,
// which had no part in it. The figures stand in docs/explanation/accuracy.md.
#include <cmath>
#include <cstdio>
#include <deque>
#include <nlohmann/json.hpp>

#include "core/text_file.h"
#include "model/calibration/error_summary.h"
#include "predict/engine_terms.h"
#include "predict/served_fit.h"
#include "predict/served_points.h"
#include "tests/inputs/scenario_text.h"
#include "tests/predict/published_steps.h"

namespace draftline {

namespace {

// Something that was measured, as a profile predicts it.
struct Observation {
  double measured;
  std::function<double(const Engine&)> predicted;
};

struct Fitted {
  std::vector<EngineTerm> terms;
  Engine engine;
  PriorFit fit;
};

// The terms of a profile from observations. The priors are those of a guess: what was fitted must not narrow itself.
Fitted fitted(const Engine& shipped, const Device& device, std::vector<std::string_view> keys,
              const std::vector<Observation>& all) {
  Engine guessed = shipped;
  for (const std::string_view key : keys) guessed.guesses.emplace_back(key);
  Fitted f;
  for (const std::string_view key : keys) f.terms.push_back(engine_term(key, guessed, device));
  std::vector<double> measured;
  for (const Observation& o : all) measured.push_back(std::log(o.measured));
  const LogTimes predicted = [&](std::span<const double> x) {
    const Engine e = with_terms(shipped, f.terms, x);
    std::vector<double> logs;
    for (const Observation& o : all) logs.push_back(std::log(o.predicted(e)));
    return logs;
  };
  f.fit = fit_with_priors(predicted, measured, f.terms.size(), {.deviation = 0.05});
  f.engine = with_terms(shipped, f.terms, f.fit.at);
  return f;
}

// Prints each term, and checks that the shipped value lies within the fit's 90 % interval.
void check_shipped(const Fitted& f, const Engine& shipped) {
  for (std::size_t i = 0; i < f.terms.size(); ++i) {
    const EngineTerm& t = f.terms[i];
    const double wide = f.fit.spread() * f.fit.deviation(i), low = t.at(f.fit.at[i] - wide),
                 high = t.at(f.fit.at[i] + wide), value = t.field->fitted_value(shipped);
    std::printf("  %-18s %9.3g us (%.3g to %.3g), shipped %.3g, learned %.0f %%\n", std::string(t.field->key).c_str(),
                1e6 * t.at(f.fit.at[i]), 1e6 * low, 1e6 * high, 1e6 * value, 100 * f.fit.learned(i));
    CHECK(value >= low);
    CHECK(value <= high);
  }
  std::printf("  scatter %.1f %%\n", 100 * f.fit.noise);
}

void print_errors(const char* what, const std::vector<double>& errors, const char* unit = "%") {
  const ErrorSummary s = summarize(errors);
  std::printf("  %-44s %3zu: median %5.1f %s, P90 %5.1f, largest %5.1f\n", what, errors.size(), 100 * *s.median, unit,
              100 * *s.p90, 100 * *s.largest);
}

// ---- shares of a step (SpecDecode-Bench, Figure 4)

struct Shares {
  double draft, verify, rest;  // rest: sampling and overhead
};

// One bar of the figure: a network, a drafter, a batch.
class Bar {
 public:
  Bar(const std::string& transformer, int ranks, const std::string& method, int batch, const nlohmann::json& fractions,
      const std::string& engine)
      : measured{fractions.at("draft"), fractions.at("verify"),
                 fractions.at("sample").get<double>() + fractions.at("overhead").get<double>()},
        batch(batch),
        transformer(transformer),
        method(method) {
    nlohmann::json scenario{{"device", "h100-sxm"},      {"tensor_parallel", ranks},    {"transformer", transformer},
                            {"engine", engine},          {"batch_size", batch},         {"prompt_tokens", 1000},
                            {"output_tokens", kOutputs}, {"method", {{"name", method}}}};
    if (method != "autoregressive") {
      scenario["method"]["draft_length"] = 3;
      scenario["method"]["acceptance"] = {{"rate", 0.7}};  // enters through the host's time of each token alone
    }
    sweep_ = std::make_unique<Sweep>(Document::from_text(scenario.dump(), "bar.json"), kData);
    sweep_->validate();
    length_ = method == "autoregressive" ? 1 : std::get<Prediction>(sweep_->at(0).result).acceptance_length;
  }

  // Of a step; `prompts`: with the prompts that a full batch has to read between its steps.
  Shares predicted(const Engine& e, bool prompts = false) const {
    Setup s = sweep_->setup({});
    s.engine = std::make_shared<const Engine>(e);
    const MethodChoice& m = sweep_->scenario().methods.front();
    const StepBreakdown b = sweep_->pricer().step_price(s, m).breakdown(1000 + kOutputs / 2.0);
    const Seconds draft = b.of(Phase::draft) + b.drafting, tokens = s.batch_size * length_ * e.token;
    Seconds read{};
    if (prompts)
      read = s.batch_size * length_ / kOutputsOfRequests * sweep_->pricer().of(s, m)->prompt_price(1000, 1000)(0);
    const Seconds whole = b.time + tokens + read, rest = b.host() - b.drafting + b.of(Phase::commit) + tokens;
    return {draft / whole, (whole - draft - rest) / whole, rest / whole};
  }

  Shares measured;
  int batch;
  std::string transformer, method;

 private:
  static constexpr int kOutputs = 100;
  // Of a request, so that sampling takes the same time at every batch, of plain steps and of EAGLE's alike.
  static constexpr int kOutputsOfRequests = 490;
  std::unique_ptr<Sweep> sweep_;
  double length_;
};

std::vector<Bar> bars(const std::string& engine) {
  const std::map<std::string, std::pair<std::string, int>> networks{
      {"Llama-3.1-8B", {"llama-3.1-8b", 1}}, {"Qwen3-8B", {"qwen3-8b", 1}}, {"Llama-3-70B", {"llama-3-70b", 4}}};
  const std::map<std::string, std::string> methods{
      {"baseline", "autoregressive"}, {"ngram", "prompt_lookup"}, {"eagle", "eagle1"}, {"eagle3", "eagle3"}};
  std::vector<Bar> all;
  for (const auto& r : published_rows()) {
    if (!r.at("id").get<std::string>().starts_with("sdb_f4_") || !methods.contains(r.at("method"))) continue;
    const auto& [transformer, ranks] = networks.at(r.at("target_model"));
    for (std::size_t i = 0; i < 3; ++i)  // a batch of 512 has no room at these lengths
      all.emplace_back(transformer, ranks, methods.at(r.at("method")), r.at("batch_sizes")[i], r.at("fractions")[i],
                       engine);
  }
  return all;
}

}  // namespace

TEST_CASE("vllm-0.10: host times from the shares of Llama-3.1-8B's steps, judged on Qwen3-8B and Llama-3-70B") {
  if (const auto why = no_published_steps(); !why.empty()) SKIP_TEST(why);
  Catalogue catalogue(kData);
  const auto shipped = catalogue.engine("vllm-0.10");
  const auto device = catalogue.device("h100-sxm");
  const std::vector<Bar> all = bars("vllm-0.10");
  std::vector<Observation> seen;
  for (const Bar& b : all) {
    if (b.transformer != "llama-3.1-8b") continue;
    const bool drafts = b.measured.draft > 0.02;
    if (b.batch == 1) {
      seen.push_back({b.measured.rest / b.measured.verify, [&b](const Engine& e) {
                        const Shares s = b.predicted(e);
                        return s.rest / s.verify;
                      }});
      if (drafts)
        seen.push_back({b.measured.draft / b.measured.verify, [&b](const Engine& e) {
                          const Shares s = b.predicted(e);
                          return s.draft / s.verify;
                        }});
    } else if (drafts) {  // a full batch reads prompts between its steps: verification has them in it
      seen.push_back({b.measured.rest / b.measured.draft, [&b](const Engine& e) {
                        const Shares s = b.predicted(e);
                        return s.rest / s.draft;
                      }});
    }
  }
  const Fitted f = fitted(*shipped, *device, {"step", "step_speculating", "draft_pass", "token"}, seen);
  std::printf("vllm-0.10, %zu ratios of Llama-3.1-8B's bars\n", seen.size());
  check_shipped(f, *shipped);
  for (const bool held_out : {false, true})
    for (const int most : {1, 128}) {
      std::vector<double> draft, rest, with_prompts;
      for (const Bar& b : all) {
        if ((b.transformer != "llama-3.1-8b") != held_out || (b.batch == 1) != (most == 1)) continue;
        const Shares s = b.predicted(*shipped);
        rest.push_back(s.rest - b.measured.rest);
        if (b.measured.draft < 0.02) continue;
        draft.push_back(s.draft - b.measured.draft);
        with_prompts.push_back(b.predicted(*shipped, true).draft - b.measured.draft);
      }
      const std::string of =
          (held_out ? "held out, batch " : "fitted, batch ") + std::string(most == 1 ? "1" : "64, 128");
      print_errors((of + ": drafting").c_str(), draft, "points");
      if (most > 1) print_errors((of + ": the same, prompts between").c_str(), with_prompts, "points");
      print_errors((of + ": overhead, sampling").c_str(), rest, "points");
      if (most == 1) CHECK(*summarize(draft).largest < 0.03);
    }
}

TEST_CASE("sglang: chains and trees of Llama-3.1-8B, judged on a network of 70B and on a mixture of experts") {
  if (const auto why = no_published_steps(); !why.empty()) SKIP_TEST(why);
  constexpr double kContext = 400;  // prompt and half of the output: not stated
  struct Run {
    ServedRun run;
    bool tree;
    double plain = 0;  // tokens/s without speculation; 0: a plain run
    std::string method;
  };
  const auto run_of = [&](const std::string& transformer, int ranks, double batch, int steps, int top_k, int nodes,
                          double length, double tokens_per_s, double plain) {
    Run r{.run = {}, .tree = top_k > 1, .plain = plain, .method = ""};
    r.run.place = transformer;
    r.run.batch_size = batch, r.run.context = kContext;
    r.run.transformer = transformer, r.run.tensor_parallel = ranks;
    r.run.tokens_per_step = length;
    r.run.time = Seconds{batch * length / tokens_per_s};
    if (top_k == 1) r.method = R"({"name": "eagle3", "draft_length": )" + std::to_string(steps) + "}";
    if (top_k > 1)
      r.method = R"({"name": "eagle3", "tree": {"top_k": )" + std::to_string(top_k) + R"(, "passes": )" +
                 std::to_string(steps - 1) + R"(, "nodes": )" + std::to_string(nodes - 1) + "}}";
    return r;
  };
  std::vector<Run> seen, unseen;
  for (const auto& r : published_rows()) {
    if (!r.at("id").get<std::string>().starts_with("specbundle_llama-31-8b_")) continue;
    const double plain = r.at("baseline_tps")[0];
    seen.push_back(run_of("llama-3.1-8b", 1, 1, 0, 0, 0, 1, plain, 0));
    for (const auto& c : r.at("configs"))
      seen.push_back(run_of("llama-3.1-8b", 1, 1, c.at("steps"), c.at("topk"), c.at("ndraft"), c.at("accept_len"),
                            c.at("tps"), plain));
  }
  const auto others = nlohmann::json::parse(
      read_text_file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "tests/predict/data/specbundle_networks.json"));
  for (const auto& r : others.at("rows"))
    unseen.push_back(run_of(r[0], r[1], r[3], r[4], r[5], r[6], r[7], r[8], r[9]));

  for (const char* name : {"sglang-0.5", "sglang-0.4"}) {
    Catalogue catalogue(kData);
    const auto shipped = catalogue.engine(name);
    std::vector<std::unique_ptr<ServedPoints>> kept;
    const auto point = [&](const Run& r) -> const ServedPoint* {
      kept.push_back(std::make_unique<ServedPoints>(
          std::vector{r.run}, ServerSetup{.device = "h200", .engine = name, .transformer = "", .method = r.method},
          kData));
      return &kept.back()->points().front();
    };
    std::vector<Observation> observations;
    for (const Run& r : seen)
      observations.push_back(
          {r.run.time.value, [p = point(r)](const Engine& e) { return predicted_time(*p, e).value; }});
    const Fitted f = fitted(*shipped, *catalogue.device("h200"),
                            {"step", "step_speculating", "draft_pass_exposed", "layer_tree"}, observations);
    std::printf("%s, %zu steps of Llama-3.1-8B\n", name, seen.size());
    check_shipped(f, *shipped);
    for (const auto* runs : {&seen, &unseen})
      for (const char* transformer : {"llama-3.1-8b", "llama-3-70b", "qwen3-30b-a3b"}) {
        std::vector<double> plain, chains, trees, speedup_chains, speedup_trees;
        for (const Run& r : *runs) {
          if (r.run.transformer != transformer) continue;
          const double error = predicted_time(*point(r), *shipped) / r.run.time - 1;
          if (r.plain == 0) {
            plain.push_back(error);
            continue;
          }
          (r.tree ? trees : chains).push_back(error);
          Run without = r;
          without.method.clear(), without.run.tokens_per_step = 1;
          without.run.time = Seconds{r.run.batch_size / r.plain};
          const double of_plain = predicted_time(*point(without), *shipped) / without.run.time;
          if (runs == &unseen) plain.push_back(of_plain - 1);
          const double speedup = of_plain / (1 + error);
          (r.tree ? speedup_trees : speedup_chains).push_back(speedup - 1);
        }
        if (chains.empty()) continue;
        const std::string of = std::string(runs == &seen ? "fitted, " : "held out, ") + transformer;
        if (!plain.empty()) print_errors((of + ": plain steps").c_str(), plain);
        print_errors((of + ": chains, step").c_str(), chains);
        print_errors((of + ": chains, speedup").c_str(), speedup_chains);
        print_errors((of + ": trees, step").c_str(), trees);
        print_errors((of + ": trees, speedup").c_str(), speedup_trees);
        if (runs == &seen) {
          CHECK(*summarize(chains).median < 0.04);
          CHECK(*summarize(chains).p90 < 0.09);
          CHECK(*summarize(trees).median < 0.08);
          CHECK(*summarize(trees).p90 < 0.15);
        }
      }
  }
}

namespace {

// Plain steps that tools/engines/vllm_steps.py measured, with CUDA graphs.
std::vector<Observation> plain_steps(const std::string& transformer, std::deque<std::unique_ptr<Sweep>>& sweeps) {
  const auto document = nlohmann::json::parse(read_text_file(kData / "measured/h200-vllm-0.24.json"));
  std::vector<Observation> all;
  for (const auto& engine : document.at("engines")) {
    if (engine.at("transformer") != transformer || !engine.at("speculation").is_null() ||
        engine.at("options").contains("enforce_eager"))
      continue;
    for (const auto& step : engine.at("steps")) {
      const int context = static_cast<int>(step.at("context").get<double>());
      nlohmann::json scenario{{"device", "h200"},
                              {"transformer", transformer},
                              {"engine", "vllm-0.19"},
                              {"batch_size", step.at("batch")},
                              {"prompt_tokens", context - 2},
                              {"output_tokens", 4},
                              {"method", {{"name", "autoregressive"}}}};
      if (transformer == "qwen3-30b-a3b") scenario["expert_routing"] = {{"overlap", 0}, {"load_cv", 0}};
      sweeps.push_back(std::make_unique<Sweep>(Document::from_text(scenario.dump(), "step.json"), kData));
      sweeps.back()->validate();
      Sweep& sweep = *sweeps.back();
      all.push_back({1e-3 * step.at("step_ms").get<double>(), [&sweep, context](const Engine& e) {
                       Setup s = sweep.setup({});
                       s.engine = std::make_shared<const Engine>(e);
                       return sweep.pricer().step_price(s, sweep.scenario().methods.front())(context).value;
                     }});
    }
  }
  return all;
}

}  // namespace

TEST_CASE("vllm-0.19: the overlap of launches from LLaMA-3.1-8B on an H200, judged on other networks and an H100") {
  Catalogue catalogue(kData);
  const auto shipped = catalogue.engine("vllm-0.19");
  std::deque<std::unique_ptr<Sweep>> sweeps;
  const auto errors = [&](const std::vector<Observation>& all) {
    std::vector<double> errors;
    for (const Observation& o : all) errors.push_back(o.predicted(*shipped) / o.measured - 1);
    return errors;
  };
  const std::vector<Observation> seen = plain_steps("llama-3.1-8b", sweeps);
  REQUIRE(seen.size() == 9);
  std::printf("vllm-0.19, plain steps\n");
  check_shipped(fitted(*shipped, *catalogue.device("h200"), {"launch_overlap"}, seen), *shipped);
  print_errors("fitted: LLaMA-3.1-8B, H200", errors(seen));
  CHECK(*summarize(errors(seen)).median < 0.02);
  for (const auto& [transformer, most] : {std::pair{"qwen3-30b-a3b", 0.03}, {"qwen3.5-9b", 0.07}}) {
    const auto held_out = errors(plain_steps(transformer, sweeps));
    print_errors(transformer, held_out);
    CHECK(*summarize(held_out).median < most);
  }
  if (const auto why = no_published_steps(); !why.empty()) SKIP_TEST(why);
  nlohmann::json grid;
  for (const auto& r : published_rows())
    if (r.at("id") == "adixg_h100_step_grid") grid = r;
  std::vector<ServedRun> runs;
  for (const auto& [key, context] : {std::pair{"ctx0", 1.0}, {"ctx8192", 8192.0}})
    for (std::size_t i = 0; i < grid.at("batch_sizes").size(); ++i) {
      ServedRun r;
      r.place = key;
      r.batch_size = grid.at("batch_sizes")[i], r.context = context;
      r.time = Seconds{1e-3 * grid.at("step_latency_ms").at(key)[i].get<double>()};
      runs.push_back(r);
    }
  const ServedPoints points(runs, {.device = "h100-sxm", .engine = "vllm-0.19", .transformer = "qwen3-1.7b"}, kData);
  std::vector<double> held_out;
  for (const ServedPoint& p : points.points()) held_out.push_back(predicted_time(p, *shipped) / p.run.time - 1);
  print_errors("held out: Qwen3-1.7B, H100", held_out);
  CHECK(*summarize(held_out).median < 0.06);
}

}  // namespace draftline
