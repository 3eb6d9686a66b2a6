// SPDX-License-Identifier: Apache-2.0
// Oracles of drafting heads: weights set so that what a head must draft is known. A head
// that its authors start as the target's own output drafts the root again and again, which the text itself judges.
#include "tests/methods/set_weights.h"

using namespace draftline;
using namespace draftline::test;

namespace {

std::vector<int> first_steps(const std::string& parameters, Rules rules) {
  SetWeights weights(std::move(rules));
  std::vector<int> steps;
  for (const Generated& g : run({"specformer", parameters}, weights, 60, 4))
    steps.push_back(std::min(g.accepted[0], 2));
  return steps;
}
// W_P from another seed in the columns behind position 0.
void other_later_positions(WeightSource& random, int in, int out, std::span<float> to) {
  std::vector<float> other(to.size());
  random.load("specformer.expand", in, out, to);
  random.load("another", in, out, other);
  const int hidden = tiny_shape(Network::llama).hidden;
  for (std::size_t i = 0; i < to.size(); ++i)
    if (static_cast<int>(i) % out >= hidden) to[i] = other[i];
}

}  // namespace

TEST_CASE("Medusa's heads at their initial values draft the target's own next token") {
  const auto head = same_as("lm_head");
  check_drafts_repeat_the_root({"medusa", R"(,"draft_length":3)"}, 3,
                               {{"*.w", all_equal(0)},
                                {"*.b", all_equal(0)},
                                {"medusa.0.lm_head", head},
                                {"medusa.1.lm_head", head},
                                {"medusa.2.lm_head", head}});
}

TEST_CASE("Clover at its initial values drafts the target's own next token, whatever part is taken away") {
  for (const char* without : {"nothing", "attention_decoder", "regressive_connection", "augmenting_block"})
    check_drafts_repeat_the_root({"clover", R"(,"draft_length":1,"nodes":1,"without":")" + std::string(without) + "\""},
                                 1,
                                 {{"clover.v", all_equal(0)},
                                  {"clover.0.w", all_equal(0)},
                                  {"clover.0.b", all_equal(0)},
                                  {"clover.augment.o", all_equal(0)},
                                  {"clover.augment.down", all_equal(0)}});
}

TEST_CASE("Clover's states change by the tokens' values alone: without values, attention and connection are nothing") {
  const auto steps = [](const char* without, float value) {
    SetWeights weights(value == 0 ? Rules{{"clover.v", all_equal(0)}} : Rules{});
    std::vector<std::vector<int>> all;
    for (const Generated& g :
         run({"clover", R"(,"draft_length":3,"without":")" + std::string(without) + "\""}, weights))
      all.push_back(g.accepted);
    return all;
  };
  const auto none = steps("regressive_connection", 0);
  CHECK(steps("nothing", 0) == none);
  CHECK(steps("attention_decoder", 0) == none);
  CHECK(steps("nothing", 1) != none);
  CHECK(steps("attention_decoder", 1) != steps("nothing", 1));
}

TEST_CASE("Hydra's heads read the state, the root and every draft before them, and pass the state on if told to") {
  const int hidden = tiny_shape(Network::llama).hidden;
  for (const std::string method : {"hydra", "hydra_plus"}) {
    SetWeights weights({});
    run({method, R"(,"draft_length":3)"}, weights, 2, 4);
    Rules rules{{"*.skip_bias", all_equal(0)}, {"*.in", all_equal(0)},        {"*.in_bias", all_equal(0)},
                {"*.skip", passes_on(0)},      {"*.block", all_equal(0)},     {"*.block_bias", all_equal(0)},
                {"*prefix.o", all_equal(0)},   {"*prefix.down", all_equal(0)}};
    for (int i = 0; i < 3; ++i) {
      const std::string head = method + "." + std::to_string(i) + ".";
      CHECK(weights.inputs.at(head + "skip") == (i + 2) * hidden);
      CHECK(weights.inputs.at(head + "in") == (i + 2) * hidden);
      rules[head + "lm_head"] = same_as("lm_head");
    }
    check_drafts_repeat_the_root({method, R"(,"draft_length":3)"}, 3, rules);
  }
}

TEST_CASE("a head for tokens ahead with the weights of the target's last layer is that layer") {
  Rules rules;
  for (int i = 0; i < 2; ++i)
    for (const char* part : {"input_norm", "qkv", "o", "mlp_norm", "gate_up", "down"})
      rules["mtp_heads." + std::to_string(i) + "." + part] = same_as(std::string("layers.5.") + part);
  check_drafts_repeat_the_root({"mtp_heads", R"(,"draft_length":2)"}, 2, rules);
}

TEST_CASE("the sequential module joins the token's embedding first, the state second") {
  const int hidden = tiny_shape(Network::llama).hidden;
  Rules rules{{"mtp.join", passes_on(hidden)},
              {"mtp.layer.o", all_equal(0)},
              {"mtp.layer.down", all_equal(0)},
              {"mtp.state_norm", all_equal(1)},
              {"mtp.out_norm", all_equal(1)}};
  check_drafts_repeat_the_root({"mtp_sequential", R"(,"draft_length":3)"}, 3, rules);
}

TEST_CASE("SpecFormer: a position knows the others through attention alone, and those behind it only both ways") {
  const std::string plain = R"(,"draft_length":2,"positions":4)", causal = plain + R"(,"causal":true)";
  const Rules changed{{"specformer.expand", other_later_positions}};
  CHECK(first_steps(causal, changed) == first_steps(causal, {}));
  CHECK(first_steps(plain, changed) != first_steps(plain, {}));
  const Rules deaf{{"specformer.draft.o", all_equal(0)}};
  Rules both = changed;
  both.insert(deaf.begin(), deaf.end());
  CHECK(first_steps(plain, both) == first_steps(plain, deaf));
  CHECK(first_steps(causal, deaf) == first_steps(plain, deaf));
}

TEST_CASE("SpecFormer without its positional FFN tells positions apart by their vectors alone") {
  SetWeights weights(Rules{{"specformer.place_embedding", all_equal(0)}});
  int pairs = 0;
  for (const Generated& g :
       run({"specformer", R"(,"draft_length":3,"positions":3,"without":"positional_ffn")"}, weights, 40)) {
    std::size_t at = 0;
    for (const int accepted : g.accepted) {  // equal vectors: equal drafts
      if (at + 4 > g.tokens.size()) break;
      for (std::size_t j = 2; j < static_cast<std::size_t>(accepted); ++j, ++pairs)
        CHECK(g.tokens[at + j] == g.tokens[at + 1]);
      at += static_cast<std::size_t>(accepted);
    }
  }
  CHECK(pairs > 0);
  CHECK(weights.inputs.count("specformer.expand") == 0);
  CHECK(weights.inputs.at("specformer.place_embedding") == 3);
}
