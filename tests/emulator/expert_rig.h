// SPDX-License-Identifier: Apache-2.0
// A mixture of experts twice: on the CPU backend and by its CUDA kernels, with a say in who chooses whom.
#pragma once
#include <map>

#include "decoder/cuda/experts/experts.h"
#include "tests/emulator/op_rig.h"

namespace draftline::cuda {

struct Routing {
  std::vector<int> first = {};               // the expert that a row prefers; none: as the numbers fall
  std::vector<int> closed = {};              // experts that nobody chooses; their weights are NaN
  bool choice_bias = false, biases = false;  // of the choice; of the router and of the experts' matrices
  bool beside_mlp = false;                   // the router reads rows of its own, and each expert has a factor
};

// Numbers that T can hold. The last inputs decide: one closes experts, one for each expert leads to it.
template <class T>
struct MixtureNumbers : WeightSource {
  MixtureNumbers(const ExpertShape& shape, const Routing& routing, unsigned seed) : m(shape), dice(seed) {
    const int deciding = m.hidden - m.experts - 1;
    for (int c = deciding; c < m.hidden; ++c) {
      const int leads_to = c - deciding - 1;
      for (int r = 0; r < m.rows; ++r) {
        const bool led = !routing.first.empty() && routing.first[static_cast<std::size_t>(r)] == leads_to;
        x[at(r, c, m.hidden)] = c == deciding || led ? 1.0F : 0.0F;
      }
      for (int e = 0; e < m.experts; ++e) router[at(c, e, m.experts)] = leads_to == e ? 20.0F : 0.0F;
    }
    for (const int e : routing.closed) {
      router[at(deciding, e, m.experts)] = -60;
      for (auto* w : {&gate_up, &down}) {
        const auto size = static_cast<std::ptrdiff_t>(w->size()) / m.experts;
        std::fill_n(w->begin() + e * size, size, std::numeric_limits<float>::quiet_NaN());
      }
    }
  }
  std::vector<float> normal(int rows, int cols, int inputs) {
    return dice.normal<T>(at(rows, 0, cols), 1 / std::sqrt(static_cast<float>(inputs)));
  }
  void load(const std::string& name, int, int, std::span<float> to) override {
    const std::map<std::string, const std::vector<float>*> all{
        {"router", &router},           {"gate_up", &gate_up},          {"down", &down},
        {"choice_bias", &choice_bias}, {"router_bias", &router_bias},  {"gate_up_bias", &gate_up_bias},
        {"down_bias", &down_bias},     {"expert_scale", &expert_scale}};
    const std::vector<float>& from = *all.at(name);
    REQUIRE(to.size() == from.size());
    std::copy(from.begin(), from.end(), to.begin());
  }
  static std::size_t at(int r, int c, int stride) { return static_cast<std::size_t>(r * stride + c); }

  ExpertShape m;
  Dice dice;
  std::vector<float> x = normal(m.rows, m.hidden, 1), router = normal(m.hidden, m.experts, m.hidden),
                     gate_up = normal(m.experts * m.hidden, 2 * m.inner, m.hidden),
                     down = normal(m.experts * m.inner, m.hidden, m.inner);
  // Of the size of differences between scores, and of what they are added to.
  std::vector<float> choice_bias = normal(1, m.experts, 16), router_bias = normal(1, m.experts, 4),
                     gate_up_bias = normal(m.experts, 2 * m.inner, 1), down_bias = normal(m.experts, m.hidden, 1),
                     expert_scale = normal(1, m.experts, 1), seen = normal(m.rows, m.hidden, 1);
};

// The op of a shape, but for its weights.
inline MixtureOfExperts experts_of(const ExpertShape& m, Tensor x, Tensor y) {
  MixtureOfExperts op{};
  op.x = x;
  op.gate = m.gate;
  op.y = y;
  op.choice = {
      m.experts, m.per_token,        m.normalise, m.sigmoid ? Experts::Score::sigmoid : Experts::Score::softmax,
      m.groups,  m.groups_per_token, m.scale,     m.weighs_inputs};
  return op;
}

template <class T>
struct Mixture {
  explicit Mixture(const ExpertShape& shape, const Routing& r = {}, unsigned seed = 1)
      : m(shape), routing(r), numbers(shape, r, seed) {}

