// SPDX-License-Identifier: Apache-2.0
// Ouroboros: what its sheet promises, and the n-grams that it and lookahead decoding remember.
#include <algorithm>

#include "methods/drafting/ngram_window.h"
#include "tests/catch.h"
#include "tests/contracts/rig.h"

using namespace draftline;
using namespace draftline::test;
using methods::Ngram;

namespace {

constexpr int kGamma = 4;
const std::string kSmall = R"(,"draft":"half","draft_length":4,"window":4,"ngram":3,"guesses":3,"phrases":)";

Plan ouroboros(int phrases) { return {"ouroboros", kSmall + std::to_string(phrases)}; }

// Rows of each pass of one step that is priced for one sequence.
std::vector<int> priced_rows(const std::string& parameters) {
  Rig rig({"ouroboros", R"(,"draft":"half")" + parameters}, Rig::Kind::priced, 1);
  const std::vector<std::vector<int>> usual;
  rig.decoder.ops.follow(&usual);
  rig.decoder.generator.assume(1, 8);
  rig.decoder.generator.step();
  std::vector<int> rows;
  for (const SegmentRun& run : rig.steps.back())
    for (const auto& each : run.rows) rows.push_back(each[0]);
  return rows;
}

}  // namespace

TEST_CASE("Ouroboros without phrases takes the steps of a draft model that drafts as much") {
  // Lookahead changes how fast the network drafts, never what.
  for (const double noise : {0.05, 0.15, 0.4}) {
    Rig one(ouroboros(0), Rig::Kind::cpu_planned, 3, Network::llama, noise);
    Rig two({"draft_model", R"(,"draft":"half","draft_length":4)"}, Rig::Kind::cpu_planned, 3, Network::llama, noise);
    const auto mine = one.run(prompts(6, 31), {40, {}, 3}), chain = two.run(prompts(6, 31), {40, {}, 3});
    for (std::size_t i = 0; i < mine.size(); ++i) CHECK(mine[i].accepted == chain[i].accepted);
  }
}

TEST_CASE("Ouroboros' phrases come into play where all of the chain is accepted, and nowhere else") {
  // The chain behind a root does not depend on how the text came about: a draft model that starts there drafts the
  // same.
  Rig rig(ouroboros(3), Rig::Kind::cpu_planned, 1);
  int shorter = 0, full = 0, longer = 0;
  for (const auto& prompt : prompts(3, 33)) {
    const Generated g = rig.run({prompt}, {40, {}, 1})[0];
    std::size_t root = 0;
    for (const int accepted : g.accepted) {
      if (root >= g.tokens.size()) break;
      auto text = prompt;
      text.insert(text.end(), g.tokens.begin(), g.tokens.begin() + static_cast<std::ptrdiff_t>(root));
      Rig chain({"draft_model", R"(,"draft":"half","draft_length":4)"}, Rig::Kind::cpu_planned, 1);
      chain.decoder.generator.join({text}, {0});
      const int of_chain = chain.decoder.generator.step()[0];
      if (of_chain <= kGamma) CHECK(accepted == of_chain);
      else CHECK(accepted >= of_chain);
      ++(of_chain <= kGamma ? shorter : accepted == of_chain ? full : longer);
      root += static_cast<std::size_t>(accepted);
    }
  }
  CHECK(shorter > 0);
  CHECK(full > 0);
  CHECK(longer > 0);
}

TEST_CASE("Ouroboros' draft network needs fewer passes than it drafts tokens once its phrases come true") {
  // Draft = target, greedy text of a small random network falls into a cycle: whole phrases are hits, for draft and
  // target.
  Rig rig(ouroboros(3), Rig::Kind::cpu_planned, 1, Network::llama, 0);
  const auto accepted = rig.run({{3, 1, 4}}, {120, {}, 1})[0].accepted;
  CHECK(*std::min_element(accepted.begin(), accepted.end()) >= kGamma + 1);
  CHECK(*std::max_element(accepted.begin(), accepted.end()) == kGamma + 2 + 1);
  int passes = -2 - static_cast<int>(accepted.size());  // the prefill's two and each step's target pass
  for (const SegmentRun& run : rig.steps.back()) passes += static_cast<int>(run.rows.size());
  CHECK(passes >= static_cast<int>(accepted.size()) * 2);  // a pass yields at most a whole phrase and one more
  CHECK(passes < static_cast<int>(accepted.size()) * kGamma);
}

