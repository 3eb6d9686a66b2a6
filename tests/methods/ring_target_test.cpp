// SPDX-License-Identifier: Apache-2.0
// What the target drafts over a part of its own cache.
#include <algorithm>
#include <map>

#include "tests/contracts/rig.h"
#include "tests/core/messages.h"

using namespace draftline;
using namespace draftline::test;

namespace {

std::vector<int> steps(const Plan& plan, Network network = Network::llama, Sampling sampling = {}) {
  Rig rig(plan, Rig::Kind::cpu_planned, 3, network, 0.15, sampling);
  std::vector<int> all;
  for (const Generated& g : rig.run(prompts(5, 21), {30, {}, 3}))
    all.insert(all.end(), g.accepted.begin(), g.accepted.end());
  return all;
}
double mean(const std::vector<int>& steps) {
  double sum = 0;
  for (const int s : steps) sum += s;
  return sum / static_cast<double>(steps.size());
}

}  // namespace

TEST_CASE("a budget that holds the whole text leaves nothing to disagree: every draft is accepted") {
  for (const Network network :
       {Network::llama, Network::qwen3, Network::mixture, Network::windows, Network::gemma4, Network::hybrid})
    for (const char* method : {"magicdec_streaming", "magicdec_snapkv"}) {
      INFO(method << ", network " << static_cast<int>(network));
      const Plan plan{method, R"(,"budget":64,"draft_length":3)"};
      const auto all = steps(plan, network), sampled = steps(plan, network, {1, 0, 1});
      CHECK(std::all_of(all.begin(), all.end(), [](int a) { return a == 4; }));
      CHECK(std::all_of(sampled.begin(), sampled.end(), [](int a) { return a == 4; }));
    }
}

TEST_CASE("more budget, more drafts that are accepted") {
  const auto at = [](const std::string& budget) {
    return mean(steps({"magicdec_streaming", R"(,"sinks":1,"draft_length":3,"budget":)" + budget}));
  };
  CHECK(at("5") < at("16"));
  CHECK(at("16") < at("40"));
}

TEST_CASE("what a ring holds follows from the text, wherever the steps began that committed it") {
  const auto rings = [](Plan plan, int drafts, Network network) {  // by sequence and committed length
    plan.parameters += R"(,"budget":9,"draft_length":)" + std::to_string(drafts);
    Rig rig(plan, Rig::Kind::cpu_planned, 3, network);
    const Cache ring = rig.decoder.ops.caches().back();
    REQUIRE(ring.window.ring);
    rig.decoder.generator.join(prompts(3, 21), {0, 1, 2});
    std::map<std::pair<int, int>, std::vector<std::vector<float>>> held;
    for (int step = 0; step < 20; ++step) {
      rig.decoder.generator.step();
      for (int sequence = 0; sequence < 3; ++sequence) {
        const int length = rig.decoder.generator.session().lengths[static_cast<std::size_t>(sequence)];
        for (int layer = 0; layer < ring.layers; ++layer)
          for (int entry = 0; entry < ring.window.held(length); ++entry)
            held[{sequence, length}].push_back(rig.cpu().cache_entry(ring, layer, sequence, entry));
      }
    }
    return held;
  };
  for (const Network network : {Network::llama, Network::windows})
    for (const Plan& plan : {Plan{"magicdec_streaming", R"(,"sinks":2)"}, Plan{"magicdec_snapkv", R"(,"window":2)"}}) {
      INFO(plan.method << ", network " << static_cast<int>(network));
      const auto short_steps = rings(plan, 1, network), long_steps = rings(plan, 3, network);
      int compared = 0;
      for (const auto& [where, entries] : long_steps)
        if (const auto same = short_steps.find(where); same != short_steps.end()) {
          CHECK(same->second == entries);
          compared += where.second > 9 ? 1 : 0;  // entries were overwritten
        }
      CHECK(compared > 15);
    }
}

TEST_CASE("it has no weights of its own, and its cache holds the budget and a step's rows") {
  const Rig rig({"magicdec_snapkv", R"(,"budget":40,"draft_length":3)"}, Rig::Kind::priced, 1);
  CHECK(rig.decoder.weights.bytes() == rig.decoder.target_bytes);
  const auto& caches = rig.decoder.ops.caches();
  REQUIRE(caches.size() == 2);
  CHECK(caches[1].window == Window{.tokens = 40, .ring = true});
  CHECK(caches[1].layers == 6);
  // Windows have nothing to compress: of Gemma-like layers those that see all alone have a ring.
  const Rig windows({"magicdec_snapkv", R"(,"budget":40,"draft_length":3)"}, Rig::Kind::priced, 1, Network::windows);
  REQUIRE(windows.decoder.ops.caches().size() == 4);
  CHECK(windows.decoder.ops.caches()[3].layers == 2);
}

TEST_CASE("TriForce's middle over the whole text is the target, and a small network that agrees halves its rounds") {
  const auto rounds = [](const std::string& draft, double noise) {  // of each step, and what the steps emit
    Rig rig({"triforce", R"(,"draft":")" + draft + R"(","draft_length":4,"budget":64,"draft_budget":64)"},
            Rig::Kind::cpu_planned, 1, Network::llama, noise);
    int steps = 0;
    for (const Generated& g : rig.run(prompts(3, 21), {30, {}, 1}))
      for (const int a : g.accepted) {
        CHECK(a == 5);
        ++steps;
      }
    // Each prompt and each step ends in a read, and so does each round.
    return (static_cast<double>(rig.decoder.ops.answers().size()) - 3 - steps) / steps;
  };
  const double alike = rounds("same", 0);
  CHECK(alike <= 2);  // two tokens each, one that is drafted and one behind it; a filler may be right by chance
  CHECK(rounds("half", 0.5) > alike + 0.5);
}

TEST_CASE("latents are not compressed") {
  for (const Plan& plan :
       {Plan{"magicdec_streaming", ""}, Plan{"magicdec_snapkv", ""}, Plan{"triforce", R"(,"draft":"half")"}}) {
    INFO(plan.method);
    CHECK(contains(mistake_of([&] { const Rig rig(plan, Rig::Kind::priced, 1, Network::latent); }),
                   "tiny caches latents"));
  }
}
