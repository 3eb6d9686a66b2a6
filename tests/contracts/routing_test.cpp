// SPDX-License-Identifier: Apache-2.0
// Routers and gates by hand: one column, two or four experts whose matrices are single numbers.
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "decoder/cpu/backend.h"
#include "decoder/ops.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

struct Given : WeightSource {
  std::map<std::string, std::vector<float>> values;
  void load(const std::string& name, int, int, std::span<float> to) override {
    const auto& from = values.at(name);
    REQUIRE(from.size() == to.size());
    std::copy(from.begin(), from.end(), to.begin());
  }
};

float silu(float x) { return x / (1 + std::exp(-x)); }
float sigmoid(float x) { return 1 / (1 + std::exp(-x)); }

// A mixture over rows of one column. Expert e has gate and up 1, and writes e + 1 times what its MLP computes.
struct Mixture {
  Experts experts;
  std::vector<float> logits;  // of a row of value 1
  std::vector<float> choice_bias = {}, router_bias = {}, gate_up_bias = {}, down_bias = {};
  MlpKind gate = MlpKind::gated_silu;

  float of(float x) const {
    const int n = experts.count;
    Given given;
    auto& v = given.values;
    v["x"] = {x};
    v["router"] = logits;
    for (int e = 0; e < n; ++e) {
      v["gate_up"].insert(v["gate_up"].end(), {1, 1});
      v["down"].push_back(static_cast<float>(e + 1));
    }
    WeightStore store(DType::fp32);
    ExpertWeights w{store.table("router", 1, n), store.table("gate_up", n, 2), store.table("down", n, 1)};
    const auto bias = [&](const char* name, const std::vector<float>& values, int rows, int columns) {
      if (values.empty()) return std::optional<Weight>();
      v[name] = values;
      return std::optional(store.table(name, rows, columns));
    };
    w.choice_bias = bias("choice_bias", choice_bias, 1, n);
    w.router_bias = bias("router_bias", router_bias, 1, n);
    w.gate_up_bias = bias("gate_up_bias", gate_up_bias, n, 2);
    w.down_bias = bias("down_bias", down_bias, n, 1);
    const Weight row = store.table("x", 1, 1);
    CpuBackend backend(store, given);
    Ops ops(backend, DType::fp32, 1);
    const Tensor y = ops.persistent("y", 1, 1, DType::fp32);
    ops.store(y, ops.mixture_of_experts(ops.embed(row, ops.input("ids", std::vector<int>{0})), w, experts, gate));
    ops.flush();
    return backend.read_floats(y).front();
  }
};

}  // namespace

TEST_CASE("a router weighs the chosen experts as its network does", "[contract]") {
  const float third = std::log(3.0F);  // softmax of (ln 3, 0): 3/4 and 1/4
  Mixture m{Experts{2, 1, 1, false}, {third, 0}};
  CHECK(m.of(1) == Approx(0.75 * silu(1)));
  m.experts.normalise = true;
  CHECK(m.of(1) == Approx(silu(1)));
  m.experts.normalise = false;
  m.experts.score = Experts::Score::softmax_of_chosen;
  CHECK(m.of(1) == Approx(silu(1)));
  m.experts.score = Experts::Score::sigmoid;
  m.experts.scale = 2;
  CHECK(m.of(1) == Approx(2 * sigmoid(third) * silu(1)));
  m.choice_bias = {0, 1};  // the second is chosen, by its own score
  CHECK(m.of(1) == Approx(2 * sigmoid(0) * 2 * silu(1)));
  m.choice_bias.clear();
  m.router_bias = {-5, 0};  // of the scores themselves
  CHECK(m.of(1) == Approx(2 * sigmoid(0) * 2 * silu(1)));
}

TEST_CASE("a token's experts lie within its best groups", "[contract]") {
  // Groups (0, 1) and (2, 3): the best expert is in the first, the best two together are the second's.
  Mixture m{Experts{4, 1, 1, false}, {2, -9, 1.9F, 1.8F}};
  m.experts.score = Experts::Score::sigmoid;
  m.experts.groups = 2;
  CHECK(m.of(1) == Approx(sigmoid(2) * silu(1)));  // a group is as good as its best
  m.choice_bias = {0, 0, 0, 0};
  CHECK(m.of(1) == Approx(sigmoid(1.9F) * 3 * silu(1)));  // as its best two
}

TEST_CASE("a weight on inputs, biases and the clamped gate", "[contract]") {
  Mixture m{Experts{2, 1, 1, false}, {0.5F, 0}};
  m.experts.score = Experts::Score::sigmoid;
  m.experts.weighs_inputs = true;
  const float in = sigmoid(0.5F);
  CHECK(m.of(1) == Approx(silu(in) * in));
  m.experts.weighs_inputs = false;
  m.experts.normalise = true;
  m.gate = MlpKind::clamped_swiglu;
  const auto glu = [](float g, float u) { return g * sigmoid(1.702F * g) * (u + 1); };
  CHECK(m.of(1) == Approx(glu(1, 1)));
  CHECK(m.of(20) == Approx(glu(7, 7)));
  CHECK(m.of(-20) == Approx(2 * glu(-20, -7)).margin(1e-12));  // the second: its logit is less below 0
  m.gate_up_bias = {0.5F, -0.25F, 0, 0};
  m.down_bias = {3, 0};
  CHECK(m.of(1) == Approx(glu(1.5F, 0.75F) + 3));
}

