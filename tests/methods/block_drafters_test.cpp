// SPDX-License-Identifier: Apache-2.0
// Oracles of drafters that propose all tokens in one pass.
#include "tests/methods/set_weights.h"

using namespace draftline;
using namespace draftline::test;

namespace {

std::vector<std::vector<int>> accepted_steps(const Plan& plan, Rules rules = {}, int texts = 24, int tokens = 24) {
  SetWeights weights(std::move(rules));
  std::vector<std::vector<int>> all;
  for (const Generated& g : run(plan, weights, texts, tokens)) all.push_back(g.accepted);
  return all;
}
// What the first step of each of many texts emits, counting `most` tokens at most.
std::vector<int> first_steps(const Plan& plan, int most, Rules rules = {}) {
  std::vector<int> first;
  for (const auto& accepted : accepted_steps(plan, std::move(rules), 150, 4))
    first.push_back(std::min(accepted.front(), most));
  return first;
}
Rules all_as(const std::string& to, const std::string& from, std::initializer_list<const char*> names) {
  Rules rules;
  for (const char* name : names) rules[to + name] = same_as(from + name);
  return rules;
}
SetWeights::Set diagonal(float value) {
  return [=](WeightSource&, int in, int out, std::span<float> to) {
    std::fill(to.begin(), to.end(), 0.0F);
    for (int i = 0; i < std::min(in, out); ++i) to[static_cast<std::size_t>(i * out + i)] = value;
  };
}
SetWeights::Set louder(const std::string& name, float factor) {
  return [=](WeightSource& random, int in, int out, std::span<float> to) {
    random.load(name, in, out, to);
    for (float& value : to) value *= factor;
  };
}
const Rules kAsEagle3 = all_as("p_eagle.", "eagle3.",
                               {"fc", "token_norm", "state_norm", "layer.qkv", "layer.o", "layer.mlp_norm",
                                "layer.gate_up", "layer.down", "out_norm", "lm_head"});

}  // namespace

TEST_CASE("P-EAGLE of one layer drafts its first token as EAGLE-3 does, however many masks follow") {
  const Plan eagle{"eagle3", R"(,"draft_length":1)"};
  CHECK(accepted_steps({"p_eagle", R"(,"draft_length":1,"layers":1)"}, kAsEagle3) == accepted_steps(eagle));
  CHECK(first_steps({"p_eagle", R"(,"draft_length":4,"layers":1)"}, 2, kAsEagle3) == first_steps(eagle, 2));
  CHECK(first_steps({"p_eagle", R"(,"draft_length":1,"layers":1)"}, 2) != first_steps(eagle, 2));
}

TEST_CASE("P-EAGLE's and PARD's masks attend to what is before them: a longer draft begins with the shorter one") {
  for (const auto& [method, parameters] : {std::pair{"p_eagle", R"(,"layers":2)"}, {"pard", R"(,"draft":"half")"}}) {
    INFO(method);
    const auto shorter = first_steps({method, parameters + std::string(R"(,"draft_length":2)")}, 3);
    CHECK(first_steps({method, parameters + std::string(R"(,"draft_length":6)")}, 3) == shorter);
    CHECK(*std::max_element(shorter.begin(), shorter.end()) > 1);
  }
}

TEST_CASE("PARD's first draft is what its network says: one equal to its target has it accepted always") {
  Rig rig({"pard", R"(,"draft":"same","draft_length":3)"}, Rig::Kind::cpu_planned, 3, Network::llama, 0.0);
  for (const Generated& g : rig.run(prompts(6, 21), {30, {}, 3}))
    for (const int a : g.accepted) CHECK(a >= 2);
}

TEST_CASE("rows of a block attend to each other both ways, and to the target's states") {
  const std::string two = R"(,"layers":1,"draft_length":2)", five = two + R"(,"block_size":6)";
  const Rules deaf{{"dflash.layers.0.o", all_equal(0)}};
  CHECK(first_steps({"dflash", five}, 3) != first_steps({"dflash", two}, 3));
  CHECK(first_steps({"dflash", five}, 3, deaf) == first_steps({"dflash", two}, 3, deaf));
  CHECK(first_steps({"dflash", two}, 3, {{"dflash.fc", all_equal(0)}}) != first_steps({"dflash", two}, 3));
}

TEST_CASE("DFlash drafts by default from layers spread as its authors spread them") {
  const auto taken = [](int layers, const std::string& parameters) {
    TransformerShape shape = tiny_shape(Network::llama);
    shape.resize_layers(layers);
    const Document text = Rig::text_of({"dflash", parameters});
    const Decoder decoder(
        Decoder::Options{.target = shape, .precision = Precision(DType::bf16), .slots = 4}, MethodSpec(text.root()),
        [&](const NamedNetwork&) { return shape; },
        [](const WeightStore&) { return std::make_unique<PricedBackend>(); });
    text.finish();
    return decoder.method->auxiliary_layers();
  };
  // Of 36 layers 1, 9, 17, 25, 33 from 0 (Qwen3-8B): the states that enter the layers behind them.
  CHECK(taken(36, "") == std::vector<int>{2, 10, 18, 26, 34});
  CHECK(taken(36, R"(,"layers":1)") == std::vector<int>{19});
  CHECK(taken(36, R"(,"target_layers":[0,35])") == std::vector<int>{1, 36});
  CHECK(taken(1, "") == std::vector<int>{1, 1, 1, 1, 1});
}