  std::vector<float> expected() {
    WeightStore store(DType::fp32);
    CpuBackend backend(store, numbers, {CpuBackend::Mode::planned, 0, true});
    Ops ops(backend, DType::fp32, 1);
    const Tensor x = ops.persistent("x", m.rows, m.hidden, DType::fp32),
                 y = ops.persistent("y", m.rows, m.hidden, DType::fp32);
    const auto fill = [&](Tensor to, const std::vector<float>& from) {
      std::vector<int> bits(from.size());
      std::memcpy(bits.data(), from.data(), sizeof(float) * bits.size());
      ops.upload(to, bits);
    };
    fill(x, numbers.x);
    ExpertWeights w{store.matrix("router", m.hidden, m.experts),
                    store.matrix("gate_up", m.experts * m.hidden, 2 * m.inner),
                    store.matrix("down", m.experts * m.inner, m.hidden)};
    if (routing.choice_bias) w.choice_bias = store.vector("choice_bias", m.experts);
    if (routing.biases) {
      w.router_bias = store.vector("router_bias", m.experts);
      w.gate_up_bias = store.table("gate_up_bias", m.experts, 2 * m.inner);
      w.down_bias = store.table("down_bias", m.experts, m.hidden);
    }
    Experts experts{m.experts, m.per_token, m.inner, m.normalise};
    experts.score = m.sigmoid ? Experts::Score::sigmoid : Experts::Score::softmax;
    experts.groups = m.groups;
    experts.groups_per_token = m.groups_per_token;
    experts.scale = m.scale;
    experts.weighs_inputs = m.weighs_inputs;
    std::optional<Tensor> seen;
    if (routing.beside_mlp) {
      seen = ops.persistent("seen", m.rows, m.hidden, DType::fp32);
      fill(*seen, numbers.seen);
      w.expert_scale = store.vector("expert_scale", m.experts);
    }
    ops.store(y, ops.mixture_of_experts(x, w, experts, m.gate, 0, seen));
    ops.flush();
    return backend.read_floats(y);
  }

  // Rows of y lie 8 columns apart. What lies behind the counters of the scratch is nobody's.
  void launch(const Stream& stream) const {
    OpRunner d(stream);
    d.with.scratch = work.scratch();
    MixtureOfExperts op = experts_of(m, d(x), d(View<T>{y.view().data, m.rows, m.hidden, m.hidden + 8}));
    op.w = {d.weight(router), d.weight(gate_up), d.weight(down)};
    if (routing.choice_bias) op.w.choice_bias = d.weight(choice_bias);
    if (routing.biases) {
      op.w.router_bias = d.weight(router_bias);
      op.w.gate_up_bias = d.weight(gate_up_bias);
      op.w.down_bias = d.weight(down_bias);
    }
    if (routing.beside_mlp) {
      op.w.expert_scale = d.weight(expert_scale);
      op.routed = d(seen);
    }
    d.run<T>(op);
  }
  void forget() const {
    must(cudaMemset(work.buffer.data() + kCounterBytes, 0xff, work.buffer.bytes() - kCounterBytes), "filling");
    must(cudaMemset(y.view().data, 0xff, sizeof(T) * numbers.at(m.rows, 0, m.hidden + 8)), "filling");
    wait_for_device();
  }
  std::vector<float> run() const {
    const Stream stream;
    forget();
    launch(stream);
    stream.wait();
    return result();
  }
  std::vector<float> result() const {
    const auto all = y.floats();
    std::vector<float> rows;
    int beside = 0;
    for (int r = 0; r < m.rows; ++r)
      for (int c = 0; c < m.hidden + 8; ++c)
        if (const float v = all[numbers.at(r, c, m.hidden + 8)]; c < m.hidden) rows.push_back(v);
        else beside += !std::isnan(v);
    CHECK(beside == 0);
    return rows;
  }

  ExpertShape m;
  Routing routing;
  MixtureNumbers<T> numbers;
  Array<T> x{numbers.x, m.hidden}, router{numbers.router, m.experts}, gate_up{numbers.gate_up, 2 * m.inner},
      down{numbers.down, m.hidden}, choice_bias{numbers.choice_bias, m.experts},
      router_bias{numbers.router_bias, m.experts}, gate_up_bias{numbers.gate_up_bias, 2 * m.inner},
      down_bias{numbers.down_bias, m.hidden}, expert_scale{numbers.expert_scale, m.experts},
      seen{numbers.seen, m.hidden}, y{m.rows, m.hidden + 8};
  Workspace work{expert_scratch<T>(m)};
};

}  // namespace draftline::cuda
