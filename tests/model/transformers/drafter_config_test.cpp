// SPDX-License-Identifier: Apache-2.0
// config.json of drafters: the forms in which they are published, and what is refused.
#include "model/transformers/drafter_config.h"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/core/messages.h"

using namespace draftline;
using Json = nlohmann::json;

namespace {

const Json kLayer{{"model_type", "llama"},  {"hidden_size", 64},        {"intermediate_size", 96},
                  {"num_hidden_layers", 1}, {"num_attention_heads", 4}, {"num_key_value_heads", 2},
                  {"vocab_size", 200},      {"rope_theta", 500000.0},   {"rms_norm_eps", 1e-5},
                  {"hidden_act", "silu"}};

Json eagle3_config(const Json& more = Json::object()) {
  Json config = kLayer;
  config.update({{"architectures", {"LlamaForCausalLMEagle3"}}, {"draft_vocab_size", 50}});
  config.update(more);
  return config;
}
Json speculators_config(const Json& more = Json::object()) {
  Json config{{"architectures", {"Eagle3Speculator"}},
              {"speculators_model_type", "eagle3"},
              {"draft_vocab_size", 50},
              {"norm_before_residual", true},
              {"transformer_layer_config", kLayer}};
  config.update(more);
  return config;
}

DrafterConfig read(const Json& config, DrafterKind kind) {
  return read_whole(Document::from_text(config.dump(), "config.json"),
                    [&](const Reader& in) { return read_drafter(in, kind); });
}
std::string mistake(const Json& config, DrafterKind kind) {
  return mistake_of([&] { read(config, kind); });
}

}  // namespace

TEST_CASE("an EAGLE-3 drafter's layer has widths of its own, and its head a part of the vocabulary") {
  for (const Json& config : {eagle3_config(), speculators_config()}) {
    const DrafterConfig d = read(config, DrafterKind::eagle3);
    CHECK(d.layer.hidden == 64);
    CHECK(d.layer.heads()->heads.head_dim == 16);
    CHECK(d.network.vocabulary == 200);
    CHECK(d.vocabulary == 50);
    CHECK(d.auxiliary_layers.empty());
    CHECK(d.norm_before_residual == config.contains("norm_before_residual"));
  }
}

TEST_CASE("layer ids that begin with 1 count what leaves a layer, but not the speculators library's") {
  const auto layers = [](const Json& config) { return read(config, DrafterKind::eagle3).auxiliary_layers; };
  const auto nested = [](const Json& ids) {
    return Json{{"eagle_config", {{"eagle_aux_hidden_state_layer_ids", ids}}}};
  };
  CHECK(layers(eagle3_config(nested({1, 15, 28}))) == std::vector{2, 16, 29});
  CHECK(layers(eagle3_config(nested({2, 16, 29}))) == std::vector{2, 16, 29});
  CHECK(layers(eagle3_config({{"eagle_aux_hidden_state_layer_ids", {24, 30, 35}}})) == std::vector{24, 30, 35});
  CHECK(layers(speculators_config({{"eagle_aux_hidden_state_layer_ids", {1, 15, 28}}})) == std::vector{1, 15, 28});
  CHECK(layers(eagle3_config(nested({2, 46, 91, 93}))).size() == 4);
  CHECK(contains(mistake(eagle3_config(nested(Json::array())), DrafterKind::eagle3),
                 "config.json#/eagle_config/eagle_aux_hidden_state_layer_ids: must be 1 to 16 layers of the target"));
}

TEST_CASE("drafters that the networks of methods can't hold are refused at the key that says so") {
  using enum DrafterKind;
  CHECK(read(eagle3_config({{"num_hidden_layers", 2}}), eagle3).layers == 2);  // a plain layer follows the first
  CHECK(contains(mistake(eagle3_config({{"target_hidden_size", 128}}), eagle3),
                 "#/target_hidden_size: a drafter with another"));
  CHECK(contains(mistake(eagle3_config({{"draft_vocab_size", 201}}), eagle3),
                 "#/draft_vocab_size: is larger than the target's"));
  CHECK(contains(mistake(eagle3_config({{"architectures", {"DeepseekV3ForCausalLMEagle3"}}}), eagle3),
                 "#/architectures/0: a drafter of the architecture \"DeepseekV3ForCausalLMEagle3\" is not modelled"));
  CHECK(contains(mistake(eagle3_config({{"eagle_config", {{"use_aux_hidden_state", false}}}}), eagle3),
                 "#/eagle_config/use_aux_hidden_state: EAGLE-3 with a single state"));
  CHECK(contains(mistake(speculators_config({{"fc_norm", true}}), eagle3), "#/fc_norm: a norm of each"));
  CHECK(contains(mistake(speculators_config({{"speculators_model_type", "dflash"}}), eagle3),
                 "\"dflash\" is not modelled"));
  CHECK(contains(mistake(speculators_config(), eagle),
                 "#/speculators_model_type: of the speculators library's drafters"));
  Json silent = speculators_config();
  silent.erase("norm_before_residual");  // vLLM takes this for true, the library itself for false
  CHECK(contains(mistake(silent, eagle3), "missing key \"norm_before_residual\""));
  CHECK(contains(mistake(eagle3_config(), medusa), "missing key \"medusa_num_heads\""));
  CHECK(contains(mistake({{"num_heads", 3}, {"vocab_size", 200}, {"truncated_vocab_size", 100}}, medusa),
                 "#/truncated_vocab_size: heads over a part of the vocabulary"));
  Json target = kLayer;
  CHECK(contains(mistake(target, mtp), "missing key \"num_nextn_predict_layers\""));
  target["num_nextn_predict_layers"] = 3;
  CHECK(contains(mistake(target, mtp), "#/num_nextn_predict_layers: only one module, applied repeatedly, is modelled"));
}

TEST_CASE("a hybrid's module attends whatever the last layer does; Qwen3-Next has one without saying so") {
  Json hybrid = Json::parse(
      std::ifstream(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data/transformers/qwen3-next-80b-a3b.json"));
  const DrafterConfig next = read(hybrid, DrafterKind::mtp);
  CHECK(next.normed_state);
  REQUIRE(next.layer.heads() != nullptr);
  CHECK(next.layer.heads()->output_gate);
  CHECK(next.layer.experts() != nullptr);
  CHECK(next.layer.sees_all());
  hybrid["mtp_num_hidden_layers"] = 2;
  CHECK(contains(mistake(hybrid, DrafterKind::mtp), "#/mtp_num_hidden_layers: only one module, applied repeatedly"));
  hybrid["mtp_num_hidden_layers"] = 1;
  hybrid["mtp_use_dedicated_embeddings"] = true;
  CHECK(contains(mistake(hybrid, DrafterKind::mtp), "#/mtp_use_dedicated_embeddings: a module with its own embedding"));
}
