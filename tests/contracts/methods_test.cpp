// SPDX-License-Identifier: Apache-2.0
// What every row of the table of methods must keep. A new row is tested by itself.
#include <boost/math/distributions/chi_squared.hpp>
#include <cstring>
#include <map>
#include <set>

#include "decoder/pass_span.h"
#include "tests/catch.h"
#include "tests/contracts/rig.h"

using namespace draftline;
using namespace draftline::test;

namespace {

bool lossless(const Plan& p) { return methods::find(p.method)->lossless != methods::Losslessness::lossy; }
const Plan kAutoregressive{"autoregressive", ""};

}  // namespace

TEST_CASE("greedy text of every lossless method is the autoregressive text", "[contract]") {
  const Network network = GENERATE(Network::llama, Network::qwen2, Network::qwen3, Network::deepseek, Network::sparse,
                                   Network::windows, Network::gemma4);
  const int batch_size = network == Network::llama ? GENERATE(1, 2, 8) : 5;
  const auto questions = prompts(9, static_cast<std::uint64_t>(batch_size));
  const Limits limits{24, {}, batch_size};
  Rig reference(kAutoregressive, Rig::Kind::cpu_planned, batch_size, network);
  const auto expected = texts(reference.run(questions, limits));
  for (const Plan& plan : plans_for(network)) {
    if (!lossless(plan)) continue;
    INFO(label(plan) << ", batch " << batch_size);
    Rig rig(plan, Rig::Kind::cpu_planned, batch_size, network);
    const auto generated = rig.run(questions, limits);
    CHECK(texts(generated) == expected);
    for (const Generated& g : generated)
      for (const int a : g.accepted) CHECK((a >= 1 && a <= rig.decoder.method->depth() + 1));
  }
}

TEST_CASE("the end of the text inside an accepted run cuts the text there", "[contract]") {
  const auto questions = prompts(5, 3);
  for (const int end : {0, 3, 7}) {
    const Limits limits{36, {end}, 3};
    Rig reference(kAutoregressive, Rig::Kind::cpu_planned, 3);
    const auto expected = texts(reference.run(questions, limits));
    for (const Plan& plan : all_plans()) {
      if (!lossless(plan)) continue;
      INFO(label(plan) << ", end of text " << end);
      Rig rig(plan, Rig::Kind::cpu_planned, 3);
      const auto text = texts(rig.run(questions, limits));
      CHECK(text == expected);
      for (const auto& t : text) CHECK(std::count(t.begin(), t.end(), end) <= 1);
    }
  }
}

TEST_CASE("a draft model equal to its target has every draft accepted", "[contract]") {
  Rig rig({"draft_model", R"(,"draft":"same","draft_length":4)"}, Rig::Kind::cpu_planned, 4, Network::llama, 0.0);
  for (const Generated& g : rig.run(prompts(4, 1), {41, {}, 4}))
    for (const int a : g.accepted) CHECK(a == 5);
}

TEST_CASE("drafts are accepted often, not always: the tests see both sides", "[contract]") {
  for (const Plan& plan : all_plans()) {
    if (plan.method == "autoregressive") continue;
    Rig rig(plan, Rig::Kind::cpu_planned, 3);
    std::set<int> lengths;
    for (const Generated& g : rig.run(prompts(6, 5), {40, {}, 3})) lengths.insert(g.accepted.begin(), g.accepted.end());
    INFO(label(plan));
    CHECK(lengths.size() >= 2);
  }
}

TEST_CASE("a whole segment in a planned arena gives the text of ops run one by one", "[contract]") {
  for (const Plan& plan : all_plans()) {
    INFO(label(plan));
    Rig immediate(plan, Rig::Kind::cpu_immediate, 3), planned(plan, Rig::Kind::cpu_planned, 3);
    const auto questions = prompts(7, 2);
    CHECK(texts(immediate.run(questions, {30, {}, 3})) == texts(planned.run(questions, {30, {}, 3})));
    CHECK(immediate.decoder.ops.answers() == planned.decoder.ops.answers());
  }
}

TEST_CASE("a sequence takes the steps in a batch that it takes alone", "[contract]") {
  for (const Plan& plan : all_plans()) {
    INFO(label(plan));
    const auto questions = prompts(6, 4);
    Rig together(plan, Rig::Kind::cpu_planned, 4);
    const auto batched = together.run(questions, {30, {}, 4});
    for (std::size_t i = 0; i < questions.size(); ++i) {
      Rig alone(plan, Rig::Kind::cpu_planned, 1);
      CHECK(alone.run({questions[i]}, {30, {}, 1})[0].accepted == batched[i].accepted);
    }
  }
}

