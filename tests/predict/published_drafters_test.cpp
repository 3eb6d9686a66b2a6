// SPDX-License-Identifier: Apache-2.0
// Drafters that are priced by the config.json of their folder.
#include <fstream>
#include <nlohmann/json.hpp>

#include "sim/draft_schedule.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

using Json = nlohmann::json;

// z-lab's Qwen3-8B-DFlash-b16: five layers of the target's own widths.
Json qwen3_8b_dflash() {
  return {{"architectures", {"DFlashDraftModel"}},
          {"hidden_size", 4096},
          {"intermediate_size", 12288},
          {"num_hidden_layers", 5},
          {"num_attention_heads", 32},
          {"num_key_value_heads", 8},
          {"head_dim", 128},
          {"vocab_size", 151936},
          {"rms_norm_eps", 1e-6},
          {"block_size", 16},
          {"dflash_config", {{"mask_token_id", 151669}, {"target_layer_ids", {1, 9, 17, 25, 33}}}}};
}

class Folder {
 public:
  explicit Folder(const Json& config) {
    std::filesystem::create_directory(fresh_.path() / "drafter");
    std::ofstream(fresh_.path() / "drafter/config.json") << config.dump();
  }
  // `method`: the rest of its object.
  std::unique_ptr<Sweep> sweep(const std::string& method, const std::string& target = "qwen3-8b") const {
    std::ofstream(fresh_.path() / "s.json")
        << R"({"device": "h100-sxm", "transformer": ")" << target
        << R"(", "engine": "vllm", "batch_size": 4, "prompt_tokens": 4000, "method": {)"
        << (contains(method, "acceptance") ? "" : R"("acceptance": {"rate": 0.8}, )") << method << "}}";
    auto s = std::make_unique<Sweep>(fresh_.path() / "s.json", kData);
    s->validate();
    return s;
  }
  Prediction predicted(const std::string& method, const std::string& target = "qwen3-8b") const {
    return std::get<Prediction>(sweep(method, target)->at(0).result);
  }
  std::string mistake(const std::string& method, const std::string& target = "qwen3-8b") const {
    return mistake_of([&] { sweep(method, target); });
  }

 private:
  FreshFolder fresh_;
};

const std::string kChecked = R"("checkpoint": "drafter")";

}  // namespace

TEST_CASE("the published DFlash of Qwen3-8B costs what the paper's shape does") {
  const Folder folder(qwen3_8b_dflash());
  for (const std::string length : {"", R"(, "draft_length": 7)"}) {
    const Prediction theirs = folder.predicted(R"("name": "dflash", )" + kChecked + length),
                     ours = folder.predicted(R"("name": "dflash")" + length);
    CHECK(theirs.step_time.value == ours.step_time.value);
    CHECK(theirs.memory.total().value == ours.memory.total().value);
    CHECK(theirs.verified_rows == (length.empty() ? 16 : 8));
  }
}

TEST_CASE("a block drafter of other widths, with its own LM head and windows, is priced as it is") {
  Json config = qwen3_8b_dflash();
  const double usual = Folder(config).predicted(R"("name": "dflash", )" + kChecked).memory.draft_weights.value;
  config["intermediate_size"] = 4096;
  const Folder narrow(config);
  const Prediction less = narrow.predicted(R"("name": "dflash", )" + kChecked);
  CHECK(usual - less.memory.draft_weights.value ==
        Approx(5.0 * 3 * 4096 * (12288 - 4096) * 2));  // five MLPs in 16 bits

  Json theirs{{"speculators_model_type", "dflash"},
              {"transformer_layer_config", qwen3_8b_dflash()},
              {"draft_vocab_size", 32000},
              {"aux_hidden_state_layer_ids", {2, 10, 18, 26, 34}},
              {"block_size", 16}};
  const double with_head = Folder(theirs).predicted(R"("name": "dflash", )" + kChecked).memory.draft_weights.value;
  // A table of embeddings, an LM head, and where its tokens lead.
  CHECK(with_head - usual == Approx((151936.0 + 32000) * 4096 * 2).epsilon(1e-3));

  Json windowed = qwen3_8b_dflash();
  windowed["layer_types"] = {"sliding_attention", "sliding_attention", "full_attention", "sliding_attention",
                             "sliding_attention"};
  windowed["sliding_window"] = 1024;
  const Folder mixed(windowed), whole(qwen3_8b_dflash());
  const auto cache = [](const Prediction& p) { return p.memory.draft_cache.value; };
  const double all = cache(whole.predicted(R"("name": "dflash", )" + kChecked)),
               some = cache(mixed.predicted(R"("name": "dflash", )" + kChecked)),
               few = cache(whole.predicted(R"("name": "dflash", "window": 1024, )" + kChecked));
  CHECK(few < some);
  CHECK(some < all);
  CHECK(some - few == Approx((all - few) / 5).epsilon(0.01));  // one layer of five keeps all
}

