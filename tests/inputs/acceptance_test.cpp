// SPDX-License-Identifier: Apache-2.0
#include "inputs/acceptance.h"

#include "tests/catch.h"

using namespace draftline;

namespace {

struct Chain : Method {  // drafts as many, whoever asks
  explicit Chain(int drafts) : drafts(drafts) {}
  int depth() const override { return drafts; }
  Proposal propose(Ops&, Session&) override { return {}; }
  int drafts;
};

struct Built {
  explicit Built(int drafts, int rows = 0) : method(drafts), rows(rows > 0 ? rows : drafts + 1) {}
  operator BuiltMethod() const { return {spec, method, rows}; }
  MethodSpec spec;
  Chain method;
  int rows;
};

double tokens(const Acceptance& a, const BuiltMethod& m) { return std::get<double>(a.mean_length(m)); }
std::string refusal(const Acceptance& a, const BuiltMethod& m) { return std::get<std::string>(a.mean_length(m)); }

}  // namespace

TEST_CASE("what is said of acceptance is read for the drafts that are made") {
  const Built two(2);
  // Half of the first drafts, and half of the second behind them: 1 + 1/2 + 1/4.
  CHECK(tokens(Acceptance(Acceptance::Rate{0.5}), two) == 1.75);
  CHECK(tokens(Acceptance(Acceptance::Rates{{0.5, 0.5, 0.9}}), two) == 1.75);
  CHECK(tokens(Acceptance(Acceptance::Ranks{{{0.5, 0.2}, {0.5}}}), two) == 1.75);
  CHECK(tokens(Acceptance(Acceptance::MeanLength{1.75}), two) == 1.75);
}

TEST_CASE("what a form says nothing of is refused with a reason") {
  const Built two(2), tree(2, 7);
  CHECK(refusal(Acceptance(), two).starts_with("\"acceptance\" is needed"));
  CHECK(refusal(Acceptance(Acceptance::Rates{{0.5}}), two) == "fewer rates (1) than drafts (2)");
  CHECK(refusal(Acceptance(Acceptance::Rate{0.5}), tree).starts_with("one rate fits a chain"));
  CHECK(refusal(Acceptance(Acceptance::Rates{{0.5, 0.5}}), tree).starts_with("rates per position fit a chain"));
  CHECK(refusal(Acceptance(Acceptance::MeanLength{3.5}), two).starts_with("a \"mean_length\" above the longest"));
  CHECK(refusal(Acceptance(Acceptance::Ranks{{{0.5}}}), two).starts_with("\"ranks\" of fewer levels (1)"));
}

TEST_CASE("the simulator draws what the prediction takes on average") {
  const Built three(3);
  for (const Acceptance& a :
       {Acceptance(Acceptance::Rate{0.6}), Acceptance(Acceptance::Rates{{0.9, 0.5, 0.2}}),
        Acceptance(Acceptance::MeanLength{2.2}), Acceptance(Acceptance::Ranks{{{0.7}, {0.6}, {0.5}}})}) {
    const DraftOutcomes outcomes = a.outcomes(three, false);
    CHECK(outcomes.depth() == 3);
    constexpr int kSteps = 40'000;
    double emitted = 0;
    auto text = outcomes.text(1, 0);
    for (int i = 0; i < kSteps; ++i) emitted += 1 + outcomes.accepted(text, i);
    CHECK(emitted / kSteps == Approx(tokens(a, three)).epsilon(0.02));  // of 40000 draws: four standard errors
  }
}

TEST_CASE("a mean length is one of its chain: other lengths go by its rate") {
  const Acceptance mean(Acceptance::MeanLength{1.5});  // of one draft: half are accepted
  CHECK(tokens(mean.of_other_lengths(1), Built(2)) == Approx(1.75));
  const Acceptance rates(Acceptance::Rates{{0.5, 0.25}});
  CHECK(tokens(rates.of_other_lengths(2), Built(1)) == 1.5);
}

TEST_CASE("how long a chain it speaks of") {
  CHECK(Acceptance().longest_chain() == 0);
  CHECK(Acceptance(Acceptance::Rates{{0.5, 0.5}}).longest_chain() == 2);
  CHECK(Acceptance(Acceptance::Ranks{{{0.5}, {0.5}, {0.5}}}).longest_chain() == 3);
  CHECK(!Acceptance(Acceptance::Rate{0.5}).longest_chain());
  CHECK(!Acceptance(Acceptance::MeanLength{1.5}).longest_chain());
}