TEST_CASE("declared FLOP and bytes are those that the CPU's loops touch", "[contract]") {
  const Network network = GENERATE(Network::qwen3, Network::latent, Network::sparse, Network::windows);
  for (const Plan& plan : plans_for(network)) {
    INFO(label(plan));
    Rig rig(plan, Rig::Kind::cpu_planned, 3, network);
    rig.run(prompts(5, 6), {25, {}, 3});
    const auto& counted = rig.cpu().counts();
    CHECK(rig.totals.work.flops.value == counted.flops);
    CHECK(rig.totals.work.read.value == counted.read);
    CHECK(rig.totals.work.written.value == counted.written);
    CHECK(rig.totals.ops == counted.ops);
  }
}

TEST_CASE("a step is priced at the pairs and entries that its passes are counted with", "[contract]") {
  constexpr int kLength = 40;
  const std::vector<int> lengths(3, kLength);
  for (const Plan& plan : all_plans()) {
    INFO(label(plan));
    Rig rig(plan, Rig::Kind::cpu_planned, 3);
    rig.decoder.generator.join(prompts(3, 8), {0, 1, 2});
    for (int i = 0; i < 3; ++i) rig.decoder.generator.step();
    for (const SegmentRun& run : rig.steps.back())
      for (int pass = 0; pass < static_cast<int>(run.tape->passes.size()); ++pass)
        for (const Window w :
             {Window{}, Window{7}, Window{.tokens = 9, .ring = true}, Window{.tokens = 9, .chosen = true}}) {
          CHECK(PassSpan(run, pass).at(kLength, w).pairs == span_of(run, pass, lengths, w).pairs);
          CHECK(PassSpan(run, pass).at(kLength, w).keys == span_of(run, pass, lengths, w).keys);
        }
  }
}

TEST_CASE("a priced run that follows the recorded answers has the same tapes, FLOP, bytes and kernels", "[contract]") {
  for (const Plan& plan : all_plans()) {
    INFO(label(plan));
    const auto questions = prompts(3, 8);
    const std::vector<int> ids{0, 1, 2};
    Rig live(plan, Rig::Kind::cpu_planned, 3), priced(plan, Rig::Kind::priced, 3);
    live.decoder.generator.join(questions, ids);
    for (int i = 0; i < 8; ++i) live.decoder.generator.step();
    priced.decoder.ops.follow(&live.decoder.ops.answers());
    priced.decoder.generator.join(questions, ids);
    for (int i = 0; i < 8; ++i) priced.decoder.generator.step();
    CHECK(priced.totals.work.flops.value == live.totals.work.flops.value);
    CHECK(priced.totals.work.bytes().value == live.totals.work.bytes().value);
    CHECK(priced.totals.ops == live.totals.ops);
    CHECK(priced.totals.reads == live.totals.reads);
    REQUIRE(priced.steps.back().size() == live.steps.back().size());
    for (std::size_t i = 0; i < live.steps.back().size(); ++i)
      CHECK(priced.steps.back()[i].tape->hash == live.steps.back()[i].tape->hash);
    CHECK(priced.decoder.ops.distinct_tapes() == live.decoder.ops.distinct_tapes());
    if (live.decoder.method->static_plan())
      CHECK(live.decoder.ops.distinct_tapes() == 2);  // the prefill's and the step's
  }
}

TEST_CASE("a method's answers for the drafts that it verified are those that it gave", "[contract]") {
  int methods = 0;
  for (const Plan& plan : all_plans()) {
    INFO(label(plan));
    Rig live(plan, Rig::Kind::cpu_planned, 3);
    live.decoder.generator.join(prompts(3, 8), {0, 1, 2});
    for (int i = 0; i < 8; ++i) {
      const std::size_t before = live.decoder.ops.answers().size();
      live.decoder.generator.step();
      std::vector<int> drafts;
      for (const int rows : live.decoder.generator.verified_rows()) drafts.push_back(rows - 1);
      const auto answers = live.decoder.method->answers(drafts);
      if (!answers) break;
      methods += i == 0 ? 1 : 0;
      const auto& given = live.decoder.ops.answers();
      const Method::Answers of_step(given.begin() + to_int64(before), given.end() - 1);  // the last: emitted tokens
      CHECK(*answers == of_step);
    }
  }
  CHECK(methods >= 7);  // look-ups, a window that is drafted ahead, and chains that stop early
}

