// SPDX-License-Identifier: Apache-2.0
// Published drafters on the CPU against a reference that tools/make_drafter_fixtures.py computed on the same files: the
// ranks and probabilities of the target's tokens at every position and level, as a trace records them; of those that
// draft all tokens in one pass, the drafts.
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "decoder/checkpoint/huggingface.h"
#include "decoder/cpu/backend.h"
#include "measure/decode_inputs.h"
#include "tests/catch.h"
#include "tests/core/messages.h"
#include "tests/decoder/spoilt_folder.h"
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

// A decoder of a method whose "checkpoint" is a drafter's folder, on `weights`.
std::unique_ptr<Decoder> decoder_of(const TransformerShape& shape, const MethodSpec& m,
                                    measure::DecodedWeights& weights, int positions) {
  auto decoder = std::make_unique<Decoder>(
      Decoder::Options{
          .target = shape,
          .slots = 2,
          .capacity = 640,
          .positions_per_slot = positions,
          .drafter = [&](const NamedFile& folder, DrafterKind kind) { return weights.drafter_at(folder, kind); }},
      m, [](const NamedNetwork&) { return TransformerShape{}; },
      [&](const WeightStore& store) {
        return std::make_unique<CpuBackend>(store, weights, CpuBackend::Options{CpuBackend::Mode::planned, 1, true});
      });
  return decoder;
}

// A method that keeps the tokens which another one proposes.
class Watched : public Method {
 public:
  explicit Watched(Method& method) : method_(method) {}
  std::vector<int> auxiliary_layers() const override { return method_.auxiliary_layers(); }
  int depth() const override { return method_.depth(); }
  int rewrites() const override { return method_.rewrites(); }
  void extend(Ops& ops, const Session& s, const Committed& c) override { method_.extend(ops, s, c); }
  Proposal propose(Ops& ops, Session& s) override {
    Proposal p = method_.propose(ops, s);
    kept = s.state(ops, "watched", p.tokens.rows / s.sequences, 1, DType::int32);
    ops.store(kept, p.tokens);
    return p;
  }
  Tensor kept;  // of each sequence the root and its drafts

 private:
  Method& method_;
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
    auto decoder = decoder_of(shape, m, weights, t.positions_at_once);
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
                                                                           {"mtp_qwen", "mtp_sequential"},
                                                                           {"gemma4_assistant", "gemma4_assistant"}}));
  CAPTURE(fixture, method);
  const auto folder = kFixtures / "drafters" / fixture;
  const Json expected = Json::parse(std::ifstream(folder / "expected.json"));
  const bool in_target = method == "mtp_sequential";
  const auto target = in_target ? folder : kFixtures / (method == "gemma4_assistant" ? "gemma4" : "llama");
  const Recorded r =
      recorded(target, {{"name", method}, {"draft_length", kDepth}, {"checkpoint", folder.string()}}, expected);
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

TEST_CASE("a published drafter of one pass drafts the tokens of the reference") {
  const auto [fixture, method] = GENERATE(table<std::string, std::string>({{"p_eagle", "p_eagle"},
                                                                           {"p_eagle_speculators", "p_eagle"},
                                                                           {"dflash", "dflash"},
                                                                           {"dflash_speculators", "dflash"},
                                                                           {"dspark", "dspark"},
                                                                           {"dflash2", "dflash2"},
                                                                           {"domino", "domino"}}));
  CAPTURE(fixture);
  const auto folder = kFixtures / "drafters" / fixture, target = kFixtures / "llama";
  const Json expected = Json::parse(std::ifstream(folder / "expected.json"));
  const auto prompts = expected.at("prompts").get<std::vector<std::vector<int>>>();
  const auto texts = expected.at("texts").get<std::vector<std::vector<int>>>();
  const auto drafts = expected.at("drafts").get<std::vector<std::vector<std::vector<int>>>>();
  measure::DecodedWeights weights(measure::checkpoint(target), 0.15, 0);
  const Json parameters{{"name", method}, {"draft_length", kDepth}, {"checkpoint", folder.string()}};
  const Document document = Document::from_text(parameters.dump(), "--method");
  const auto decoder = decoder_of(HuggingFaceFolder(target).shape(), MethodSpec(document.root()), weights, 1);
  Watched watched(*decoder->method);
  Generator generator(decoder->ops, decoder->target, watched);
  generator.join(prompts, {0, 1});
  int compared = 0, differ = 0;
  const auto at_root = [&](std::size_t i) { return generator.session().text[i].size() - prompts[i].size() - 1; };
  while (at_root(0) < drafts[0].size() || at_root(1) < drafts[1].size()) {
    const std::vector<std::size_t> roots{at_root(0), at_root(1)};
    generator.step();
    const std::vector<int> kept = decoder->ops.fetch(watched.kept);
    for (std::size_t i = 0; i < roots.size(); ++i) {
      if (roots[i] >= drafts[i].size()) continue;
      const auto root = kept.begin() + static_cast<std::ptrdiff_t>(i * (kDepth + 1));
      CHECK(*root == texts[i][roots[i]]);
      differ += std::vector<int>(root + 1, root + 1 + kDepth) != drafts[i][roots[i]];
      ++compared;
    }
  }
  CHECK(differ == 0);
  CHECK(compared > 60);  // a step may pass positions
}

TEST_CASE("an assistant whose window or rope is not the target's is refused") {
  const auto mistakes = [](const std::function<void(Json&)>& change) {
    const Spoilt s("drafters/gemma4_assistant");
    Json text = s.json("config.json").at("text_config");
    change(text);
    s.config("text_config", text);
    measure::DecodedWeights weights(measure::checkpoint(kFixtures / "gemma4"), 0.15, 0);
    const Json parameters{{"name", "gemma4_assistant"}, {"checkpoint", s.folder.string()}};
    const Document document = Document::from_text(parameters.dump(), "--method");
    return mistake_of(
        [&] { decoder_of(HuggingFaceFolder(kFixtures / "gemma4").shape(), MethodSpec(document.root()), weights, 1); });
  };
  CHECK(mistakes([](Json&) {}) == "none");
  CHECK(contains(mistakes([](Json& text) { text["sliding_window"] = 8; }),
                 "#/checkpoint: the assistant's sliding_window is not the target's"));
  CHECK(contains(mistakes([](Json& text) { text["rope_parameters"]["full_attention"]["rope_theta"] = 901; }),
                 "#/checkpoint: the assistant's rope is not the target's"));
}

TEST_CASE("an EAGLE-3 drafter reads the embedding of its folder where that is not a copy of the target's") {
  const auto at = [](const std::string& fixture, DrafterKind kind) {
    return DrafterFolder(kFixtures / "drafters" / fixture, kind, HuggingFaceFolder(kFixtures / "llama")).config();
  };
  CHECK(at("eagle3_speculators", DrafterKind::eagle3).own_embedding);
  CHECK_FALSE(at("eagle", DrafterKind::eagle).own_embedding);
  CHECK_FALSE(at("eagle3", DrafterKind::eagle3).own_embedding);
}