TEST_CASE("DSpark's bias by the token before decides where it is strong") {
  // W1 W2 = 1e4 times the identity: every draft repeats the token before it, the root first.
  check_drafts_repeat_the_root({"dspark", R"(,"draft_length":3,"layers":1,"markov_rank":12)"}, 3,
                               {{"dspark.w1", diagonal(100)}, {"dspark.w2", diagonal(100)}});
}

TEST_CASE("DSpark without its bias predicts from the same rows whatever was drafted before") {
  const Plan plan{"dspark", R"(,"draft_length":3,"layers":1,"markov_rank":5)"};
  CHECK(accepted_steps(plan, {{"dspark.w1", all_equal(0)}}) == accepted_steps(plan, {{"dspark.w2", all_equal(0)}}));
  CHECK(accepted_steps(plan, {{"dspark.w1", all_equal(0)}}) != accepted_steps(plan));
}

TEST_CASE("Domino without its correction is DSpark without its bias") {
  Rules rules{{"dspark.w1", all_equal(0)}, {"domino.out_of", louder("domino.out_of", 30)}};
  for (const char* part :
       {"fc", "state_norm", "out_norm", "layers.0.q", "layers.0.kv", "layers.0.o", "layers.0.q_norm", "layers.0.k_norm",
        "layers.0.input_norm", "layers.0.mlp_norm", "layers.0.gate_up", "layers.0.down"})
    rules[std::string("domino.") + part] = same_as(std::string("dspark.") + part);
  const std::string parameters = R"(,"draft_length":3,"layers":1)",
                    head = parameters + R"(,"gru_hidden_dim":10,"emb_dim":5)";
  const auto corrected_from = [&](int draft) {
    return Plan{"domino", head + R"(,"pure_draft_prefix_len":)" + std::to_string(draft)};
  };
  const auto plain = accepted_steps({"dspark", parameters}, rules);
  CHECK(accepted_steps(corrected_from(3), rules) == plain);
  CHECK(accepted_steps(corrected_from(2), rules) != plain);
  CHECK(first_steps(corrected_from(1), 2, rules) == first_steps({"dspark", parameters}, 2, rules));
  CHECK(first_steps(corrected_from(0), 2, rules) != first_steps({"dspark", parameters}, 2, rules));
  rules["domino.out_of"] = all_equal(0);
  CHECK(accepted_steps(corrected_from(0), rules) == plain);
}

TEST_CASE("Domino's correction depends on the state of its GRU, and that on all tokens before the draft") {
  const Plan plan{"domino", R"(,"draft_length":3,"layers":1,"gru_hidden_dim":10,"emb_dim":5)"};
  Rules rules;
  for (const char* name : {"domino.gru.input", "domino.gru.gates", "domino.into", "domino.out_of"})
    rules[name] = louder(name, 10);
  const auto usual = accepted_steps(plan, rules);
  for (const char* name : {"domino.gru.input", "domino.gru.gates"}) {
    Rules silent = rules;
    silent[name] = all_equal(0);
    CHECK(accepted_steps(plan, silent) != usual);
  }
}

TEST_CASE("DFlash 2 whose taps pass rows on and whose selector is indifferent is DFlash") {
  Rules rules{{"dflash2.before", all_equal(0)}};
  for (const char* part :
       {"fc", "state_norm", "out_norm", "layers.0.q", "layers.0.kv", "layers.0.o", "layers.0.q_norm", "layers.0.k_norm",
        "layers.0.input_norm", "layers.0.mlp_norm", "layers.0.gate_up", "layers.0.down"})
    rules[std::string("dflash2.") + part] = same_as(std::string("dflash.") + part);
  for (const char* conv : {"dflash2.layers.0.attention_conv.", "dflash2.layers.0.mlp_conv."}) {
    rules[std::string(conv) + "kernel"] = all_equal(0);
    for (const char* side : {"into", "out_of"})
      rules[conv + std::string(side)] = [](WeightSource&, int, int out, std::span<float> to) {
        for (std::size_t i = 0; i < to.size(); ++i) to[i] = i < static_cast<std::size_t>(out) ? 1.0F : 0.0F;
      };
  }
  const std::string parameters = R"(,"draft_length":3,"layers":1)";
  CHECK(accepted_steps({"dflash2", parameters}, rules) == accepted_steps({"dflash", parameters}));
  rules.erase("dflash2.layers.0.mlp_conv.into");
  CHECK(accepted_steps({"dflash2", parameters}, rules) != accepted_steps({"dflash", parameters}));
}

TEST_CASE("DDTree with one candidate a level drafts DFlash's chain, and with more another tree") {
  const std::string block = R"(,"draft_length":3,"layers":1)";
  const auto tree = [&](const std::string& parameters) { return accepted_steps({"ddtree", block + parameters}); };
  const auto chain = accepted_steps({"dflash", block});
  CHECK(tree(R"(,"budget":3,"top_k":1)") == chain);
  CHECK(tree(R"(,"budget":1023,"top_k":1)") == chain);
  CHECK(tree(R"(,"budget":8,"top_k":4)") != chain);
}

TEST_CASE("DDTree with every token of two levels has every continuation of two tokens accepted") {
  // The vocabulary has 12 tokens: 12 + 12 * 12 drafts.
  const auto steps = accepted_steps({"ddtree", R"(,"draft_length":2,"layers":1,"budget":156,"top_k":12)"});
  CHECK(steps.front().front() == 3);
}
