// SPDX-License-Identifier: Apache-2.0
#include "model/acceptance/draft_ahead.h"

#include <cmath>
#include <optional>

#include "core/errors.h"
#include "core/rng.h"
#include "tests/core/messages.h"

using namespace draftline;

TEST_CASE("windows that are drafted ahead: shares and lengths by head") {
  // Two drafts, each right half of the time. p = 0.5 / (1 + 0.5 - 0.25) = 0.4 of the steps are in post-verify, where 1
  // or, half of the time, 2 tokens are emitted; in the others 1: 0.6 + 0.4 x 1.5.
  const DraftAhead half = DraftAhead::alike(0.5, 2);
  CHECK(half.post_verify_share() == Approx(0.4));
  CHECK(half.mean_length() == Approx(1.2));
  // A first draft that is always right and a second that is never: pre and post take turns, 1 token each.
  const std::vector<double> turns{1, 0};
  CHECK(DraftAhead(turns).post_verify_share() == 0.5);
  CHECK(DraftAhead(turns).mean_length() == 1);
  // Never right: plain decoding. Always: post-verify for ever, a whole window a step, and no bonus token.
  CHECK(DraftAhead::alike(0, 4).post_verify_share() == 0);
  CHECK(DraftAhead::alike(0, 4).mean_length() == 1);
  CHECK(DraftAhead::alike(1, 4).post_verify_share() == 1);
  CHECK(DraftAhead::alike(1, 4).mean_length() == 4);
  CHECK_THROWS_AS(DraftAhead::alike(0.5, 1), Bug);
}

TEST_CASE("a mean length of windows has one rate") {
  for (const double rate : {0.1, 0.5, 0.9})
    for (const int window : {2, 5}) {
      const double length = DraftAhead::alike(rate, window).mean_length();
      const DraftAhead found = DraftAhead::of_mean_length(length, window);
      CHECK(found.pending_rates()[0] == Approx(rate));
      CHECK(found.mean_length() == Approx(length));
    }
  CHECK(DraftAhead::of_mean_length(3, 3).post_verify_share() == 1);
  CHECK(starts_with(mistake_of([] { DraftAhead::of_mean_length(3.1, 3); }), "a mean length of windows of 3 drafts"));
}

namespace {

struct Run {
  double tokens = 0, post = 0;  // of a step
};

// Steps of one sequence, window by window, where draft j of a window is right with rates[j].
Run play(const std::vector<double>& rates, int steps, std::uint64_t seed) {
  Rng rng(seed, "windows");
  std::optional<std::vector<bool>> pending;
  Run run;
  for (int i = 0; i < steps; ++i) {
    std::vector<bool> next;  // drafted meanwhile
    for (const double rate : rates) next.push_back(rng.uniform() < rate);
    int emitted = 1;
    bool whole = true;
    if (pending) {
      run.post += 1.0 / steps;
      for (std::size_t j = 1; j < rates.size() && (whole = (*pending)[j]); ++j) ++emitted;
    }
    run.tokens += 1.0 * emitted / steps;
    if (whole && next.front()) pending = next;
    else pending.reset();
  }
  return run;
}

}  // namespace

TEST_CASE("the stationary chain is what happens step by step") {
  constexpr int kSteps = 400'000;
  for (const std::vector<double>& rates :
       {std::vector<double>{0.5, 0.5}, {0.8, 0.6, 0.9}, {0.9, 0.85, 0.8, 0.8, 0.75, 0.7}, {0.3, 0.9, 0.9, 0.9}}) {
    const DraftAhead chain(rates);
    const Run run = play(rates, kSteps, 7);
    // Steps are correlated over a few windows, so that a standard deviation is about 1 / sqrt(steps / 10) x the range.
    const double deviation = std::sqrt(10.0 / kSteps);
    CHECK(std::abs(run.post - chain.post_verify_share()) < 3 * deviation);
    CHECK(std::abs(run.tokens - chain.mean_length()) < 3 * deviation * static_cast<double>(rates.size() - 1));
  }
}
