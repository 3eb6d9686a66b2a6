// SPDX-License-Identifier: Apache-2.0
// Servers whose engine nobody told are made up, benchmarked, and given back from their benchmark.
#include "predict/served_fit.h"

#include <cmath>
#include <random>

#include "predict/served_points.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

const ServerSetup kSetting{
    .device = "h100-sxm", .engine = "vllm-0.19", .transformer = "llama-3.1-8b", .method = R"({"name": "eagle3"})"};

ServedRun plain(double batch, double context) {
  ServedRun run;
  run.place = "batch " + std::to_string(static_cast<int>(batch));
  run.batch_size = batch;
  run.context = context;
  run.time = Seconds{1};  // not served yet
  return run;
}
ServedRun drafting(double batch, double context, double drafts, double tokens) {
  ServedRun run = plain(batch, context);
  run.tokens_per_step = tokens;
  run.draft_length = drafts;
  return run;
}

// The benchmark of a server with such an engine, whose runs scatter by `noise`.
ServedPoints served(const std::vector<ServedRun>& runs, const Engine& truth, double noise, std::mt19937& random,
                    const ServerSetup& setting = kSetting) {
  const ServedPoints shape(runs, setting, kData);
  std::normal_distribution<double> normal;
  std::vector<ServedRun> timed = runs;
  for (std::size_t i = 0; i < timed.size(); ++i)
    timed[i].time = std::exp(noise * normal(random)) * predicted_time(shape.points()[i], truth);
  return {timed, setting, kData};
}
Engine shipped() { return *Catalogue(kData).engine(kSetting.engine); }

const FittedTerm& term(const ServedFit& fit, std::string_view key) {
  for (const FittedTerm& t : fit.terms)
    if (t.term.field->key == key) return t;
  FAIL("no term " << key);
  throw Bug("unreachable");
}
bool warns(const ServedFit& fit, std::string_view of) {
  for (const std::string& w : fit.warnings)
    if (w.find(of) != std::string::npos) return true;
  return false;
}

const std::vector<ServedRun> kFour{plain(1, 600), plain(16, 600), plain(64, 1500), plain(256, 600)};

}  // namespace

TEST_CASE("a server whose engine is not known is given back within its intervals from four plain runs") {
  Engine truth = shipped();
  truth.step = Seconds{0.9e-3};  // nine times as long as shipped
  truth.step_speculating = Seconds{1.0e-3};
  truth.token = Seconds{6e-6};
  truth.bandwidth_share = 0.95;
  std::mt19937 random(3);
  const ServedPoints points = served(kFour, truth, 0.01, random);
  const ServedFit fit = fit_served(points.points());
  for (const auto& [key, value] : {std::pair{"step", 0.9e-3}, {"token", 6e-6}, {"bandwidth_share", 0.95}}) {
    INFO(key << " is " << value << ", fitted " << term(fit, key).value);
    CHECK(term(fit, key).low <= value);
    CHECK(value <= term(fit, key).high);
  }
  for (const FittedRun& run : fit.runs) {
    CHECK(std::abs(run.fitted) < 0.02);
    CHECK(run.shipped < -0.03);  // the shipped profile is too fast everywhere
  }
  // What it was for: a load that was not benchmarked, and a step that drafts.
  const ServedPoints unseen({plain(128, 900)}, kSetting, kData);
  CHECK(predicted_time(unseen.points()[0], fit.engine) / predicted_time(unseen.points()[0], truth) ==
        Approx(1).epsilon(0.02));
}

TEST_CASE("runs in another unit than their file says are refused, not fitted") {
  std::mt19937 random(3);
  for (const double factor : {1000.0, 1e-3}) {
    const ServedPoints as_measured = served(kFour, shipped(), 0.01, random);
    std::vector<ServedPoint> points = as_measured.points();
    for (ServedPoint& p : points) p.run.time = factor * p.run.time;
    CHECK(contains(mistake_of([&] { fit_served(points); }),
                   factor > 1 ? "times as long as the shipped profile predicts" : "times as short as"));
  }
}

TEST_CASE("nine in ten of servers drawn from the priors lie within their intervals", "[once]") {
  const auto terms = terms_of(shipped(), *Catalogue(kData).device("h100-sxm"), Speculation::off);
  std::mt19937 random(5);
  std::normal_distribution<double> normal;
  int inside = 0, all = 0;
  for (int server = 0; server < 30; ++server) {
    std::vector<double> deviations;
    for (std::size_t i = 0; i < terms.size(); ++i) deviations.push_back(normal(random));
    const ServedPoints points = served(kFour, with_terms(shipped(), terms, deviations), 0.02, random);
    const ServedFit fit = fit_served(points.points());
    for (std::size_t i = 0; i < terms.size(); ++i, ++all) {
      const double value = terms[i].at(deviations[i]);
      inside += fit.terms[i].low <= value && value <= fit.terms[i].high;
    }
  }
  CHECK(inside >= 0.83 * all);  // 120 intervals: 0.9 less two and a half standard errors
}