TEST_CASE(
    "in a batch that drafts by Ouroboros, whoever has its chain sits out, and text that the network lacks comes "
    "first") {
  Rig rig(ouroboros(2), Rig::Kind::cpu_planned, 3, Network::llama, 0.05);
  rig.run(prompts(6, 35), {60, {}, 3});
  const int least = 4 * 2;  // the window's rows
  int out = 0, catching_up = 0;
  for (const SegmentRun& run : rig.steps.back())
    for (std::size_t i = 0; i < run.rows.size(); ++i) {
      if (run.ahead[i].empty()) continue;  // a prompt, or the target's
      for (std::size_t b = 0; b < run.rows[i].size(); ++b) {
        const int rows = run.rows[i][b], missing = std::max(0, -run.ahead[i][b]);
        CHECK((rows == 0 || (rows >= least + missing && (rows - least - missing) % 2 == 0)));
        CHECK(missing <= 1 + 2);  // its last draft, and a phrase
        out += rows == 0;
        catching_up += missing > 1;
      }
    }
  CHECK(out > 0);
  CHECK(catching_up > 0);
}

TEST_CASE("Ouroboros' passes have the rows of its sheet") {
  // 1 + gamma + K beta rows to verify; the network's: window and guesses, (W + G)(N - 1)
  auto wanted = std::vector<int>(12, (20 + 20) * 6);
  wanted.push_back(1 + 12 + 3 * 6);
  CHECK(priced_rows("") == wanted);
  // three tokens a pass: 12 in 4; 2.5: 2, 3, 2, 3, 2
  CHECK(priced_rows(R"(,"drafted_per_pass":3)").size() == 5);
  CHECK(priced_rows(R"(,"drafted_per_pass":2.5)").size() == 6);
  CHECK(priced_rows(R"(,"phrases":0,"draft_length":4,"ngram":3,"window":5,"guesses":0)") ==
        std::vector<int>{10, 10, 10, 10, 5});
}

TEST_CASE("a pool keeps the newest n-grams behind a key, each once") {
  methods::NgramPool pool(3);
  for (const Ngram& n : {Ngram{1, 1}, Ngram{2, 2}, Ngram{3, 3}, Ngram{1, 1}}) pool.add(7, n);
  CHECK(pool.newest(7, 9) == std::vector<Ngram>{{1, 1}, {3, 3}, {2, 2}});
  pool.add(7, {4, 4});
  CHECK(pool.newest(7, 9) == std::vector<Ngram>{{4, 4}, {1, 1}, {3, 3}});
  CHECK(pool.newest(7, 2) == std::vector<Ngram>{{4, 4}, {1, 1}});
  CHECK(pool.newest(8, 9).empty());
  pool.correct(7, {1, 1}, {1, 5});  // in its place
  pool.correct(7, {3, 3}, {4, 4});  // known already
  pool.correct(7, {9, 9}, {5, 5});  // has left
  pool.correct(8, {1, 5}, {5, 5});
  CHECK(pool.newest(7, 9) == std::vector<Ngram>{{4, 4}, {1, 5}});
}

TEST_CASE("a pool learns from the target where it goes on as the drafts do") {
  // drafts   5 6 7 8 9
  // said      1 7 8 2 3   behind each: 6 is followed by 7 8 (as drafted), then 2; 5 by a 1 that no draft is
  const std::vector<int> drafts{5, 6, 7, 8, 9}, said{1, 7, 8, 2, 3};
  methods::NgramPool pool(4);
  pool.add_agreed(drafts, said, 0, 3);
  CHECK(pool.newest(6, 4) == std::vector<Ngram>{{7, 8, 2}});
  for (const int key : {5, 7, 8, 9}) CHECK(pool.newest(key, 4).empty());
  methods::NgramPool later(4);
  later.add_agreed(drafts, said, 2, 2);  // the first two were right: nothing to learn from them
  CHECK(later.newest(6, 4).empty());
  CHECK(later.newest(7, 4) == std::vector<Ngram>{{8, 2}});
}

TEST_CASE("a window's diagonals become n-grams behind what stands above them") {
  // Three columns, 3-grams: level 0 has two tokens beside the root, level 1 three.
  methods::NgramWindow window({3, 3}, {4});
  CHECK(window.tokens() == std::vector<int>{4, 4, 4, 4, 4});
  methods::NgramPool pool(2);
  window.advance(1, std::vector<int>{5, 6, 7}, pool);  // root 1
  CHECK(pool.newest(1, 2) == std::vector<Ngram>{{4, 5}});
  CHECK(pool.newest(4, 2) == std::vector<Ngram>{{4, 7}, {4, 6}});
  CHECK(window.tokens() == std::vector<int>{4, 4, 5, 6, 7});  // level 1 without its first column, the outputs
  window.advance(2, std::vector<int>{8, 9, 0}, pool);
  CHECK(pool.newest(2, 2) == std::vector<Ngram>{{5, 8}});
  CHECK(window.tokens() == std::vector<int>{6, 7, 8, 9, 0});
}
