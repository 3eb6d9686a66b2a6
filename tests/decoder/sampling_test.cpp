// SPDX-License-Identifier: Apache-2.0
#include "decoder/sampling.h"

#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <vector>

#include "core/errors.h"
#include "core/rng.h"
#include "decoder/cpu/backend.h"
#include "decoder/ops.h"
#include "decoder/random_weights.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();
constexpr double kAlmostOne = 1 - 0x1p-53;

std::vector<double> warped(const std::vector<float>& logits, const Sampling& sampling) {
  std::vector<double> p(logits.size());
  warp(logits, sampling, p);
  return p;
}

std::vector<float> logs(const std::vector<double>& p) {
  std::vector<float> x;
  for (const double v : p) x.push_back(static_cast<float>(std::log(v)));
  return x;
}

void check_close(const std::vector<double>& got, const std::vector<double>& want) {
  REQUIRE(got.size() == want.size());
  for (std::size_t i = 0; i < got.size(); ++i)
    CHECK(got[i] == Approx(want[i]).epsilon(1e-6).margin(0));  // logits are fp32
}

}  // namespace

TEST_CASE("temperature 1 is the softmax, however large the logits") {
  check_close(warped({1000, 1000, 1000, 1000}, {1, 0, 1}), {0.25, 0.25, 0.25, 0.25});
  check_close(warped(logs({0.5, 0.25, 0.25}), {1, 0, 1}), {0.5, 0.25, 0.25});
}

TEST_CASE("temperature divides the logits: 0.5 squares the odds, 2 takes their root") {
  check_close(warped(logs({0.8, 0.2}), {0.5, 0, 1}), {16.0 / 17, 1.0 / 17});
  check_close(warped(logs({0.8, 0.2}), {2, 0, 1}), {2.0 / 3, 1.0 / 3});
  check_close(warped({1, 2, 3}, {1e-300, 0, 1}), {0, 0, 1});  // close to greedy, no NaN
}

TEST_CASE("temperature 0 is a point mass on the largest logit, ties to the lowest id") {
  CHECK(warped({1, 3, 3, 2}, {}) == std::vector<double>{0, 1, 0, 0});
}

TEST_CASE("top-k keeps the k largest and what ties with the last of them") {
  check_close(warped(logs({0.1, 0.4, 0.2, 0.3}), {1, 2, 1}), {0, 4.0 / 7, 0, 3.0 / 7});
  check_close(warped({1, 1, 1, 0}, {1, 2, 1}), {1.0 / 3, 1.0 / 3, 1.0 / 3, 0});
  check_close(warped(logs({0.5, 0.5}), {1, 7, 1}), {0.5, 0.5});
  CHECK(warped({1, 5, 2}, {1, 1, 1}) == std::vector<double>{0, 1, 0});
}

TEST_CASE("top-p keeps a token while less than p stands before it") {
  check_close(warped(logs({0.1, 0.4, 0.2, 0.3}), {1, 0, 0.65}), {0, 4.0 / 7, 0, 3.0 / 7});  // .4, .7
  check_close(warped(logs({0.1, 0.4, 0.2, 0.3}), {1, 0, 0.75}), {0, 4.0 / 9, 2.0 / 9, 3.0 / 9});
  CHECK(warped({0, 0, 0, 0}, {1, 0, 0.5}) == std::vector<double>{0.5, 0.5, 0, 0});  // exactly p reached: enough
  CHECK(warped({1, 5, 2}, {1, 0, 1e-9}) == std::vector<double>{0, 1, 0});           // the best one always stays
}

TEST_CASE("temperature comes before top-p, and top-k before top-p") {
  // .8 / .2 at temperature 2 are 2/3, 1/3: top-p .7 keeps both; at temperature 1 it would keep the first alone
  check_close(warped(logs({0.8, 0.2}), {2, 0, 0.7}), {2.0 / 3, 1.0 / 3});
  // after top-k 2: 4/7 and 3/7. top-p .5 of that: the first alone; of the whole, .4 < .5 would keep two
  check_close(warped(logs({0.4, 0.3, 0.2, 0.1}), {1, 2, 0.5}), {1, 0, 0, 0});
}

TEST_CASE(
    "a token of logit -infinity never comes; NaN and +infinity are errors of the input, no token at all is a bug") {
  check_close(warped({kNever, 0, 0}, {1, 0, 1}), {0, 0.5, 0.5});
  check_close(warped({kNever, 0, 0}, {1, 3, 0.9}), {0, 0.5, 0.5});
  CHECK_THROWS_AS(warped({0, std::nanf(""), 0}, {1, 0, 1}), InputErrors);
  CHECK_THROWS_AS(warped({std::nanf(""), 0, 0}, {}), InputErrors);
  CHECK_THROWS_AS(warped({0, std::numeric_limits<float>::infinity()}, {1, 0, 1}), InputErrors);
  CHECK_THROWS_AS(warped({kNever, kNever}, {1, 0, 1}), Bug);
  CHECK_THROWS_AS(warped({}, {1, 0, 1}), Bug);
}

TEST_CASE("a draw is the inverse of the cumulative weights and needs no normalisation") {
  const std::vector<double> w{0, 2, 0, 1, 1, 0};
  CHECK(draw(w, 0) == 1);  // never the impossible token 0
  CHECK(draw(w, 0.499) == 1);
  CHECK(draw(w, 0.5) == 3);
  CHECK(draw(w, 0.75) == 4);
  CHECK(draw(w, kAlmostOne) == 4);  // never the impossible token 5
}