TEST_CASE("a sum is scaled as a whole, and a cap bends what comes near it", "[contract]") {
  Given given;
  given.values = {{"a", {1, -3}}, {"b", {2, 1}}, {"scale", {0.5F}}};
  WeightStore store(DType::fp32);
  const Weight a = store.table("a", 1, 2), b = store.table("b", 1, 2), scale = store.vector("scale", 1);
  CpuBackend backend(store, given);
  Ops ops(backend, DType::fp32, 1);
  const Tensor id = ops.input("ids", std::vector<int>{0}), y = ops.persistent("y", 2, 2, DType::fp32);
  ops.store(row_range(y, 0, 1), ops.add_scaled(ops.embed(a, id), ops.embed(b, id), scale));
  ops.store(row_range(y, 1, 1), ops.soft_cap(ops.embed(a, id), 2));
  ops.flush();
  const auto values = backend.read_floats(y);
  CHECK((values[0] == 1.5F && values[1] == -1));
  CHECK(values[2] == Approx(2 * std::tanh(0.5)));
  CHECK(values[3] == Approx(2 * std::tanh(-1.5)));
}

TEST_CASE("a GRU moves its state towards a candidate, as far as its update gate lets it", "[contract]") {
  // With a state, reset and update are sigmoid(0) = 1/2, and the candidate is tanh(0.5 + 2 / 2); without one, the
  // update is sigmoid(-3), and the candidate tanh(0.5).
  Given given;
  given.values = {{"input", {1, -3, 0.5F}}, {"gates", {-1, 3, 2}}, {"state", {4}}};
  WeightStore store(DType::fp32);
  const Weight input = store.table("input", 1, 3), gates = store.table("gates", 1, 3),
               state = store.table("state", 1, 1);
  CpuBackend backend(store, given);
  Ops ops(backend, DType::fp32, 1);
  const Tensor id = ops.input("ids", std::vector<int>{0}), y = ops.persistent("y", 2, 1, DType::fp32),
               x = ops.embed(input, id);
  ops.store(row_range(y, 0, 1), ops.gru_cell(x, ops.embed(gates, id), ops.embed(state, id)));
  ops.store(row_range(y, 1, 1), ops.gru_cell(x, {}, {}));
  ops.flush();
  const auto values = backend.read_floats(y);
  CHECK(values[0] == Approx((std::tanh(1.5) + 4) / 2));
  CHECK(values[1] == Approx(sigmoid(3) * std::tanh(0.5)));
}

TEST_CASE("experts beside a dense MLP read another router's rows, and each has a factor of its own", "[contract]") {
  Given given;
  given.values = {{"x", {1, 2}},
                  {"seen", {0, 1}},
                  {"router", {9, 0, 0, 9}},
                  {"scale", {7, 0.5F}},
                  {"gate_up", {0, 0, 0, 0, 1, 0, 0, 2}},
                  {"down", {0, 0, 1, -1}}};
  WeightStore store(DType::fp32);
  const Weight table = store.table("x", 1, 2), seen = store.table("seen", 1, 2);
  ExpertWeights w{store.table("router", 2, 2), store.experts("gate_up", 2, 2, 2), store.experts("down", 2, 1, 2)};
  w.expert_scale = store.vector("scale", 2);
  CpuBackend backend(store, given);
  Ops ops(backend, DType::fp32, 1);
  const Tensor id = ops.input("ids", std::vector<int>{0}), y = ops.persistent("y", 1, 2, DType::fp32);
  const Experts one{2, 1, 1, true};
  ops.store(y, ops.mixture_of_experts(ops.embed(table, id), w, one, MlpKind::gated_gelu, 0, ops.embed(seen, id)));
  ops.flush();
  // The second expert, as the router sees (0, 1): gate 1, up 4.
  const double gelu = 0.5 * (1 + std::tanh(0.7978845608 * (1 + 0.044715)));
  CHECK(backend.read_floats(y)[0] == Approx(0.5 * gelu * 4));
  CHECK(backend.read_floats(y)[1] == Approx(-0.5 * gelu * 4));
}

TEST_CASE("a gate multiplies by its sigmoid, column by column or all alike", "[contract]") {
  Given given;
  given.values = {{"x", {2, 4}}, {"gate", {0, 1}}, {"one", {1}}};
  WeightStore store(DType::fp32);
  const Weight x = store.table("x", 1, 2), gate = store.table("gate", 1, 2), one = store.table("one", 1, 1);
  CpuBackend backend(store, given);
  Ops ops(backend, DType::fp32, 1);
  const Tensor id = ops.input("ids", std::vector<int>{0}), y = ops.persistent("y", 2, 2, DType::fp32);
  ops.store(row_range(y, 0, 1), ops.sigmoid_mul(ops.embed(x, id), ops.embed(gate, id)));
  ops.store(row_range(y, 1, 1), ops.sigmoid_mul(ops.embed(x, id), ops.embed(one, id)));
  ops.flush();
  const auto values = backend.read_floats(y);
  CHECK(values[0] == Approx(1));
  CHECK(values[1] == Approx(4 * sigmoid(1)));
  CHECK(values[2] == Approx(2 * sigmoid(1)));
  CHECK(values[3] == Approx(4 * sigmoid(1)));
}
