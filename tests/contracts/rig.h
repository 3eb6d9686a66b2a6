// SPDX-License-Identifier: Apache-2.0
// Small networks for contract tests: every method of the table, on the CPU or priced, from one seed.
#pragma once
#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/rng.h"
#include "decoder/cpu/backend.h"
#include "decoder/op_work.h"
#include "decoder/priced/backend.h"
#include "decoder/random_weights.h"
#include "methods/decoder.h"

namespace draftline::test {

enum class Network {
  llama,
  qwen2,
  qwen3,
  mixture,
  latent,
  deepseek,
  sparse,
  windows,
  gemma4,
  hybrid,
  column_gates,
  state_spaces
};
inline HeadAttention& heads_of(LayerShape& layer) { return std::get<HeadAttention>(layer.attention); }

// All that Gemma 3, gpt-oss, Llama 4 and MiMo-V2 do to attention, in windows that texts fill.
inline LayerShape windows_layer(LayerShape layer, int index) {
  HeadAttention& a = heads_of(layer);
  a.heads.value_dim = 6;
  a.value_norm = a.o_bias = true;
  a.query_scale = 0.3;
  a.qk_norm = QkNorm::unweighted;
  if (index % 3 == 0) {
    a.window = TextWindow{7};
    a.heads = {6, 3, 10, 4};
    a.rope = {100, 6};
    a.sinks = true;
  } else if (index % 3 == 1) {
    a.window = TextWindow{7, true};
  } else {
    a.rope = {10000, 0, {}, QueryGrowth{5, 0.3}};
    a.qk_norm = QkNorm::none;
  }
  layer.norms = NormPlacement::both;
  layer.scaled = true;
  std::get<DenseMlp>(layer.mlp).kind = MlpKind::gated_gelu;
  return layer;
}

// Wide heads without windows whose keys are their values, experts beside the MLP.
inline LayerShape gemma4_layer(LayerShape layer, int index) {
  HeadAttention& a = heads_of(layer);
  a.qk_norm = QkNorm::each_head;
  a.value_norm = true;
  a.query_scale = 1;
  if (index % 3 == 2) {
    a.heads = {4, 1, 12, 12, true};
    a.rope = {10000, 12, RopeScaling{.kind = RopeScaling::Kind::proportional, .turned = 0.5}};
  } else {
    a.window = TextWindow{7};
    a.rope = {100, 8};
  }
  layer.norms = NormPlacement::both;
  layer.scaled = true;
  Experts experts{5, 2, 24, true};
  experts.kind = MlpKind::gated_gelu;
  layer.mlp = ExpertsBesideMlp{{48, MlpKind::gated_gelu}, experts};
  return layer;
}

inline LatentHeads tiny_latent_heads() {
  return {.heads = 4,
          .dims = {.q_rank = 20, .kv_rank = 18, .nope_dim = 6, .rope_dim = 4, .value_dim = 5},
          .rope = {.columns = 4}};
}

// State spaces alone, with an MLP, and beside attention; experts of narrower rows and an MLP without gates alone.
inline LayerShape state_space_layer(LayerShape layer, int index) {
  const Mamba2 mamba{.heads = 4, .head_dim = 6, .groups = 2, .state_dim = 8, .state = DType::fp32};
  Experts experts{5, 2, 24, true, 40};
  experts.kind = MlpKind::squared_relu;
  experts.latent = 12;
  if (index < 3 && index != 1) layer.attention = mamba;
  if (index == 0) layer.mlp = NoMlp{};
  if (index == 1) layer.attention = NoAttention{}, layer.mlp = experts;
  if (index == 4) layer.attention = AttentionBesideMamba{*layer.heads(), mamba};
  if (index == 5) layer.mlp = DenseMlp{48, MlpKind::squared_relu};
  return layer;
}

inline LayerShape tiny_layer(Network kind, int index) {
  LayerShape layer = llama_layer(32, {4, 2, 8, 8}, 48);
  const Experts experts{5, 2, 24, true, 40};  // behind two dense layers, and one that all tokens pass
  switch (kind) {
    case Network::llama: break;
    case Network::qwen2:
      heads_of(layer).qkv_bias = true;
      layer.norms = NormPlacement::behind;
      break;
    case Network::qwen3: heads_of(layer).qk_norm = QkNorm::each_head; break;
    case Network::mixture:
      if (index >= 2) layer.mlp = experts;
      break;
    case Network::latent: layer.attention = tiny_latent_heads(); break;
    case Network::deepseek:
      layer.attention = tiny_latent_heads();
      if (index >= 2) {
        Experts e = experts;
        e.count = 6;
        e.groups = 3;
        e.groups_per_token = 2;
        e.score = Experts::Score::sigmoid;
        e.choice_bias = true;
        e.scale = 1.5;
        layer.mlp = e;
      }
      break;
    case Network::sparse: {
      LatentHeads a = tiny_latent_heads();
      a.shares_choice = index == 2 || index == 3;
      if (!a.shares_choice) a.dims.indexer = Indexer{.heads = 7, .head_dim = 6, .top_k = 5};
      layer.attention = a;
      break;
    }
    case Network::windows: return windows_layer(layer, index);
    case Network::gemma4: return gemma4_layer(layer, index);
    case Network::hybrid:  // gated delta networks among layers of gated attention
      heads_of(layer).qk_norm = QkNorm::each_head;
      heads_of(layer).output_gate = true;
      heads_of(layer).rope.columns = 2;
      if (index != 3 && index != 5) layer.attention = DeltaNet{2, 4, 8, 6, 4, DType::fp32};
      break;
    case Network::column_gates:  // delta networks with gates per column, with and without full rank
      if (index != 3)
        layer.attention = DeltaNet{.key_heads = 2,
                                   .value_heads = 4,
                                   .key_dim = 8,
                                   .value_dim = 6,
                                   .state = DType::fp32,
                                   .column_gates = DeltaNet::ColumnGates{5, index > 3}};
      break;
    case Network::state_spaces: return state_space_layer(layer, index);
  }
  return layer;
}

inline TransformerShape tiny_shape(Network kind) {
  TransformerShape s;
  s.name = "tiny";
  s.hidden = 32;
  s.intermediate = 48;
  s.vocabulary = 12;
  for (int i = 0; i < 6; ++i) s.add_layer(tiny_layer(kind, i));
  if (kind == Network::windows) s.embedding_scale = 2;
  if (kind == Network::windows || kind == Network::gemma4) s.logit_cap = 3;
  return s;
}

// Plans of every method that the contracts are checked for: parameters as a scenario would give them.
struct Plan {
  std::string method, parameters;
};
inline std::vector<Plan> plans_of(const methods::Entry& e) {
  std::vector<Plan> plans;
  for (const auto example : e.examples)
    plans.push_back({std::string(e.name), (example.empty() ? "" : ", ") + std::string(example)});
  return plans;
}

inline std::vector<Plan> all_plans() {
  std::vector<Plan> plans;
  for (const methods::Entry& e : methods::all())
    for (const Plan& p : plans_of(e)) plans.push_back(p);
  return plans;
}
inline std::string label(const Plan& p) { return p.method + " " + p.parameters; }

// Of random weights: a drafter that adds little to the target's own state agrees with it at times.
inline double strength(const std::string& name) {
  static const std::vector<std::string> weak{"hass.", "eagle1.", "eagle2.", "eagle3."};
  return std::any_of(weak.begin(), weak.end(), [&](const auto& w) { return name.starts_with(w); }) ? 0.5 : 1.0;
}

// What every rig draws from the same seeds, drawn once a process: it took a fifth of the contracts' time.
class RememberedWeights : public WeightSource {
 public:
  RememberedWeights(WeightSource& source, double noise) : source_(source), noise_(noise) {}
  void load(const std::string& name, int in, int out, std::span<float> to) override {
    static std::map<std::tuple<double, std::string, int, int>, std::vector<float>> drawn;
    const auto [at, is_new] = drawn.try_emplace({noise_, name, in, out}, to.size());
    if (is_new) source_.load(name, in, out, at->second);
    std::copy(at->second.begin(), at->second.end(), to.begin());
  }

