// SPDX-License-Identifier: Apache-2.0
// Accepted over drafted tokens, as engines print it, and a rate that is one (F30 of the public reports).
#include "inputs/acceptance.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

using namespace draftline;

namespace {

std::string eagle_of(int drafts, const std::string& acceptance) {
  return R"({"name": "eagle3", "draft_length": )" + std::to_string(drafts) + R"(, "acceptance": )" + acceptance + "}";
}
double length_with(const std::string& method) { return prediction(with_method(method)).acceptance_length; }
std::vector<std::string> notes_with(const std::string& methods) {
  return ScenarioText(with_method(methods)).sweep()->scenario().document.notes();
}

}  // namespace

TEST_CASE("the share of accepted drafts gives the mean length of the run that it is of") {
  CHECK(length_with(eagle_of(3, R"({"accepted_share": 0.338})")) == Approx(1 + 3 * 0.338));
  CHECK(length_with(eagle_of(3, R"({"per_position": [0.601, 0.286, 0.128]})")) == Approx(2.015));
  CHECK(length_with(eagle_of(3, R"({"rate": 0.338})")) == Approx(1 + 0.338 + 0.338 * 0.338 + 0.338 * 0.338 * 0.338));
  CHECK(length_with(eagle_of(3, R"({"table": [{"context": 1000, "draft_length": 3, "accepted_share": 0.338}]})")) ==
        Approx(1 + 3 * 0.338));
}

TEST_CASE("an accepted share is of one draft length, and of a chain") {
  CHECK(
      contains(notes_with(R"({"name": "eagle3", "draft_length": [2, 3], "acceptance": {"accepted_share": 0.4}})").at(0),
               "is used for each draft length (2, 3)"));
  const ScenarioText tree(
      with_method(R"({"name": "eagle2", "tree": "default", "acceptance": {"accepted_share": 0.1}})"));
  CHECK(contains(tree.mistakes(), "\"accepted_share\" applies to a chain, not to a tree: give \"mean_length\""));
}

TEST_CASE("a rate that equals the share of another method's acceptance is told to be one") {
  const auto notes = notes_with("[" + eagle_of(3, R"({"rate": 0.338})") + ", " +
                                eagle_of(3, R"({"per_position": [0.601, 0.286, 0.128]})") + "]");
  REQUIRE(notes.size() == 1);
  CHECK(contains(notes[0], "#/method/0/acceptance/rate: 0.338 is the share of accepted drafts of another method's"));
  CHECK(contains(notes[0], "yield 1.49 tokens per step"));
  CHECK(contains(notes[0], "write \"accepted_share\", which yields 2.01"));
}

TEST_CASE("a rate that is rare is noted; others can't be told from shares") {
  CHECK(contains(notes_with(eagle_of(3, R"({"rate": 0.338})")).at(0), "a rate of 0.338 at each position is rare"));
  CHECK(notes_with(eagle_of(3, R"({"rate": 0.55})")).empty());
  CHECK(notes_with(eagle_of(1, R"({"rate": 0.3})")).empty());  // of one draft, rate and share are equal
  CHECK(notes_with(R"({"name": "prompt_lookup", "draft_length": 3, "acceptance": {"rate": 0.3, "hit_share": 0.4}})")
            .empty());  // look-up drafters have such rates
}
