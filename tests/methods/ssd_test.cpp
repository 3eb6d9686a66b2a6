// SPDX-License-Identifier: Apache-2.0
// SSD: which outcomes have drafts, what these are, and what a step computes for them.
#include <algorithm>

#include "tests/catch.h"
#include "tests/contracts/rig.h"

using namespace draftline;
using namespace draftline::test;

namespace {

constexpr double kNoise = 0.3;  // so much that drafts are often wrong
const std::vector<int> kPrompt{3, 1, 4, 1, 5};

Plan ssd(int drafts, int fan_out, const std::string& draft = "half") {
  return {"ssd", R"(,"draft":")" + draft + R"(","draft_length":)" + std::to_string(drafts) + R"(,"fan_out":)" +
                     std::to_string(fan_out)};
}

// Whether the next output token is among the draft network's `ranks` best behind each output token but the last, found
// one position at a time by a step of these as drafts, which emits two tokens if one is right.
std::vector<bool> among_best(int ranks, const std::vector<int>& output) {
  std::vector<bool> found;
  for (std::size_t i = 0; i + 1 < output.size(); ++i) {
    Rig one({"mcsd", R"(,"draft":"half","widths":[)" + std::to_string(ranks) + "]"}, Rig::Kind::cpu_planned, 1,
            Network::llama, kNoise);
    std::vector<int> text = kPrompt;
    text.insert(text.end(), output.begin(), output.begin() + static_cast<std::ptrdiff_t>(i));
    one.decoder.generator.join({text}, {0});
    found.push_back(one.decoder.generator.step().front() == 2);
  }
  return found;
}

struct Steps {
  std::vector<int> emitted, drafted;
};

// The steps if the draft network drafts in turn for each outcome whose bonus token is among its guesses.
Steps expected_steps(int drafts, const std::vector<bool>& right, const std::vector<bool>& last_place,
                     const std::vector<bool>& other_places) {
  Steps steps;
  int pending = 0;
  for (std::size_t root = 0; root + static_cast<std::size_t>(drafts) < right.size();) {
    std::size_t place = root;
    while (place < root + static_cast<std::size_t>(pending) && right[place]) ++place;
    const int accepted = static_cast<int>(place - root);
    steps.emitted.push_back(accepted + 1);
    steps.drafted.push_back(pending);
    pending = (accepted == pending ? last_place : other_places)[place] ? drafts : 0;
    root = place + 1;
  }
  return steps;
}

}  // namespace

TEST_CASE(
    "a draft network equal to its target has prepared for every outcome but the first, and all drafts are right") {
  for (const int fan_out : {1, 3}) {
    Rig rig(ssd(4, fan_out, "same"), Rig::Kind::cpu_planned, 3, Network::llama, 0.0);
    for (const Generated& g : rig.run(prompts(3, 1), {42, {}, 3})) {
      REQUIRE(g.accepted.size() > 5);
      CHECK(g.accepted.front() == 1);  // nothing was prepared before
      CHECK(std::all_of(g.accepted.begin() + 1, g.accepted.end(), [](int tokens) { return tokens == 5; }));
    }
  }
}

TEST_CASE("outcomes have drafts if the bonus token was guessed, and these are what the draft network drafts in turn") {
  Rig plain({"autoregressive", ""}, Rig::Kind::cpu_planned, 1);
  const std::vector<int> output = plain.run({kPrompt}, {60, {}, 1}).front().tokens;
  const std::vector<std::vector<bool>> best{among_best(1, output), among_best(2, output), among_best(3, output)};
  for (const auto& [drafts, fan_out] : {std::pair(2, 1), std::pair(3, 2)}) {
    INFO(drafts << " drafts, fan-out " << fan_out);
    const auto rank = static_cast<std::size_t>(fan_out);
    const Steps expected = expected_steps(drafts, best[0], best[rank - 1], best[rank]);
    REQUIRE(std::ranges::count(expected.drafted, 0) > 2);
    REQUIRE(std::ranges::count(expected.drafted, drafts) > 5);
    REQUIRE(std::ranges::any_of(expected.emitted, [](int n) { return n > 1; }));
    Rig rig(ssd(drafts, fan_out), Rig::Kind::cpu_planned, 1, Network::llama, kNoise);
    Generated run = rig.run({kPrompt}, {60, {}, 1}).front();
    REQUIRE(run.accepted.size() >= expected.emitted.size());
    run.accepted.resize(expected.emitted.size());
    run.drafted.resize(expected.drafted.size());
    CHECK(run.accepted == expected.emitted);
    CHECK(run.drafted == expected.drafted);
  }
}

TEST_CASE("the draft network computes the root and all places, then a row for each guess in every pass") {
  Rig rig(ssd(3, 2), Rig::Kind::priced, 2);
  const std::vector<std::vector<int>> script{{3, 0}};  // one sequence has a hit, the other none
  rig.decoder.generator.assume(2, 100);
  rig.decoder.ops.follow(&script);
  rig.decoder.generator.step();
  std::vector<std::vector<int>> rows;
  std::vector<int> tails;
  for (const SegmentRun& run : rig.steps.back())
    for (const Pass& p : run.tape->passes) {
      rows.push_back(p.rows.each);
      tails.push_back(p.tail);
    }
  CHECK(rows == std::vector<std::vector<int>>{{4, 4}, {8, 8}, {8, 8}, {8, 8}, {4, 1}});
  CHECK(tails == std::vector{0, 4, 12, 20, 0});
  CHECK(rig.decoder.method->entries_ahead() + 8 == 28);  // the rows of the draft network, 4 + 3 x 8
}