TEST_CASE("an LM head whose tokens the ranks do not divide is priced on several devices") {
  Json config{{"speculators_model_type", "dspark"},
              {"transformer_layer_config", qwen3_8b_dflash()},
              {"draft_vocab_size", 32001},
              {"aux_hidden_state_layer_ids", {2, 10, 18, 26, 34}},
              {"block_size", 8}};
  const Folder folder(config);
  const std::string method = R"("name": "dspark", )" + kChecked;
  const Prediction one = folder.predicted(method);
  const auto sweep = folder.sweep(method, R"(qwen3-8b", "tensor_parallel": 2, "name": "two)");
  const Prediction two = std::get<Prediction>(sweep->at(0).result);
  CHECK(two.step_time < one.step_time);
  CHECK(2 * two.memory.draft_weights.value > one.memory.draft_weights.value);
}

TEST_CASE("a window of an EAGLE-3's layer bounds what its cache holds") {
  Json config{{"architectures", {"LlamaForCausalLMEagle3"}},
              {"hidden_size", 4096},
              {"intermediate_size", 12288},
              {"num_hidden_layers", 1},
              {"num_attention_heads", 32},
              {"num_key_value_heads", 8},
              {"head_dim", 128},
              {"vocab_size", 151936},
              {"draft_vocab_size", 32000},
              {"rms_norm_eps", 1e-6},
              {"model_type", "qwen3"}};
  const Json theirs{{"speculators_model_type", "eagle3"}, {"norm_before_residual", true}, {"draft_vocab_size", 32000}};
  const auto cache = [&](Json layer) {
    layer.erase("architectures");
    Json whole = theirs;
    whole["transformer_layer_config"] = layer;
    return Folder(whole).predicted(R"("name": "eagle3", "draft_length": 3, )" + kChecked).memory.draft_cache.value;
  };
  const double all = cache(config);
  config["layer_types"] = {"sliding_attention"};
  config["sliding_window"] = 256;
  CHECK(cache(config) < all / 4);
}

TEST_CASE("a checkpoint's block bounds the drafts, and decides what is said beside it") {
  const Folder folder(qwen3_8b_dflash());
  CHECK(contains(folder.mistake(R"("name": "dflash", "draft_length": 16, )" + kChecked),
                 "#/method/checkpoint: its blocks have 16 rows, which give 15 drafts"));
  CHECK(contains(folder.mistake(R"("name": "dflash", "layers": 3, "mask_token": 1, )" + kChecked),
                 "#/method/layers: the checkpoint says this"));
  CHECK(contains(folder.mistake(R"("name": "dspark", )" + kChecked), "belongs to a \"dflash\" drafter"));
  CHECK(contains(folder.mistake(R"("name": "dflash", )" + kChecked, "llama-3.1-8b"),
                 "#/method/checkpoint: the drafter's vocabulary is 151936, the target's 128256"));
}

TEST_CASE("no draft length beyond a checkpoint's block or heads is looked at") {
  Json config = qwen3_8b_dflash();
  config["block_size"] = 6;
  const Folder block(config), heads({{"medusa_num_heads", 3}, {"hidden_size", 4096}, {"vocab_size", 151936}});
  const std::string rates =
      R"("draft_length": 2, "acceptance": {"rates": [0.99, 0.99, 0.99, 0.99, 0.99, 0.99, 0.99, 0.99]}, )";
  for (const auto& [folder, name, longest] : {std::tuple(&block, "dflash", 5), {&heads, "medusa", 3}}) {
    const auto sweep = folder->sweep("\"name\": \"" + std::string(name) + "\", " + rates + kChecked);
    const Point point = point_at(sweep->scenario(), 0);
    DraftSchedule schedule(sweep->pricer(), sweep->setup(point), sweep->scenario().method(point));
    const auto best = schedule.best(512, 1);
    REQUIRE(best);
    CHECK(best->draft_length == longest);
  }
}

}  // namespace draftline