TEST_CASE("a step and the overlap of launches are told apart better by runs of other networks", "[once]") {
  Engine truth = shipped();
  truth.step = Seconds{0.4e-3};
  truth.step_speculating = Seconds{0.5e-3};
  truth.launch_overlap = 0.4;
  std::mt19937 random(3);
  const ServedFit one = fit_served(served(kFour, truth, 0.002, random).points());
  CHECK(warns(one, "can't be separated"));
  std::vector<ServedRun> more = kFour;
  for (const double batch : {1.0, 16.0, 64.0}) {
    more.push_back(plain(batch, 600));
    more.back().transformer = "qwen3-4b";  // 36 layers in half of the time
    more.push_back(plain(batch, 600));
    more.back().transformer = "llama-3.2-1b";  // 16
  }
  const ServedFit two = fit_served(served(more, truth, 0.002, random).points());
  CHECK(term(two, "step").learned > term(one, "step").learned);
  CHECK(term(two, "launch_overlap").value == Approx(0.4).margin(0.1));
  CHECK(term(two, "step").value == Approx(0.4e-3).epsilon(0.15));
  CHECK(term(two, "launch_overlap").learned > term(one, "launch_overlap").learned);
}

TEST_CASE("speculative runs of two draft lengths tell what a pass waits from what a step costs", "[once]") {
  Engine truth = shipped();
  truth.step_speculating = Seconds{0.7e-3};
  truth.draft_pass = Seconds{0.7e-3};  // more than the device's time of a pass
  std::mt19937 random(3);
  std::vector<ServedRun> runs = kFour;
  runs.push_back(drafting(1, 600, 3, 2.5));
  const ServedFit one = fit_served(served(runs, truth, 0.002, random).points());
  CHECK(warns(one, "\"step_speculating\" and \"draft_pass\" can't be separated"));
  runs.push_back(drafting(1, 600, 7, 3.2));
  runs.push_back(drafting(16, 600, 5, 2.9));
  const ServedFit more = fit_served(served(runs, truth, 0.002, random).points());
  CHECK(term(one, "step_speculating").learned < 0.1);  // the pass takes all
  CHECK(term(more, "step_speculating").learned > 0.4);
  CHECK(term(more, "draft_pass").low < 0.7e-3);
  CHECK(term(more, "draft_pass").high > 0.7e-3);
}

TEST_CASE("an engine that launches kernel by kernel has a time for each launch") {
  ServerSetup eager = kSetting;
  eager.engine = "hf-eager";
  Engine truth = *Catalogue(kData).engine("hf-eager");
  truth.issue = 1.7 * truth.issue;
  std::mt19937 random(3);
  const ServedPoints points =
      served({plain(1, 300), plain(4, 300), plain(16, 300), plain(32, 1200)}, truth, 0.01, random, eager);
  const ServedFit fit = fit_served(points.points());
  CHECK(term(fit, "issue").low < truth.issue.value);
  CHECK(term(fit, "issue").high > truth.issue.value);
  CHECK(term(fit, "issue").value == Approx(truth.issue.value).epsilon(0.1));
}

TEST_CASE("a batch timed as a whole counts its prompts") {
  ServedRun whole = plain(8, 96);
  whole.steps = 127;
  whole.prompt_tokens = 32;
  const ServedPoints points({whole, plain(8, 96)}, kSetting, kData);
  const Seconds steps = 127 * predicted_time(points.points()[1], shipped()),
                all = predicted_time(points.points()[0], shipped());
  CHECK(all > steps);
  CHECK(all < steps + 0.05 * steps);  // 256 tokens beside 127 steps
}

namespace {
// The time and the notes of a speculative run of `method`, in JSON.
std::pair<double, std::string> served_with(const std::string& method, const ServedRun& run) {
  ServerSetup setting = kSetting;
  setting.method = method;
  const ServedPoints points({run, plain(1, 600)}, setting, kData);
  std::string notes;
  for (const std::string& note : points.notes()) notes += note + "\n";
  return {predicted_time(points.points()[0], shipped()).value, notes};
}
}  // namespace

