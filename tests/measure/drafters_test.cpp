// SPDX-License-Identifier: Apache-2.0
// Published drafters on the CPU against a reference that tools/make_drafter_fixtures.py computed on the same files: the
// ranks and probabilities of the target's tokens at every position and level, as a trace records them.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "decoder/cpu/backend.h"
#include "measure/decode_inputs.h"
#include "tests/catch.h"
#include "tests/source_folder.h"
#include "trace/tracing.h"

using namespace draftline;
using draftline::test::kFixtures;
using Json = nlohmann::json;

namespace {

constexpr int kDepth = 4;

struct Recorded {
  std::vector<TracedPrompt> prompts;
  std::string drafter;
};

// What `method` drafts after the texts of an expected.json, in batches of two.
Recorded recorded(const std::filesystem::path& target, const Json& method, const Json& expected) {
  measure::DecodedWeights weights(measure::checkpoint(target), 0.15, 0);
  const TransformerShape shape = HuggingFaceFolder(target).shape();
  Recorded r;
  const Document document = Document::from_text(method.dump(), "--method");
  Tracing t;
  t.method = MethodSpec(document.root());
  t.slots = 2;
  t.depth = kDepth;
  t.positions_at_once = 16;
  t.spare = 512;
  t.continuations = expected.at("texts").get<std::vector<std::vector<int>>>();
  t.new_tokens = static_cast<int>(t.continuations.front().size()) - kDepth;
  t.make = [&](const MethodSpec& m) {
    auto decoder = std::make_unique<Decoder>(
        Decoder::Options{.target = shape,
                         .slots = t.slots,
                         .capacity = 640,
                         .positions_per_slot = t.positions_at_once,
                         .drafter = [&](const Reader& in, DrafterKind kind) { return weights.drafter_at(in, kind); }},
        m, [](const Reader&) { return TransformerShape{}; },
        [&](const WeightStore& store) {
          return std::make_unique<CpuBackend>(store, weights, CpuBackend::Options{CpuBackend::Mode::planned, 1, true});
        });
    m.finish();
    r.drafter = weights.names(decoder->weights).drafter;
    return decoder;
  };
  TraceHeader header;
  r.prompts = record_trace(t, expected.at("prompts").get<std::vector<std::vector<int>>>(), header);
  CHECK(header.depth == kDepth);
  return r;
}

}  // namespace

TEST_CASE("a published drafter gives the target's tokens the ranks and probabilities of the reference") {
  const auto [fixture, method] = GENERATE(table<std::string, std::string>({{"eagle", "eagle1"},
                                                                           {"eagle", "eagle2"},
                                                                           {"eagle", "hass"},
                                                                           {"eagle3", "eagle3"},
                                                                           {"eagle3_speculators", "eagle3"},
                                                                           {"medusa", "medusa"},
                                                                           {"medusa_vllm", "medusa"},
                                                                           {"mtp_deepseek", "mtp_sequential"},
                                                                           {"mtp_mimo", "mtp_sequential"},
                                                                           {"mtp_qwen", "mtp_sequential"}}));
  CAPTURE(fixture, method);
  const auto folder = kFixtures / "drafters" / fixture;
  const Json expected = Json::parse(std::ifstream(folder / "expected.json"));
  const bool in_target = method == "mtp_sequential";
  const Recorded r = recorded(in_target ? folder : kFixtures / "llama",
                              {{"name", method}, {"draft_length", kDepth}, {"checkpoint", folder.string()}}, expected);
  CHECK(r.drafter.starts_with("checkpoint "));

  // The reference is of fp64. In fp32 it errs by this much, by rounding alone; a correct fp32 computation with another
  // order of additions errs by as much, give or take a small factor.
  const double tolerance = 4 * expected.at("largest_error_of_fp32").get<double>();
  double worst = 0;
  int found = 0, ranks_differ = 0;
  for (std::size_t i = 0; i < r.prompts.size(); ++i) {
    const TracedPrompt& p = r.prompts[i];
    REQUIRE(p.ranks.size() == p.tokens.size() * kDepth);
    REQUIRE(p.tokens.size() == expected.at("ranks").at(i).size());
    for (std::size_t at = 0; at < p.ranks.size(); ++at) {
      const Json& rank = expected.at("ranks").at(i).at(at / kDepth).at(at % kDepth);
      const bool among = !rank.is_null() && rank.get<int>() < kTraceCandidates;
      ranks_differ += p.ranks[at] != (among ? rank.get<int>() : kNoRank);
      if (!among || p.ranks[at] == kNoRank) continue;
      const double log = expected.at("logarithms").at(i).at(at / kDepth).at(at % kDepth).get<double>();
      worst = std::max(worst, std::abs(std::log(p.probabilities[at]) - log));
      ++found;
    }
  }
  CHECK(ranks_differ == 0);
  CHECK(found > 40);
  CHECK(worst <= tolerance);
}

TEST_CASE("an EAGLE-3 drafter reads the embedding of its folder where that is not a copy of the target's") {
  const auto at = [](const std::string& fixture, DrafterKind kind) {
    return DrafterFolder(kFixtures / "drafters" / fixture, kind, HuggingFaceFolder(kFixtures / "llama")).config();
  };
  CHECK(at("eagle3_speculators", DrafterKind::eagle3).own_embedding);
  CHECK_FALSE(at("eagle", DrafterKind::eagle).own_embedding);
  CHECK_FALSE(at("eagle3", DrafterKind::eagle3).own_embedding);
}
