// SPDX-License-Identifier: Apache-2.0
// What single methods promise beyond the contracts of all.
#include <algorithm>

#include "methods/drafting/early_stop.h"
#include "tests/catch.h"
#include "tests/contracts/rig.h"

using namespace draftline;
using namespace draftline::test;

namespace {

std::vector<Generated> run(const Plan& plan, double noise = 0.15, int prompts_wanted = 5, Sampling sampling = {}) {
  Rig rig(plan, Rig::Kind::cpu_planned, 3, Network::llama, noise, sampling);
  return rig.run(prompts(prompts_wanted, 21), {30, {}, 3});
}
std::vector<int> steps_of(const std::vector<Generated>& all) {
  std::vector<int> steps;
  for (const Generated& g : all) steps.insert(steps.end(), g.accepted.begin(), g.accepted.end());
  return steps;
}
bool all_are(const std::vector<int>& steps, int length) {
  return !steps.empty() && std::all_of(steps.begin(), steps.end(), [&](int a) { return a == length; });
}
std::vector<std::vector<int>> autoregressive_texts() { return texts(run({"autoregressive", ""})); }

}  // namespace

TEST_CASE("a draft network equal to its target has every path of its best ranks accepted, in any tree") {
  CHECK(all_are(steps_of(run({"mcsd", R"(,"draft":"same","widths":[2,2,1])"}, 0)), 4));
  CHECK(all_are(steps_of(run({"sequoia", R"(,"draft":"same","tree":{"nodes":[[0],[1],[0,0],[0,0,0],[1,0]]})"}, 0)), 4));
  CHECK(all_are(steps_of(run({"assisted", R"(,"draft":"same","draft_length":3,"confidence":0)"}, 0)), 4));
}

TEST_CASE("sampled drafts of the target's own distribution are all accepted") {
  const Sampling warm{1, 0, 1};
  CHECK(all_are(steps_of(run({"draft_model", R"(,"draft":"same","draft_length":3)"}, 0, 5, warm)), 4));
  CHECK(all_are(steps_of(run({"mcsd", R"(,"draft":"same","widths":[2,1,1])"}, 0, 5, warm)), 4));
}

TEST_CASE("S3D that skips no layer has its first draft accepted always, as only masks are guesses") {
  for (const int a : steps_of(run({"s3d", R"(,"skip":"none","draft_length":3)"}))) CHECK(a >= 2);
}

TEST_CASE(
    "self-speculation that skips nothing, and early exit behind all layers but the last, draft what the target says") {
  CHECK(
      all_are(steps_of(run({"self_spec", R"(,"skip_attention":[],"skip_mlp":[],"draft_length":3,"threshold":0)"})), 4));
  // Behind all layers there is nothing left to disagree.
  CHECK(all_are(steps_of(run({"layerskip", R"(,"exit":6,"draft_length":3)"})), 4));
  // The exit's states go through the rest of the layers, so its drafts are wrong at times; the text never is.
  CHECK(texts(run({"layerskip", R"(,"exit":1,"draft_length":3)"})) == autoregressive_texts());
}

TEST_CASE("a stop that is always sure drafts its full length, one that never is drafts a single token") {
  const auto most = [](const std::vector<Generated>& g) {
    const auto steps = steps_of(g);
    return *std::max_element(steps.begin(), steps.end());
  };
  CHECK(most(run({"self_spec", R"(,"draft_length":5,"threshold":1,"adaptive":false)"})) <= 2);
  CHECK(most(run({"kangaroo", R"(,"exit":5,"draft_length":5,"threshold":1)"})) <= 2);
  CHECK(most(run({"kangaroo", R"(,"exit":5,"draft_length":5,"threshold":0)"})) > 2);
}

TEST_CASE("Medusa's typical acceptance: greedy text is the target's, and without a threshold every draft passes") {
  const std::string tree = R"(,"tree":{"nodes":[[0],[1],[0,0],[1,0],[0,0,1]]})";
  const Sampling warm{1, 0, 1};
  CHECK(texts(run({"medusa_typical", tree})) == autoregressive_texts());
  CHECK(all_are(steps_of(run({"medusa_typical", tree + R"(,"epsilon":0)"}, 0.15, 5, warm)), 4));
  // epsilon = delta = 1: above the distribution's geometric mean, which some drafts are
  const auto steps = steps_of(run({"medusa_typical", tree + R"(,"epsilon":1,"delta":1)"}, 0.15, 5, warm));
  CHECK(*std::max_element(steps.begin(), steps.end()) > 1);
  CHECK(*std::min_element(steps.begin(), steps.end()) == 1);
}

TEST_CASE("BiLD: without the small network it is the target, and a limit of 0 rolls everything unsure back") {
  // fallback 1: no draft is sure enough, every step is the target's own
  const auto alone = run({"bild", R"(,"draft":"half","fallback":1,"rollback":5)"});
  CHECK(texts(alone) == autoregressive_texts());
  CHECK(all_are(steps_of(alone), 1));
  // the last draft is judged as the others
  const auto short_one = run({"bild", R"(,"draft":"half","draft_length":1,"fallback":1,"rollback":5)"});
  CHECK(texts(short_one) == autoregressive_texts());
  // a loss of 0 is a certainty: random targets have none
  CHECK(texts(run({"bild", R"(,"draft":"half","fallback":0,"rollback":0)"})) == autoregressive_texts());
  // no limit: all drafts stay
  CHECK(all_are(steps_of(run({"bild", R"(,"draft":"half","draft_length":4,"fallback":0,"rollback":1e6)"})), 5));
}