TEST_CASE("however the sum rounds, u close to 1 draws a possible token") {
  std::vector<float> w(10001, 0.1F);
  w.back() = 0;
  CHECK(draw(w, kAlmostOne) == 9999);
  const std::vector<double> tiny{std::numeric_limits<double>::denorm_min(), 0};  // u times the sum rounds to the sum
  CHECK(draw(tiny, kAlmostOne) == 0);
}

TEST_CASE("weights that are no distribution and uniforms outside [0, 1) are bugs") {
  CHECK_THROWS_AS(draw(std::vector<double>{0, 0}, 0.5), Bug);
  CHECK_THROWS_AS(draw(std::vector<double>{}, 0.5), Bug);
  CHECK_THROWS_AS(draw(std::vector<double>{1, std::nan("")}, 0.5), Bug);
  CHECK_THROWS_AS(draw(std::vector<double>{1, 1}, 1.0), Bug);
}

TEST_CASE("a draft is drawn from the very row that verification will read") {
  // token 1 has probability e^-110, below the smallest fp32: it is 0 in q and is never drawn
  std::vector<float> q(2);
  CHECK(sample(std::vector<float>{0, -110}, {1, 0, 1}, kAlmostOne, q) == 0);
  CHECK(q == std::vector<float>{1, 0});
  CHECK(sample(std::vector<float>{0, 0}, {1, 0, 1}, 0.75, q) == 1);
  CHECK(q == std::vector<float>{0.5F, 0.5F});
}

TEST_CASE("siblings without replacement differ as long as q has tokens left, others may be equal") {
  const std::vector<float> q{0.5F, 0, 0.25F, 0.25F};
  std::array<int, 4> tokens{-1, -1, -1, -1};
  draw_siblings(q, std::array{0.0, 0.0, 0.0, 0.0}, false, tokens);
  CHECK(tokens == std::array{0, 2, 3, 3});
  draw_siblings(q, std::array{0.0, 0.6, 0.0, 0.6}, true, tokens);
  CHECK(tokens == std::array{0, 2, 0, 2});
  draw_siblings(q, std::array{0.9, 0.7}, false, std::span(tokens).first(2));
  CHECK(tokens[0] == 3);
  CHECK(tokens[1] == 2);  // of .5, .25: 2/3 and 1/3
}

TEST_CASE("pairs without replacement come with q(x) q(y) / (1 - q(x))") {
  const std::vector<float> q{0.5F, 0.25F, 0.25F};
  std::map<std::pair<int, int>, int> seen;
  constexpr int kDraws = 100'000;
  for (int i = 0; i < kDraws; ++i) {
    const auto s = static_cast<std::uint64_t>(i);
    std::array<int, 2> t{};
    draw_siblings(q, std::array{uniform_at(5, s, 0), uniform_at(5, s, 1)}, false, t);
    ++seen[{t[0], t[1]}];
  }
  // 1/4 for each pair that starts with 0; 1/6 for (1, 0) and (2, 0); 1/12 for (1, 2) and (2, 1). Five sigma < 0.007.
  CHECK(seen[{0, 1}] / double{kDraws} == Approx(1.0 / 4).margin(0.007));
  CHECK(seen[{0, 2}] / double{kDraws} == Approx(1.0 / 4).margin(0.007));
  CHECK(seen[{1, 0}] / double{kDraws} == Approx(1.0 / 6).margin(0.007));
  CHECK(seen[{2, 0}] / double{kDraws} == Approx(1.0 / 6).margin(0.007));
  CHECK(seen[{1, 2}] / double{kDraws} == Approx(1.0 / 12).margin(0.007));
  CHECK(seen[{2, 1}] / double{kDraws} == Approx(1.0 / 12).margin(0.007));
}

TEST_CASE("the draft of a position is drawn anew when it is drafted again from nearer") {
  constexpr int kSequences = 64, kColumns = 1000;
  const WeightStore store(DType::fp32);
  RandomWeights weights(1);
  CpuBackend cpu(store, weights, {CpuBackend::Mode::planned, 77, true});
  Ops ops(cpu, DType::fp32, kSequences);
  const auto slot_values = [&](const char* name) { return ops.persistent_per_slot(name, 1, 1, DType::int32); };
  const BatchSlots slots{slot_values("kv_slots"), slot_values("lengths"), slot_values("ids")};
  std::vector<int> ids(kSequences);
  std::iota(ids.begin(), ids.end(), 0);
  ops.upload(slots.kv_slots, ids);
  ops.upload(slots.ids, ids);
  const Tensor logits = ops.persistent("logits", kSequences, kColumns, DType::fp32);  // all alike
  ops.upload(logits, std::vector<int>(std::size_t{kSequences} * kColumns));
  const auto drafts = [&](int length, int ahead) {
    const Tensor kept = ops.persistent("drafts", kSequences, 1, DType::int32);
    ops.upload(slots.lengths, std::vector<int>(kSequences, length));
    ops.store(kept, ops.sample(logits, slots, {1, 0, 1}, ahead).tokens);
    ops.flush();
    return cpu.read(kept);
  };
  const std::vector<int> far = drafts(10, 3), near = drafts(11, 2);
  CHECK(far == drafts(10, 3));
  int same = 0;
  for (std::size_t i = 0; i < near.size(); ++i) same += near[i] == far[i] ? 1 : 0;
  CHECK(same <= 2);  // 64 / 1000 by chance
}
