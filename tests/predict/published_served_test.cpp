// SPDX-License-Identifier: Apache-2.0
// Servers that others have measured, calibrated from a few of their published rows and judged on all others. The
// figures stand in docs/explanation/accuracy.md.
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "model/calibration/error_summary.h"
#include "predict/served_points.h"
#include "tests/inputs/scenario_text.h"
#include "tests/predict/published_steps.h"

namespace draftline {

namespace {

nlohmann::json row(const std::string& id) {
  for (const auto& r : published_rows())
    if (r.at("id") == id) return r;
  FAIL("no row " << id);
  throw Bug("unreachable");
}

ServedRun run(double batch, double context, Seconds step, double tokens = 1, double drafts = 0) {
  ServedRun r;
  r.place = "batch " + significant(batch) + ", context " + significant(context);
  r.batch_size = batch;
  r.context = context;
  r.time = step;
  r.tokens_per_step = tokens;
  if (drafts > 0) r.draft_length = drafts;
  return r;
}

// Errors of the runs that were not fitted, under the shipped profile and under the fitted one.
struct Judged {
  ServedFit fit;
  std::vector<double> shipped, fitted;
};
Judged judged(const std::vector<ServedRun>& seen, const std::vector<ServedRun>& unseen, const ServerSetup& setting) {
  Judged j{fit_served(ServedPoints(seen, setting, kData).points()), {}, {}};
  const ServedPoints others(unseen, setting, kData);
  for (const ServedPoint& p : others.points()) {
    j.shipped.push_back(predicted_time(p, others.engine()) / p.run.time - 1);
    j.fitted.push_back(predicted_time(p, j.fit.engine) / p.run.time - 1);
  }
  return j;
}
double mean(const std::vector<double>& all) {
  double sum = 0;
  for (const double x : all) sum += x / static_cast<double>(all.size());
  return sum;
}
void print(const char* what, const Judged& j) {
  const auto line = [](const char* which, const std::vector<double>& errors) {
    const ErrorSummary s = summarize(errors);
    std::printf("  %-8s median %5.1f %%  P90 %5.1f %%  largest %5.1f %%  mean %+5.1f %%\n", which, 100 * *s.median,
                100 * *s.p90, 100 * *s.largest, 100 * mean(errors));
  };
  std::printf("%s: %zu runs fitted, %zu held out\n", what, j.fit.runs.size(), j.shipped.size());
  line("shipped", j.shipped);
  line("fitted", j.fitted);
  for (const FittedTerm& t : j.fit.terms)
    std::printf("  %-18s %.4g (%.4g to %.4g), learned %.0f %%\n", std::string(t.term.field->key).c_str(), t.value,
                t.low, t.high, 100 * t.learned);
  for (const std::string& w : j.fit.warnings) std::printf("  %s\n", w.c_str());
}

}  // namespace

TEST_CASE("vLLM with a network of 1.7B on an H100: four corners of a grid predict what lies between and beyond") {
  if (const auto why = no_published_steps(); !why.empty()) SKIP_TEST(why);
  const auto grid = row("adixg_h100_step_grid");
  const auto& batches = grid.at("batch_sizes");
  std::vector<ServedRun> seen, unseen;
  for (const auto& [key, context] : {std::pair{"ctx0", 1.0}, {"ctx8192", 8192.0}})
    for (std::size_t i = 0; i < batches.size(); ++i) {
      const bool corner = i == 0 || i + 1 == batches.size();
      (corner ? seen : unseen)
          .push_back(run(batches[i].get<double>(), context,
                         1e-3 * Seconds{grid.at("step_latency_ms").at(key)[i].get<double>()}));
    }
  // Of the row's notes: contexts that the grid doesn't have.
  for (const auto& [batch, context, ms] :
       {std::tuple{16, 1024, 2.644}, {16, 16384, 11.577}, {16, 32000, 20.628}, {1, 1024, 2.002}, {1, 32000, 3.158}})
    unseen.push_back(run(batch, context, Seconds{1e-3 * ms}));
  const Judged j = judged(seen, unseen, {.device = "h100-sxm", .engine = "vllm", .transformer = "qwen3-1.7b"});
  print("adixg, Qwen3-1.7B, H100, vLLM 0.28", j);
  CHECK(*summarize(j.fitted).median < 0.05);
  CHECK(*summarize(j.fitted).p90 < 0.1);
}

TEST_CASE("SGLang on an H200: plain runs and chains of three drafts predict chains of five and seven") {
  if (const auto why = no_published_steps(); !why.empty()) SKIP_TEST(why);
  constexpr double kContext = 400;  // prompt and half of the output: not stated
  std::vector<ServedRun> seen, unseen;
  for (const char* texts : {"mtbench", "gsm8k", "math500", "humaneval"}) {
    const auto r = row(std::string("specbundle_llama-31-8b_") + texts);
    seen.push_back(run(1, kContext, Seconds{1 / r.at("baseline_tps")[0].get<double>()}));
    for (const auto& c : r.at("configs")) {
      if (c.at("topk") != 1) continue;  // a tree
      const double length = c.at("accept_len"), drafts = c.at("steps");
      (drafts == 3 ? seen : unseen)
          .push_back(run(1, kContext, Seconds{length / c.at("tps").get<double>()}, length, drafts));
    }
  }
  const Judged j =
      judged(seen, unseen, {.device = "h200", .engine = "sglang", .transformer = "llama-3.1-8b", .method = "eagle3"});
  print("SpecBundle, Llama-3.1-8B, H200, SGLang", j);
  CHECK(*summarize(j.fitted).median < 0.04);
  CHECK(*summarize(j.fitted).p90 < 0.09);
}

TEST_CASE("vLLM at batch 1: plain decoding and two draft lengths predict the others") {
  if (const auto why = no_published_steps(); !why.empty()) SKIP_TEST(why);
  constexpr double kContext = 400;  // not stated
  const auto one = row("vllm20780_bs1_K_sweep_eagle1"), three = row("vllm20780_bs1_K_sweep_eagle3");
  for (const auto& [method, r] : {std::pair{"eagle1", one}, {"eagle3", three}}) {
    std::vector<ServedRun> seen{run(1, kContext, Seconds{1e-3 * r.at("tpot_ms").at("vanilla").get<double>()})}, unseen;
    for (std::size_t i = 0; i < 6; ++i) {
      const double length = r.at("mean_accept_len")[i], drafts = static_cast<double>(i + 2);
      const bool end = i == 0 || i == 5;
      (end ? seen : unseen)
          .push_back(
              run(1, kContext, Seconds{1e-3 * length * r.at("tpot_ms").at("K2..K7")[i].get<double>()}, length, drafts));
    }
    const Judged j = judged(
        seen, unseen, {.device = "h100-sxm", .engine = "vllm-0.10", .transformer = "llama-3.1-8b", .method = method});
    print((std::string("vLLM issue 20780, Llama-3.1-8B, ") + method).c_str(), j);
    CHECK(*summarize(j.fitted).largest < 0.05);
  }
}

TEST_CASE(
    "TurboMind on A100s: rows that no step explains are told, and two other networks are right on average alone") {
  if (const auto why = no_published_steps(); !why.empty()) SKIP_TEST(why);
  // Prompts of one token, outputs of 128: what a second emits is decoding alone.
  const auto rows = [](const char* id, const char* transformer, int ranks) {
    const auto r = row(id);
    std::vector<ServedRun> all;
    for (std::size_t i = 0; i < 4; ++i) {
      const double batch = r.at("batch_sizes")[i];
      all.push_back(run(batch, 65, Seconds{batch / r.at("tps").at("1/128")[i].get<double>()}));
      all.back().transformer = transformer;
      all.back().tensor_parallel = ranks;
    }
    return all;
  };
  std::vector<ServedRun> unseen = rows("lmdeploy_a100_llama2_13b", "llama-2-13b", 1);
  for (ServedRun& r : rows("lmdeploy_a100_llama2_70b", "llama-2-70b", 4)) unseen.push_back(std::move(r));
  const Judged j = judged(rows("lmdeploy_a100_llama2_7b", "llama-2-7b", 1), unseen,
                          {.device = "a100-sxm", .engine = "vllm-0.10", .transformer = "llama-2-7b"});
  print("lmdeploy, Llama-2 on A100s, TurboMind", j);
  // 10.6, 15.0 and 15.4 ms at batches of 16, 32 and 64: no step grows like that, and the fit says so.
  CHECK(j.fit.noise > 0.05);
  CHECK(std::abs(mean(j.fitted)) < std::abs(mean(j.shipped)));
}

}  // namespace draftline
