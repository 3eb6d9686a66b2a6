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

enum class Network { llama, qwen2, qwen3, mixture, latent, deepseek, sparse, windows, gemma4, hybrid };
inline TransformerShape tiny_shape(Network kind) {
  TransformerShape s;
  s.name = "tiny";
  s.hidden = 32;
  s.layers = 6;
  s.heads = 4;
  s.kv_heads = 2;
  s.head_dim = 8;
  s.intermediate = 48;
  s.vocabulary = 12;
  s.qkv_bias = kind == Network::qwen2;
  s.tied_embeddings = false;
  if (kind == Network::qwen3) s.qk_norm = QkNorm::each_head;
  if (kind == Network::qwen2) s.norms = NormPlacement::behind;
  if (kind == Network::mixture || kind == Network::deepseek) {
    s.experts = Experts{5, 2, 24, true, 40};  // behind two dense layers, and one that all tokens pass
    s.layer_kinds.assign(6, {.experts = true});
    s.layer_kinds[0] = s.layer_kinds[1] = {};
  }
  if (kind == Network::latent || kind == Network::deepseek || kind == Network::sparse) {
    s.latent = LatentAttention{.q_rank = 20, .kv_rank = 18, .nope_dim = 6, .rope_dim = 4, .value_dim = 5};
    s.head_dim = 10;
    s.kv_heads = s.heads;
    if (kind == Network::sparse) {
      s.latent->indexer = Indexer{.heads = 7, .head_dim = 6, .top_k = 5};
      s.layer_kinds.assign(6, {});
      s.layer_kinds[2].shares_choice = s.layer_kinds[3].shares_choice = true;
    }
  }
  if (kind == Network::deepseek) {
    Experts& e = *s.experts;
    e.count = 6;
    e.groups = 3;
    e.groups_per_token = 2;
    e.score = Experts::Score::sigmoid;
    e.choice_bias = true;
    e.scale = 1.5;
  }
  if (kind == Network::windows) {  // all that Gemma 3, gpt-oss, Llama 4 and MiMo-V2 do to attention, in windows that
                                   // texts fill
    s.window = 7;
    s.layer_kinds.assign(6, {.attention = AttentionKind::sliding});
    s.layer_kinds[1].attention = s.layer_kinds[4].attention = AttentionKind::chunked;
    s.layer_kinds[2] = s.layer_kinds[5] = {.rope = false};
    s.window_rope = WindowRope{100, 0.6};
    s.query_growth = QueryGrowth{5, 0.3};
    s.value_norm = s.layer_scale = true;
    s.logit_cap = 3;
    s.o_bias = s.rotated_qk_norm = true;
    s.sinks = Sinks::windowed;
    s.value_dim = 6;
    s.windowed_heads = AttentionHeads{6, 3, 10, 4};
    s.norms = NormPlacement::both;
    s.mlp = MlpKind::gated_gelu;
    s.query_scale = 0.3;
    s.embedding_scale = 2;
  }
  if (kind == Network::gemma4) {  // wide heads without windows whose keys are their values, experts beside the MLP
    s.window = 7;
    s.layer_kinds.assign(6, {.attention = AttentionKind::sliding, .experts = true});
    s.layer_kinds[2].attention = s.layer_kinds[5].attention = AttentionKind::full;
    s.windowed_heads = AttentionHeads{4, 2, 8, 8};
    s.kv_heads = 1, s.head_dim = 12;
    s.values_are_keys = s.value_norm = s.layer_scale = true;
    s.rope_scaling = RopeScaling{.kind = RopeScaling::Kind::proportional, .turned = 0.5};
    s.window_rope = WindowRope{100};
    s.qk_norm = QkNorm::each_head;
    s.norms = NormPlacement::both;
    s.mlp = MlpKind::gated_gelu;
    s.query_scale = 1;
    s.logit_cap = 3;
    s.experts = Experts{5, 2, 24, true};
    s.experts->beside_mlp = true;
  }
  if (kind == Network::hybrid) {  // gated delta networks among layers of gated attention
    s.qk_norm = QkNorm::each_head;
    s.output_gate = true;
    s.rotary_share = 0.25;
    s.delta_net = DeltaNet{2, 4, 8, 6, 4, DType::fp32};
    s.layer_kinds.assign(6, {.attention = AttentionKind::delta_net});
    s.layer_kinds[3] = s.layer_kinds[5] = {};
  }
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
// Block drafters have layers of the target's heads, and none is known for a target with latent attention; nor are
// compressed caches of latents.
inline std::vector<Plan> plans_for(Network network) {
  std::vector<Plan> plans = all_plans();
  if (tiny_shape(network).latent)
    std::erase_if(plans, [](const Plan& p) {
      return p.method == "dflash" || p.method == "dflash2" || p.method == "dspark" || p.method == "triforce" ||
             p.method == "gemma4_assistant" || p.method.starts_with("magicdec_");
    });
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
            {tiny_shape(network), Precision(DType::fp32), slots, capacity, {}, sampling},
            MethodSpec(method_text.root()),
            [network](const Reader& in) {
              static_cast<void>(in.text());
              return tiny_shape(network == Network::hybrid ? Network::llama : network);  // of a draft network
            },
            [&](const WeightStore& store) -> std::unique_ptr<Backend> {
              if (kind == Kind::priced) return std::make_unique<PricedBackend>();
              const auto mode = kind == Kind::cpu_planned ? CpuBackend::Mode::planned : CpuBackend::Mode::immediate;
              return std::make_unique<CpuBackend>(store, weights, CpuBackend::Options{mode, seed, true});
            }) {
    method_text.finish();
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
