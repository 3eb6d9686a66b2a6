// SPDX-License-Identifier: Apache-2.0
// Wrong parameters are refused, each with the place it stands at.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>

#include "core/text_file.h"
#include "tests/contracts/rig.h"
#include "tests/core/messages.h"

using namespace draftline;
using namespace draftline::test;

static std::string mistakes(const std::string& method, const std::string& parameters) {
  return mistake_of([&] { const Rig rig({method, ", " + parameters}, Rig::Kind::priced, 1); });
}

// Files that a new method must be told of (docs/recipes/new_method.md).
TEST_CASE("the pinned scenario of every method has every method of the table, once") {
  const Document scenario =
      Document::from_file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "tests/golden/scenarios/every_method.json");
  std::multiset<std::string> pinned, known;
  for (const auto& method : scenario.root().json().at("method")) pinned.insert(method.at("name"));
  for (const methods::Entry& e : methods::all()) known.emplace(e.name);
  CHECK(pinned == known);
}

TEST_CASE("README says how many methods there are beside plain decoding") {
  const std::string readme = read_text_file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "README.md");
  CHECK(readme.find(" " + std::to_string(methods::all().size() - 1) + " methods and plain decoding") !=
        std::string::npos);
}

TEST_CASE("a wrong parameter is refused with its place") {
  struct Case {
    const char *method, *parameters, *place;
  };
  const Case cases[] = {
      {"draft_model", R"("draft": "half", "draft_length": 0)", "#/draft_length"},
      {"medusa", R"("tree": {"nodes": [[12]]})", "#/tree/nodes/0"},
      {"medusa", R"("tree": {"optimal": {"budget": 4}})", "acceptance"},
      {"medusa", R"("tree": "default", "draft_length": 2)", "not both"},
      {"medusa_typical", R"("epsilon": 2)", "#/epsilon"},
      {"eagle1", R"("tree": {"nodes": [[0, 0]]})", "#/tree/nodes/0"},
      {"mcsd", R"("draft": "half", "widths": [])", "#/widths"},
      {"mcsd", R"("draft": "half", "widths": [13])", "#/widths/0"},
      {"mcsd", R"("draft": "half", "widths": [10, 10, 10, 10])", "#/widths"},
      {"sequoia", R"("draft": "half")", "needs to know which ranks are accepted: \"rank_acceptance\""},
      {"sequoia", R"("draft": "half", "budget": 0)", "#/budget"},
      {"sequoia", R"("draft": "half", "rank_acceptance": [0.2, 0.5])", "#/rank_acceptance/1"},
      {"sequoia", R"("draft": "half", "rank_acceptance": [0.9, 0.8])", "#/rank_acceptance"},
      {"sequoia", R"("draft": "half", "depth": 33)", "#/depth"},
      {"sequoia", R"("draft": "half", "tree": {"optimal": {"budget": 0}})", "#/tree/optimal/budget"},
      {"eagle1", R"("tree": {"nodes": [[12]]})", "#/tree/nodes/0"},
      {"eagle1", R"("draft_length": 33)", "#/draft_length"},
      {"eagle2", R"("tree": {"top_k": 13, "passes": 1, "nodes": 4})", "#/tree/top_k"},
      {"eagle2", R"("tree": {"top_k": 3, "passes": 32, "nodes": 4})", "#/tree/passes"},
      {"eagle2", R"("tree": {"top_k": 3, "passes": 1, "nodes": 0})", "#/tree/nodes"},
      {"s3d", R"("skip": "0->7")", "#/skip"},
      {"s3d", R"("draft_length": 0)", "#/draft_length"},
      {"space", R"("draft_length": 32)", "#/draft_length"},
      {"self_spec", R"("skip_attention": [6])", "#/skip_attention/0"},
      {"self_spec", R"("skip_attention": [0,1,2,3,4,5], "skip_mlp": [0,1,2,3,4,5])", "no sublayer"},
      {"self_spec", R"("skip_attention": [1, 2, 1])", "#/skip_attention/2"},
      {"self_spec", R"("skip_mlp": [3, 3])", "#/skip_mlp/1"},
      {"self_spec", R"("threshold": 1.5)", "#/threshold"},
      {"layerskip", R"("exit": 7)", "#/exit"},
      {"kangaroo", R"("exit": 0)", "#/exit"},
      {"magicdec_streaming", R"("budget": 0)", "#/budget"},
      {"magicdec_streaming", R"("budget": 19, "sinks": 16, "draft_length": 3)", "#/budget: must be at least 20: 16"},
      {"magicdec_streaming", R"("sinks": -1)", "#/sinks"},
      {"magicdec_streaming", R"("sinks": 4096)", "must be at least 4104"},
      {"magicdec_snapkv", R"("budget": 39)", "#/budget: must be at least 40: 32 entries stay, and a step adds 8"},
      {"magicdec_snapkv", R"("window": 0)", "#/window"},
      {"magicdec_snapkv", R"("pool": 0)", "#/pool"},
      {"triforce", R"("draft_length": 3)", "\"draft\""},
      {"triforce", R"("draft": "half", "draft_length": 3, "budget": 4)", "#/budget: must be at least 5"},
      {"triforce", R"("draft": "half", "draft_budget": 0)", "#/draft_budget"},
      {"triforce", R"("draft": "half", "middle_rate": 2)", "#/middle_rate"},
      {"dflash", R"("draft_length": 7, "window": 7)", "#/window"},
      {"lookahead", R"("ngram": 2)", "#/ngram"},
      {"ouroboros", R"("draft_length": 4)", "\"draft\""},
      {"ouroboros", R"("draft": "half", "draft_length": 0)", "#/draft_length"},
      {"ouroboros", R"("draft": "half", "window": 0)", "#/window"},
      {"ouroboros", R"("draft": "half", "ngram": 2)", "#/ngram"},
      {"ouroboros", R"("draft": "half", "guesses": -1)", "#/guesses"},
      {"ouroboros", R"("draft": "half", "phrases": 65)", "#/phrases"},
      {"ouroboros", R"("draft": "half", "drafted_per_pass": 0.5)", "#/drafted_per_pass"},
      {"ssd", R"("draft_length": 4)", "\"draft\""},
      {"ssd", R"("draft": "half", "draft_length": 17)", "#/draft_length"},
      {"ssd", R"("draft": "half", "fan_out": 0)", "#/fan_out"},
      {"ssd", R"("draft": "half", "draft_length": 16, "fan_out": 8)", "#/fan_out"},
      {"jacobi", R"("block": 1)", "#/block"},
      {"clover", R"("without": "everything")", "#/without"},
      {"clover", R"("nodes": 0)", "#/nodes"},
      {"specformer", R"("draft_length": 0)", "#/draft_length"},
      {"specformer", R"("draft_length": 5, "positions": 4)", "positions"},
      {"specformer", R"("without": "attention")", "#/without"},
      {"specformer", R"("causal": 1)", "#/causal"},
      {"specformer", R"("width": 0)", "#/width"},
      {"hydra", R"("tree": {"nodes": [[0, 0]]})", "#/tree/nodes/0"},
      {"hydra_plus", R"("draft_length": 99)", "#/draft_length"},
      {"mtp_heads", R"("draft_length": 0)", "#/draft_length"},
      {"mtp_sequential", R"("tree": {"top_k": 0, "passes": 1, "nodes": 2})", "#/tree/top_k"},
      {"bild", R"("draft": "half", "rollback": -1)", "#/rollback"},
      {"assisted", R"("draft": "half", "schedule": "rising")", "#/schedule"},
      {"prompt_lookup", R"("max_ngram": 0)", "#/max_ngram"},
      {"p_eagle", R"("layers": 0)", "#/layers"},
      {"p_eagle", R"("mask_token": 12)", "#/mask_token"},
      {"pard", R"("draft": "half", "mask_token": -1)", "#/mask_token"},
      {"pard", R"("draft_length": 3)", "draft"},
      {"gemma4_assistant", R"("hidden": 0)", "#/hidden"},
      {"gemma4_assistant", R"("checkpoint": "x", "layers": 2)", "#/layers"},
      {"dflash", R"("block_size": 1)", "#/block_size"},
      {"dflash", R"("block_size": 4, "draft_length": 4)", "the 3 drafts of \"block_size\""},
      {"dflash", R"("target_layers": [])", "#/target_layers"},
      {"dflash", R"("target_layers": [0, 6])", "#/target_layers/1"},
      {"dspark", R"("block_size": 4, "draft_length": 5)", "the 4 drafts of \"block_size\""},
      {"dspark", R"("markov_rank": 0)", "#/markov_rank"},
      {"ddtree", R"("budget": 0)", "#/budget"},
      {"ddtree", R"("top_k": 13)", "#/top_k"},
      {"dflash2", R"("selector_top_k": 13)", "#/selector_top_k"},
      {"dflash2", R"("conv_group_size": 5)", "#/conv_group_size"},
      {"dflash2", R"("conv_kernel_size": 0)", "#/conv_kernel_size"},
      {"domino", R"("gru_hidden_dim": 0)", "#/gru_hidden_dim"},
      {"domino", R"("emb_dim": 0)", "#/emb_dim"},
      {"domino", R"("pure_draft_prefix_len": -1)", "#/pure_draft_prefix_len"},
      {"suffix_decoding", R"("max_tree_depth": 1)", "#/max_tree_depth"},
      {"suffix_decoding", R"("max_spec_factor": 0)", "leave no room for drafts"},
      {"suffix_decoding", R"("max_spec_factor": -1)", "#/max_spec_factor"},
      {"suffix_decoding", R"("min_token_prob": 1.1)", "#/min_token_prob"},
      {"suffix_decoding", R"("max_cached_requests": -1)", "#/max_cached_requests"},
      {"suffix_decoding", R"("mean_drafts": 13)", "#/mean_drafts"},
      {"suffix_decoding", R"("max_tree_depth": 8, "suffix_decoding_max_tree_depth": 8)",
       "suffix_decoding_max_tree_depth"},
      {"draft_model", R"("draft": "half", "rejection_sample_method": "blocks")", "#/rejection_sample_method"},
      {"draft_model", R"("draft": "half", "draft_vocabulary": 13)", "#/draft_vocabulary"},
      {"draft_model", R"("draft": "half", "draft_vocabulary": 8, "rejection_sample_method": "block")",
       "#/rejection_sample_method"},
      {"eagle1", R"("draft_vocabulary": 0)", "#/draft_vocabulary"},
      {"eagle1", R"("draft_vocabulary": 2, "tree": {"nodes": [[2]]})", "#/tree/nodes/0"},
      {"eagle2", R"("draft_vocabulary": 2, "tree": {"top_k": 3, "passes": 1, "nodes": 3})", "#/tree/top_k"},
  };
  for (const Case& c : cases) {
    INFO(c.method << " " << c.parameters);
    const std::string found = mistakes(c.method, c.parameters);
    CHECK(found.find(c.place) != std::string::npos);
    INFO(found);
  }
}