TEST_CASE("every cache after a run has the bits of a fresh prefill of the committed text", "[contract]") {
  for (const Plan& plan : all_plans()) {
    INFO(label(plan));
    const auto questions = prompts(3, 9);
    const std::vector<int> ids{0, 1, 2};
    Rig live(plan, Rig::Kind::cpu_planned, 3), fresh(plan, Rig::Kind::cpu_planned, 3);
    live.decoder.generator.join(questions, ids);
    for (int i = 0; i < 9; ++i) live.decoder.generator.step();
    auto committed = live.decoder.generator.session().text;
    for (auto& t : committed) t.pop_back();  // the root is not in the cache yet
    fresh.decoder.generator.join(committed, ids);
    for (const Cache& c : live.decoder.ops.caches()) {
      if (c.window.ring && live.decoder.method->selection() != nullptr)
        continue;  // what it holds depends on the prompt
      for (int b = 0; b < 3; ++b) {
        const int places[] = {b};
        const int entries = c.window.held(static_cast<int>(committed[static_cast<std::size_t>(b)].size()) -
                                          (c.id > 0 ? live.decoder.method->rewrites() : 0));
        for (int layer = 0; layer < c.layers; ++layer)
          for (int key = 0; key < entries; ++key) {
            const auto one = live.cpu().cache_entry(c, layer, places[0], key),
                       two = fresh.cpu().cache_entry(c, layer, places[0], key);
            REQUIRE(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)) == 0);
          }
      }
    }
  }
}

TEST_CASE("sampled text has the target's distribution: the first tokens of many texts, by chi-squared",
          "[contract][once]") {
  // Texts of 3 tokens behind one prompt, against autoregressive texts of another seed: a two-sample test. Cells with
  // fewer than 16 texts in both together are pooled. The rules themselves are proved exactly in tests/decoder.
  const Sampling sampling{0.9, 0, 0.95};
  const std::vector<int> prompt{3, 1, 4};
#ifdef NDEBUG
  constexpr int kTexts = 800, kBatch = 8;
#else
  constexpr int kTexts = 400, kBatch = 8;  // the sanitizers are there for other mistakes than the distribution's
#endif
  const auto counts_of = [&](const Plan& plan, std::uint64_t seed) {
    std::map<std::vector<int>, int> counts;
    Rig rig(plan, Rig::Kind::cpu_planned, kBatch, Network::llama, 0.15, sampling, seed);
    for (const Generated& g : rig.run(std::vector(kTexts, prompt), {3, {}, kBatch})) ++counts[g.tokens];
    return counts;
  };
  const auto reference = counts_of(kAutoregressive, 5);
  for (const Plan& plan : all_plans()) {
    if (plan.method == "autoregressive" || !lossless(plan)) continue;
#ifndef NDEBUG
    if (plan.parameters.find(methods::find(plan.method)->examples.front()) == std::string::npos) continue;
#endif
    const auto mine = counts_of(plan, 6);
    // two-sample chi-squared, equal sizes: sum (a - b)^2 / (a + b)
    double statistic = 0, pooled_a = 0, pooled_b = 0;
    int cells = 0;
    std::set<std::vector<int>> seen;
    for (const auto& [t, n] : reference) seen.insert(t);
    for (const auto& [t, n] : mine) seen.insert(t);
    const auto count = [](const auto& map, const std::vector<int>& t) {
      const auto it = map.find(t);
      return it == map.end() ? 0.0 : static_cast<double>(it->second);
    };
    for (const auto& t : seen) {
      const double a = count(reference, t), b = count(mine, t);
      if (a + b < 16) {
        pooled_a += a;
        pooled_b += b;
        continue;
      }
      statistic += (a - b) * (a - b) / (a + b);
      ++cells;
    }
    if (pooled_a + pooled_b > 0) statistic += (pooled_a - pooled_b) * (pooled_a - pooled_b) / (pooled_a + pooled_b);
    const double p = boost::math::cdf(boost::math::complement(boost::math::chi_squared(cells), statistic));
    INFO(label(plan) << ": chi-squared " << statistic << " of " << cells << " cells, p = " << p);
    CHECK(cells > 5);
    CHECK(p > 1e-4);
  }
}