TEST_CASE("a run is priced with the drafts that its steps made") {
  const auto early = [](double drafts) {
    return served_with(R"({"name": "kangaroo", "draft_length": 6})", drafting(1, 600, drafts, 2));
  };
  CHECK(early(6).first > 1.3 * early(2).first);
  CHECK(early(3.5).first > early(2).first);
  CHECK(early(3.5).first < early(6).first);
  CHECK(early(3.5).second.empty());

  const auto lookup = [](const std::string& acceptance) {
    return served_with(R"({"name": "prompt_lookup", "draft_length": 8)" + acceptance + "}", drafting(64, 600, 8, 1.6));
  };
  const auto all = lookup(""), some = lookup(R"(, "acceptance": {"hit_share": 0.3})");
  CHECK(contains(all.second,
                 R"(batch 64: prompt_lookup finds no draft in some steps, and "acceptance" has no "hit_share")"));
  CHECK(some.first < all.first);
  CHECK(some.second.empty());
  ServedRun of_vllm = drafting(64, 600, 8, 3);  // its counters are of steps with drafts: 1.6 tokens per mean step
  of_vllm.of_drafting_steps = true;
  const ServedPoints points(
      {of_vllm, plain(1, 600)},
      [] {
        auto s = kSetting;
        s.method = R"({"name": "prompt_lookup", "draft_length": 8, "acceptance": {"hit_share": 0.3}})";
        return s;
      }(),
      kData);
  CHECK(points.points()[0].run.tokens_per_step == Approx(1.6));
  CHECK(points.points()[0].run.time.value == Approx(1.6 / 3));
  CHECK(predicted_time(points.points()[0], shipped()).value == Approx(some.first).epsilon(1e-9));
  CHECK(contains(mistake_of([&] { lookup(R"(, "acceptance": {"hit_share": 0.05})"); }),
                 R"(1.60 tokens per step with a "hit_share" of 0.0500 are more than 8.00 drafts yield)"));
  CHECK(contains(mistake_of([&] { lookup(R"(, "acceptance": {"hit_share": 0})"); }), R"("hit_share" is 0)"));
  CHECK(contains(mistake_of([&] { lookup(R"(, "acceptance": [])"); }), "the rest is the runs'"));
  CHECK(contains(mistake_of([&] { lookup(R"(, "drafter_device": {"device": "l40s"})"); }), "are not fitted"));
  CHECK(contains(mistake_of([&] { lookup(R"(, "acceptance": {"rate": 0.3})"); }), "the rest is the runs'"));
}

TEST_CASE("what a fit needs and can't say is told") {
  CHECK(contains(mistake_of([] {
                   ServedPoints(
                       {drafting(1, 600, 3, 2.5)},
                       [] {
                         auto s = kSetting;
                         s.method = "";
                         return s;
                       }(),
                       kData);
                 }),
                 "batch 1: is a speculative run (2.50 tokens per step): give its method with --method"));
  CHECK(contains(mistake_of([] { fit_served(ServedPoints({drafting(1, 600, 3, 2.5)}, kSetting, kData).points()); }),
                 "no run of plain decoding"));
  CHECK(contains(mistake_of([] { ServedPoints({drafting(1, 600, 2.4, 2.2)}, kSetting, kData); }),
                 "batch 1: drafts 2.40 tokens per step on average"));
  ServerSetup wrong = kSetting;
  wrong.device = "h100";
  CHECK(contains(mistake_of([&] {
                   ServedPoints({plain(1, 600), plain(2, 600)}, wrong, kData);
                 }),
                 "unknown name \"h100\""));

  std::mt19937 random(3);
  const ServedFit alone = fit_served(served({plain(16, 600)}, shipped(), 0, random).points());
  CHECK(warns(alone, "all plain runs have a batch of 16"));
  CHECK(warns(alone, "1 plain run:"));
  Engine far = shipped();
  far.bandwidth_share = 0.5;
  CHECK(warns(fit_served(served(kFour, far, 0, random).points()), "check device, network, precision and engine"));
}

TEST_CASE("a profile of fitted values reads back as the engine that was fitted") {
  Engine truth = shipped();
  truth.step = Seconds{2e-3};
  truth.step_speculating = Seconds{2.1e-3};
  std::mt19937 random(3);
  const ServedFit fit = fit_served(served(kFour, truth, 0.01, random).points());
  const auto json = profile_of({.shipped = kData / "engines" / "vllm-0.19.json",
                                .name = "mine",
                                .title = "my server",
                                .source = "own-benchmark",
                                .locator = "c1.json",
                                .padded = fit.padded,
                                .values = profile_values(fit)});
  const Engine read = read_whole(Document::from_text(json.dump(), "mine.json"), read_engine);
  CHECK(read.name == "mine");
  CHECK(read.step.value == Approx(fit.engine.step.value).epsilon(1e-4));
  CHECK(read.step_speculating.value == Approx(fit.engine.step.value + 0.1e-3).epsilon(1e-4));
  CHECK(read.token.value == Approx(fit.engine.token.value).epsilon(1e-4));
  CHECK(read.bandwidth_share == Approx(fit.engine.bandwidth_share).epsilon(1e-4));
  CHECK(read.graph_sizes == shipped().graph_sizes);
  CHECK(read.ops.size() == shipped().ops.size());
  CHECK(std::find(read.guesses.begin(), read.guesses.end(), "step") == read.guesses.end());
}

}  // namespace draftline
