// SPDX-License-Identifier: Apache-2.0
// Decoders whose weights are set so that what a drafter must draft is known.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/catch.h"
#include "tests/contracts/rig.h"

namespace draftline::test {

// Random weights, some of them set: by name, or by how it ends after "*".
class SetWeights : public WeightSource {
 public:
  using Set = std::function<void(WeightSource& random, int in, int out, std::span<float> to)>;
  explicit SetWeights(std::map<std::string, Set> rules) : rules_(std::move(rules)) {}
  void load(const std::string& name, int in, int out, std::span<float> to) override {
    inputs[name] = in;
    for (const auto& [pattern, set] : rules_)
      if (pattern.front() == '*' ? name.ends_with(pattern.substr(1)) : name == pattern)
        return set(random_, in, out, to);
    random_.load(name, in, out, to);
  }
  std::map<std::string, int> inputs;

 private:
  RandomWeights random_{7};
  std::map<std::string, Set> rules_;
};
using Rules = std::map<std::string, SetWeights::Set>;

inline SetWeights::Set all_equal(float value) {
  return [=](WeightSource&, int, int, std::span<float> to) { std::fill(to.begin(), to.end(), value); };
}
inline SetWeights::Set same_as(const std::string& name) {
  return [=](WeightSource& random, int in, int out, std::span<float> to) { random.load(name, in, out, to); };
}
// The identity from row `first` on, 0 elsewhere: a head that takes one part of its input as it is.
inline SetWeights::Set passes_on(int first) {
  return [=](WeightSource&, int, int out, std::span<float> to) {
    std::fill(to.begin(), to.end(), 0.0F);
    for (int i = 0; i < out; ++i) to[static_cast<std::size_t>((first + i) * out + i)] = 1;
  };
}

inline std::vector<Generated> run(const Plan& plan, SetWeights& weights, int prompts_wanted = 12, int tokens = 40) {
  const Document text = Rig::text_of(plan);
  Decoder decoder(
      Decoder::Options{
          .target = tiny_shape(Network::llama), .precision = Precision(DType::fp32), .slots = 4, .capacity = 256},
      MethodSpec(text.root()), [](const NamedNetwork&) { return tiny_shape(Network::llama); },
      [&](const WeightStore& store) -> std::unique_ptr<Backend> {
        return std::make_unique<CpuBackend>(store, weights, CpuBackend::Options{CpuBackend::Mode::planned, 1, true});
      });
  return generate(decoder.generator, prompts(prompts_wanted, 21), {tokens, {}, 4});
}

// Accepted lengths are what a chain of the root's copies earns on that text.
inline void check_drafts_repeat_the_root(const Plan& plan, int depth, Rules rules) {
  INFO(plan.method << plan.parameters);
  SetWeights weights(std::move(rules));
  int longer = 0;
  for (const Generated& g : run(plan, weights)) {
    std::size_t at = 0;
    for (const int accepted : g.accepted) {
      if (at + static_cast<std::size_t>(depth) >= g.tokens.size()) break;
      int equal = 1;
      while (equal <= depth && g.tokens[at + static_cast<std::size_t>(equal)] == g.tokens[at]) ++equal;
      CHECK(accepted == std::min(equal, depth + 1));
      longer += accepted > 1;
      at += static_cast<std::size_t>(accepted);
    }
  }
  CHECK(longer > 0);
}

}  // namespace draftline::test