 private:
  WeightSource& source_;
  double noise_;
};

struct Rig {
  enum class Kind { cpu_immediate, cpu_planned, priced };
  RandomWeights random;
  PerturbedWeights source;  // "draft." weights: the target's own, with noise
  RememberedWeights weights;
  Document method_text;
  Decoder decoder;
  Totals totals;
  std::vector<std::vector<SegmentRun>> steps;

  static Document text_of(const Plan& p) {
    return Document::from_text("{\"name\":\"" + p.method + "\"" + p.parameters + "}", "plan.json");
  }
  Rig(const Plan& plan, Kind kind, int slots, Network network = Network::llama, double noise = 0.15,
      Sampling sampling = {}, std::uint64_t seed = 1, int capacity = 256)
      : random(7, strength),
        source(random, "draft.", noise, 11),
        weights(source, noise),
        method_text(text_of(plan)),
        decoder(
            {tiny_shape(network), Precision(DType::fp32), slots, capacity, {}, sampling}, read_method(method_text),
            [network](const NamedNetwork&) {
              return tiny_shape(network >= Network::hybrid ? Network::llama : network);  // of a draft network
            },
            [&](const WeightStore& store) -> std::unique_ptr<Backend> {
              if (kind == Kind::priced) return std::make_unique<PricedBackend>();
              const auto mode = kind == Kind::cpu_planned ? CpuBackend::Mode::planned : CpuBackend::Mode::immediate;
              return std::make_unique<CpuBackend>(store, weights, CpuBackend::Options{mode, seed, true});
            }) {
    decoder.ops.on_segment = [this](const SegmentRun& run) {
      totals.add(run, decoder.generator.now().lengths);
      if (steps.empty()) steps.emplace_back();
      steps.back().push_back(run);
    };
  }
  CpuBackend& cpu() { return static_cast<CpuBackend&>(*decoder.backend); }
  std::vector<Generated> run(const std::vector<std::vector<int>>& prompts, const Limits& limits) {
    return generate(decoder.generator, prompts, limits);
  }
};

// Plans of the methods that a network can have: some refuse a target with latent attention.
inline std::vector<Plan> plans_for(Network network) {
  std::vector<Plan> plans = all_plans();
  if (tiny_shape(network).latent() != nullptr)
    std::erase_if(plans, [network](const Plan& p) {
      try {
        const Rig rig(p, Rig::Kind::priced, 1, network);
        return false;
      } catch (const MethodMistake& e) { return e.mistake().text.find("latent") != std::string::npos; }
    });
  return plans;
}

inline std::vector<std::vector<int>> prompts(int n, std::uint64_t seed, int vocabulary = 12) {
  Rng rng(seed, "prompts");
  std::vector<std::vector<int>> all;
  for (int i = 0; i < n; ++i) {
    all.emplace_back();
    for (std::uint64_t j = 0, length = 1 + rng.below(9); j < length; ++j)
      all.back().push_back(static_cast<int>(rng.below(static_cast<std::uint64_t>(vocabulary))));
  }
  return all;
}

inline std::vector<std::vector<int>> texts(const std::vector<Generated>& all) {
  std::vector<std::vector<int>> t;
  for (const Generated& g : all) t.push_back(g.tokens);
  return t;
}

}  // namespace draftline::test