TEST_CASE(
    "every method that drafts a length refuses one of no drafts, and every tree of ranks one wider than the "
    "vocabulary") {
  int lengths = 0, trees = 0;
  for (const methods::Entry& e : methods::all()) {
    INFO(e.name);
    const std::string parameters = methods::parameters_text(e);
    const bool network = parameters.find("draft:") != std::string::npos;
    const std::string draft = network ? R"("draft": "half", )" : "";
    if (parameters.find("draft_length") != std::string::npos) {
      ++lengths;
      CHECK(mistakes(std::string(e.name), draft + R"("draft_length": 0)")
                .find("#/draft_length: must be at least 1, got 0") != std::string::npos);
    }
    if (parameters.find("{nodes}") != std::string::npos) {
      ++trees;
      CHECK(mistakes(std::string(e.name), draft + R"("tree": {"nodes": [[0], [12]]})").find("#/tree/nodes/1") !=
            std::string::npos);
    }
  }
  CHECK(lengths >= 20);
  CHECK(trees >= 5);
}

TEST_CASE("masks that reach beyond the target's positions are refused with their place") {
  const auto mistakes_at = [](int positions, const std::string& method) {
    TransformerShape shape = tiny_shape(Network::llama);
    shape.max_positions = positions;
    return mistake_of([&] {
      Decoder decoder(
          Decoder::Options{.target = shape, .precision = Precision(DType::fp32), .capacity = 64},
          read_method(Document::from_text(method, "s.json")), [&](const NamedNetwork&) { return shape; },
          [](const WeightStore&) { return std::make_unique<PricedBackend>(); });
    });
  };
  CHECK(mistakes_at(11, R"({"name": "space", "draft_length": 5})") == "none");
  CHECK(mistakes_at(10, R"({"name": "space", "draft_length": 5})") ==
        "s.json#/draft_length: its masks reach 11 positions, tiny has 10");
  CHECK(mistakes_at(10, R"({"name": "space"})").starts_with("s.json#"));
  CHECK(mistakes_at(5, R"({"name": "s3d", "draft_length": 4})") == "none");
  CHECK(mistakes_at(4, R"({"name": "s3d", "draft_length": 4})").starts_with("s.json#/draft_length: its masks reach 5"));
  CHECK(mistakes_at(2, R"({"name": "s3d", "tree": {"nodes": [[0], [0, 0]]}})").starts_with("s.json#/tree: its masks"));
}

TEST_CASE("every example of every method is taken") {
  for (const methods::Entry& e : methods::all())
    for (const Plan& p : plans_of(e)) {
      INFO(p.method << p.parameters);
      CHECK_NOTHROW(Rig(p, Rig::Kind::priced, 1));
    }
}
