// SPDX-License-Identifier: Apache-2.0
// What is drafted while the target verifies, executed: the windows that a run keeps are those that its drafter's tokens
// say.
#include <algorithm>

#include "tests/catch.h"
#include "tests/contracts/rig.h"

using namespace draftline;
using namespace draftline::test;

namespace {

constexpr double kNoise = 0.3;  // so much that drafts are often wrong

Plan pearl(int window, const std::string& draft = "half") {
  return {"pearl", R"(,"draft":")" + draft + R"(","draft_length":)" + std::to_string(window)};
}

// Whether the drafter's best token behind each output token but the last is the next one, found one position at a time:
// a step of one draft that judges it, and emits two tokens if it is right, begins at every position of some run.
std::vector<bool> right_behind(const std::vector<int>& prompt, const std::vector<int>& output) {
  std::vector<bool> right;
  for (std::size_t i = 0; i + 1 < output.size(); ++i) {
    Rig one({"draft_model", R"(,"draft":"half","draft_length":1)"}, Rig::Kind::cpu_planned, 1, Network::llama, kNoise);
    std::vector<int> text = prompt;
    text.insert(text.end(), output.begin(), output.begin() + static_cast<std::ptrdiff_t>(i));
    one.decoder.generator.join({text}, {0});
    right.push_back(one.decoder.generator.step().front() == 2);
  }
  return right;
}

// The tokens that each step emits, by pre-verify and post-verify.
std::vector<int> steps_of(const std::vector<bool>& right, int window) {
  std::vector<int> steps;
  bool pending = false;
  for (std::size_t root = 0; root + static_cast<std::size_t>(window) < right.size();) {
    int good = 0;
    while (pending && good < window - 1 && right[root + static_cast<std::size_t>(good)]) ++good;
    const bool whole = !pending || good == window - 1;
    const std::size_t last =
        root + static_cast<std::size_t>(good);  // the first token of the next window is judged behind it
    steps.push_back(good + 1);
    pending = whole && right[last];
    root = last + 1;
  }
  return steps;
}

}  // namespace

TEST_CASE("a drafter equal to its target emits a whole window in each step but the first", "[contract]") {
  Rig rig(pearl(4, "same"), Rig::Kind::cpu_planned, 3, Network::llama, 0.0);
  for (const Generated& g : rig.run(prompts(3, 1), {42, {}, 3})) {
    REQUIRE(g.accepted.size() > 5);
    CHECK(g.accepted.front() == 1);  // nothing was drafted before
    CHECK(std::all_of(g.accepted.begin() + 1, g.accepted.end(), [](int tokens) { return tokens == 4; }));
  }
}

TEST_CASE("a window is kept if all before it was right, and lost otherwise", "[contract]") {
  const std::vector<int> prompt{3, 1, 4, 1, 5};
  Rig plain({"autoregressive", ""}, Rig::Kind::cpu_planned, 1);
  const std::vector<int> output = plain.run({prompt}, {80, {}, 1}).front().tokens;
  const auto right = right_behind(prompt, output);
  REQUIRE(std::count(right.begin(), right.end(), true) > 5);
  REQUIRE(std::count(right.begin(), right.end(), false) > 5);
  for (const int window : {2, 3, 5}) {
    INFO("window " << window);
    Rig rig(pearl(window), Rig::Kind::cpu_planned, 1, Network::llama, kNoise);
    const auto expected = steps_of(right, window);
    auto steps = rig.run({prompt}, {80, {}, 1}).front().accepted;
    REQUIRE(steps.size() >= expected.size());
    steps.resize(expected.size());
    CHECK(steps == expected);
    CHECK(*std::max_element(steps.begin(), steps.end()) > 1);
  }
}

TEST_CASE("a step computes a row for each pending draft and the root, and the drafter one row for each draft",
          "[contract]") {
  Rig rig(pearl(3), Rig::Kind::priced, 2);
  const std::vector<std::vector<int>> script{{2, 0}};  // one sequence in post-verify, one in pre-verify
  rig.decoder.generator.assume(2, 100);
  rig.decoder.ops.follow(&script);
  rig.decoder.generator.step();
  std::vector<int> drafted, verified;
  for (const SegmentRun& run : rig.steps.back())
    for (std::size_t i = 0; i < run.tape->passes.size(); ++i) {
      const Pass& p = run.tape->passes[i];
      if (run.ahead[i].empty()) {
        verified = p.rows.each;
      } else {
        drafted.push_back(p.rows.total);
        CHECK(run.ahead[i] == std::vector{2, 0});  // behind the drafts that are pending
      }
    }
  CHECK(drafted == std::vector{2, 2, 2});
  CHECK(verified == std::vector{3, 1});
}
