// SPDX-License-Identifier: Apache-2.0
// Methods on a target most of whose layers keep a recurrent state: chains and trees are verified as on any other.
#include <cstring>
#include <set>

#include "core/errors.h"
#include "tests/catch.h"
#include "tests/contracts/rig.h"

using namespace draftline;
using namespace draftline::test;

namespace {

constexpr auto kHybrid = Network::hybrid;

Network each_hybrid() { return GENERATE(Network::hybrid, Network::column_gates, Network::state_spaces); }

// Calls test(plan) for every plan, and returns the names of their methods.
template <class Test>
std::set<std::string> each_plan(Test test) {
  std::set<std::string> methods;
  for (const Plan& plan : all_plans()) {
    INFO(label(plan));
    test(plan);
    methods.insert(plan.method);
  }
  return methods;
}

}  // namespace

TEST_CASE("a hybrid target keeps its text under every lossless method", "[contract]") {
  const Network network = each_hybrid();
  const auto questions = prompts(7, 3);
  const Limits limits{24, {}, 3};
  Rig reference({"autoregressive", ""}, Rig::Kind::cpu_planned, 3, network);
  const auto expected = texts(reference.run(questions, limits));
  std::set<int> accepted;
  const std::set<std::string> methods = each_plan([&](const Plan& plan) {
    Rig rig(plan, Rig::Kind::cpu_planned, 3, network);
    const auto generated = rig.run(questions, limits);
    if (methods::find(plan.method)->lossless != methods::Losslessness::lossy) CHECK(texts(generated) == expected);
    for (const Generated& g : generated) accepted.insert(g.accepted.begin(), g.accepted.end());
  });
  for (const char* name :
       {"autoregressive", "prompt_lookup", "mtp_sequential", "eagle3", "medusa", "eagle2", "lookahead"})
    CHECK(methods.contains(name));
  CHECK(accepted.size() >= 3);  // drafts are taken back and taken in
}

TEST_CASE("a hybrid's declared FLOP and bytes are those that the CPU's loops touch, and a priced run's", "[contract]") {
  const Network network = each_hybrid();
  const auto questions = prompts(3, 8);
  const std::vector<int> ids{0, 1, 2};
  each_plan([&](const Plan& plan) {
    Rig live(plan, Rig::Kind::cpu_planned, 3, network), priced(plan, Rig::Kind::priced, 3, network);
    live.decoder.generator.join(questions, ids);
    for (int i = 0; i < 6; ++i) live.decoder.generator.step();
    priced.decoder.ops.follow(&live.decoder.ops.answers());
    priced.decoder.generator.join(questions, ids);
    for (int i = 0; i < 6; ++i) priced.decoder.generator.step();
    const auto& counted = live.cpu().counts();
    CHECK(live.totals.work.flops.value == counted.flops);
    if (network != Network::state_spaces)  // whose experts are read by their routing
      CHECK(live.totals.work.read.value == counted.read);
    CHECK(live.totals.work.written.value == counted.written);
    CHECK(priced.totals.work.flops.value == live.totals.work.flops.value);
    CHECK(priced.totals.work.bytes().value == live.totals.work.bytes().value);
    CHECK(priced.totals.ops == live.totals.ops);
  });
}

TEST_CASE("every state after a run has the bits of a fresh prefill of the committed text", "[contract]") {
  const Network network = each_hybrid();
  const auto questions = prompts(3, 9);
  const std::vector<int> ids{0, 1, 2};
  each_plan([&](const Plan& plan) {
    Rig live(plan, Rig::Kind::cpu_planned, 3, network), fresh(plan, Rig::Kind::cpu_planned, 3, network);
    live.decoder.generator.join(questions, ids);
    for (int i = 0; i < 9; ++i) live.decoder.generator.step();
    auto committed = live.decoder.generator.session().text;
    for (auto& t : committed) t.pop_back();  // the root has no state yet
    fresh.decoder.generator.join(committed, ids);
    const StateCache& c = live.decoder.ops.state_caches().front();
    for (int b = 0; b < 3; ++b)
      for (int layer = 0; layer < c.layers; ++layer) {
        const int last = static_cast<int>(committed[static_cast<std::size_t>(b)].size()) - 1;
        const auto one = live.cpu().state_after(c, layer, b, last), two = fresh.cpu().state_after(c, layer, b, last);
        REQUIRE(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)) == 0);
      }
  });
}

TEST_CASE("a hybrid is refused as a draft network, and more rows than states are kept for", "[contract]") {
  const auto mistake = [](const std::string& json, const TransformerShape& target, const TransformerShape& draft,
                          int states) -> std::string {
    const Document text = Document::from_text(json, "plan.json");
    WeightStore store(DType::fp32);
    try {
      Decoder::Options options{.target = target, .capacity = 64};
      options.states = states;
      Decoder decoder(
          options, MethodSpec(text.root()), [&](const NamedNetwork&) { return draft; },
          [](const WeightStore&) { return std::make_unique<PricedBackend>(); });
      text.finish();
      decoder.generator.assume(1, 8);
      decoder.generator.step();
    } catch (const InputErrors& e) { return e.what(); }
    return "";
  };
  const auto hybrid = tiny_shape(kHybrid), llama = tiny_shape(Network::llama);
  const std::string with_draft = R"({"name":"draft_model","draft":"other","draft_length":3})";
  CHECK(mistake(with_draft, hybrid, llama, 5).empty());
  CHECK(mistake(with_draft, hybrid, llama, 4).find("a pass of 4 rows over recurrent states, of which 3 at once") !=
        std::string::npos);
  CHECK(mistake(with_draft, llama, hybrid, 5).find("plan.json#/draft: has layers with a recurrent state") !=
        std::string::npos);
}