TEST_CASE("the heuristic schedule grows by two after a full match; the next text goes on from there, or begins anew") {
  for (const auto& [schedule, second] :
       {std::pair{"heuristic", std::vector<int>{9, 11, 13}}, {"heuristic_transient", {3, 5, 7}}}) {
    Rig rig({"assisted", R"(,"draft":"same","draft_length":2,"schedule":")" + std::string(schedule) + "\""},
            Rig::Kind::cpu_planned, 1, Network::llama, 0);
    const auto steps = rig.run({{3, 1, 4}, {1, 5}}, {22, {}, 1});
    CHECK(steps[0].accepted == std::vector<int>{3, 5, 7, 9});  // 24 tokens at least 22, one before the first step
    REQUIRE(steps[1].accepted.size() >= 2);
    CHECK(steps[1].accepted.front() == second.front());
    CHECK(steps[1].accepted[1] == second[1]);
  }
}

TEST_CASE("the confidence that is fitted parts judged drafts where alarms and misses cost least") {
  using methods::fitted_threshold;
  // Misses cost three: of 0.9+ 0.8- 0.7+ 0.6+ 0.5- 0.4-, 0.6 keeps all three accepted and lets one of three alarms
  // through.
  CHECK(fitted_threshold({{0.4, false}, {0.9, true}, {0.8, false}, {0.6, true}, {0.5, false}, {0.7, true}}) == 0.6);
  // Were 0.6 the only accepted one below nine others at 0.9, missing it would cost 3 / 10, less than the alarms above
  // it.
  std::vector<methods::JudgedDraft> drafts(9, {0.9, true});
  drafts.push_back({0.6, true});
  for (int i = 0; i < 4; ++i) drafts.push_back({0.7, false});
  CHECK(fitted_threshold(drafts) == 0.9);
  CHECK_FALSE(fitted_threshold({{0.4, false}, {0.9, true}, {0.8, false}, {0.6, true}, {0.5, false}}).has_value());
  CHECK_FALSE(fitted_threshold(std::vector<methods::JudgedDraft>(9, {0.9, true})).has_value());
}

TEST_CASE("lookahead without guesses is autoregressive") {
  const auto plain = run({"lookahead", R"(,"window":3,"ngram":3,"guesses":0)"});
  CHECK(texts(plain) == autoregressive_texts());
  CHECK(all_are(steps_of(plain), 1));
}

TEST_CASE("Jacobi settles a block of n tokens in at most n steps, and a step is never wider than its block") {
  // Steps until a block's tokens are out: the block shrinks by what is accepted, so sums of steps meet multiples of n.
  constexpr int kBlock = 5;
  Rig rig({"jacobi", R"(,"block":5)"}, Rig::Kind::cpu_planned, 1);
  std::vector<int> rows;
  rig.decoder.ops.on_segment = [&](const SegmentRun& run) {
    for (const auto& each : run.rows) rows.push_back(each[0]);
  };
  const auto steps = rig.run({{3, 1, 4}}, {60, {}, 1})[0].accepted;
  REQUIRE(rows.size() == steps.size() + 1);  // and the prefill
  int left = 0, taken = 0, blocks = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (left == 0) left = kBlock, taken = 0, ++blocks;
    CHECK(rows[i + 1] == left);
    CHECK(++taken <= kBlock);
    CHECK(steps[i] <= left);
    left -= steps[i];
  }
  CHECK(blocks >= 5);
}

TEST_CASE("a text that repeats is found by lookup: whole continuations are accepted") {
  // Greedy text of a small random network falls into a cycle; from then on every lookup is right.
  Rig rig({"prompt_lookup", R"(,"draft_length":3,"max_ngram":3)"}, Rig::Kind::cpu_planned, 1);
  const auto steps = rig.run({{1, 2, 3}}, {150, {}, 1})[0].accepted;
  CHECK(std::count(steps.begin(), steps.end(), 4) > static_cast<long>(steps.size()) / 3);
}

TEST_CASE("Clover's tree: no more drafts than its budget, and a step is never deeper than its levels") {
  for (const int a : steps_of(run({"clover", R"(,"draft_length":2,"nodes":4)"}))) CHECK((a >= 1 && a <= 3));
}

TEST_CASE("SpecFormer's first drafts do not depend on how many are wanted") {
  // Position j is state j of the same block: shorter draft lengths accept the same prefix.
  const auto longer = run({"specformer", R"(,"draft_length":4,"positions":4)"}),
             shorter = run({"specformer", R"(,"draft_length":1,"positions":4)"});
  for (std::size_t i = 0; i < longer.size(); ++i)
    CHECK(std::min(longer[i].accepted.front(), 2) == shorter[i].accepted.front());
}
