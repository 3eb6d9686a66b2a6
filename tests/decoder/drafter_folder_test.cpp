// SPDX-License-Identifier: Apache-2.0
// Drafters' folders, whole and spoilt. What the whole ones draft is the matter of tests/measure/drafters_test.
#include "decoder/checkpoint/drafter_folder.h"
#include "decoder/checkpoint/huggingface.h"

#include "tests/core/messages.h"
#include "tests/decoder/spoilt_folder.h"
#include "tests/decoder/stored_folder.h"

using namespace draftline;
using draftline::test::kFixtures;

namespace {

const HuggingFaceFolder& llama() {
  static const HuggingFaceFolder folder(kFixtures / "llama");
  return folder;
}

std::string message_of(const Spoilt& s, DrafterKind kind, const HuggingFaceFolder& target = llama()) {
  return mistake_of([&] { DrafterFolder(s.folder, kind, target); });
}

std::vector<float> loaded(DrafterFolder& folder, const std::string& name, int in, int out) {
  std::vector<float> to(static_cast<std::size_t>(in) * static_cast<std::size_t>(out));
  folder.load(name, in, out, to);
  return to;
}

// The d2t tensor of the EAGLE-3 fixture with another value i.
void set_d2t(const Spoilt& s, std::size_t i, std::int64_t value) {
  const SafetensorsFile file(s.folder / "model.safetensors");
  std::string bytes = bytes_of_file(s.folder / "model.safetensors");
  std::uint64_t end = 0;  // of the data of all tensors: the header's end is that many bytes before the file's
  for (const auto& [name, t] : file.tensors()) end = std::max(end, t.end);
  const std::size_t at = bytes.size() - end + file.tensors().at("d2t").begin + 8 * i;
  write_bytes(s.folder / "model.safetensors",
              bytes.replace(at, 8, little_endian(static_cast<std::uint64_t>(value), 8)));
}

}  // namespace

TEST_CASE("a drafter's tensors that are missing, of another shape or too many are named with their files") {
  const Spoilt eagle3("drafters/eagle3");
  eagle3.replace("model.safetensors", "midlayer.mlp.up_proj.weight", "midlayer.mlp.xx_proj.weight");
  eagle3.config("num_key_value_heads", 2);
  const std::string message = message_of(eagle3, DrafterKind::eagle3);
  CHECK(contains(message, "eagle3: tensor \"midlayer.mlp.up_proj.weight\" is missing"));
  CHECK(contains(message,
                 "model.safetensors: tensor \"midlayer.self_attn.k_proj.weight\": its shape is [32, 96], but the "
                 "described network "
                 "makes it [16, 96]"));
  const Spoilt wide("drafters/eagle3_speculators");
  wide.config("norm_before_fc", false);
  CHECK(contains(message_of(wide, DrafterKind::eagle3),
                 "tensor \"input_norm.weight\": the described network has no such weight"));
  const Spoilt fewer("drafters/medusa");
  fewer.config("medusa_num_heads", 3);
  CHECK(contains(message_of(fewer, DrafterKind::medusa), "tensor \"3.0.linear.bias\": the described network"));
}

TEST_CASE("a drafter of another target is refused by its sizes") {
  const Spoilt s("drafters/eagle");
  s.config("vocab_size", 90);
  CHECK(
      contains(message_of(s, DrafterKind::eagle), "config.json#: the drafter's vocabulary is 90, the target's is 96"));
  const HuggingFaceFolder mimo(kFixtures / "drafters/mtp_mimo");
  const Spoilt whole("drafters/eagle3");
  const std::string message = message_of(whole, DrafterKind::eagle3, mimo);
  CHECK(contains(message, "the drafter's hidden size is 48, the target's is 32"));
  CHECK(contains(message, "the drafter's vocabulary is 96, the target's is 64"));
  const Spoilt far("drafters/eagle3");
  far.config("eagle_config", {{"eagle_aux_hidden_state_layer_ids", {0, 2, 3}}});
  CHECK(contains(message_of(far, DrafterKind::eagle3), "state that enters layer 3, the target has 3 layers"));
  const Spoilt heads("drafters/medusa");
  CHECK(contains(message_of(heads, DrafterKind::medusa, mimo),
                 "tensor \"0.0.linear.weight\": its shape is [48, 48], but the described network makes it [32, 32]"));
}

TEST_CASE("ids of a reduced vocabulary that lead out of the target's, or twice to one token, are refused") {
  const Spoilt out("drafters/eagle3");
  set_d2t(out, 7, 89);
  CHECK(contains(message_of(out, DrafterKind::eagle3), "tensor \"d2t\": value 7 leads out of the target's vocabulary"));
  set_d2t(out, 7, -8);
  CHECK(contains(message_of(out, DrafterKind::eagle3), "tensor \"d2t\": value 7 leads out of the target's vocabulary"));
  set_d2t(out, 7, std::numeric_limits<std::int64_t>::max());
  CHECK(contains(message_of(out, DrafterKind::eagle3), "tensor \"d2t\": value 7 leads out of the target's vocabulary"));
  const Spoilt twice("drafters/eagle3");
  std::vector<std::int64_t> offsets(40);
  SafetensorsFile(twice.folder / "model.safetensors").read("d2t", 0, offsets);
  set_d2t(twice, 5, offsets[4] - 1);
  CHECK(contains(message_of(twice, DrafterKind::eagle3),
                 "value 5 leads to token " + std::to_string(4 + offsets[4]) + ", as one before it does"));
  const Spoilt none("drafters/eagle3");
  none.replace("model.safetensors", "\"d2t\"", "\"t2t\"");
  CHECK(contains(message_of(none, DrafterKind::eagle3),
                 "tensor \"d2t\" is missing, which says which 40 of the target's 96 tokens are drafted"));
}

TEST_CASE("pickled heads are refused with the command that converts them") {
  const Spoilt s("drafters/medusa");
  std::filesystem::rename(s.folder / "medusa_lm_head.safetensors", s.folder / "medusa_lm_head.pt");
  const std::string message = message_of(s, DrafterKind::medusa);
  CHECK(contains(message,
                 "medusa: has neither medusa_lm_head.safetensors nor medusa_lm_head.safetensors.index.json; "
                 "weights in medusa_lm_head.pt are pickled Python, which is not read: convert them once"));
  CHECK(contains(message,
                 "torch.load('medusa_lm_head.pt', map_location='cpu', weights_only=True).items()}, "
                 "'medusa_lm_head.safetensors')\""));
}

TEST_CASE("a drafter whose LM head should be the target's, and is not, is refused") {
  const Spoilt s("drafters/mtp_deepseek");
  std::string bytes = bytes_of_file(s.folder / "model.safetensors");
  const SafetensorsFile file(s.folder / "model.safetensors");
  std::uint64_t end = 0;
  for (const auto& [name, t] : file.tensors()) end = std::max(end, t.end);
  const auto at = bytes.size() - end + file.tensors().at("model.layers.2.shared_head.head.weight").begin;
  write_bytes(s.folder / "model.safetensors", bytes.replace(at, 4, little_endian(0x3F000000, 4)));
  const HuggingFaceFolder target(s.folder);
  CHECK(contains(message_of(s, DrafterKind::mtp, target),
                 "tensor \"model.layers.2.shared_head.head.weight\": a drafter of this kind has the target's LM head"));
}

TEST_CASE("an assistant is of the target whose width it names, and has queries alone") {
  const HuggingFaceFolder gemma(kFixtures / "gemma4");
  const Spoilt s("drafters/gemma4_assistant");
  CHECK(message_of(s, DrafterKind::gemma4_assistant, gemma) == "none");
  CHECK(contains(message_of(s, DrafterKind::gemma4_assistant), "the drafter's hidden size is 32, the target's is 48"));
  Spoilt keys("drafters/gemma4_assistant");
  keys.replace("model.safetensors", "model.layers.2.self_attn.q_norm.weight", "model.layers.2.self_attn.k_norm.weight");
  CHECK(contains(message_of(keys, DrafterKind::gemma4_assistant, gemma), "model.layers.2.self_attn.q_norm.weight"));
  s.config("use_ordered_embeddings", true);
  CHECK(contains(message_of(s, DrafterKind::gemma4_assistant, gemma),
                 "#/use_ordered_embeddings: logits for a part of the vocabulary"));
  s.config("use_ordered_embeddings", false);
  auto text = s.json("config.json").at("text_config");
  text["layer_types"] = {"full_attention", "chunked_attention"};
  s.config("text_config", text);
  const std::string message = message_of(s, DrafterKind::gemma4_assistant, gemma);
  CHECK(contains(message, "#/text_config/layer_types: has 2 entries for 3 layers"));
  CHECK(contains(message, "#/text_config/layer_types/1: "));
}

TEST_CASE("a target without an MTP module that can be read says which tensors are looked for") {
  const Spoilt s("llama");
  s.config("num_nextn_predict_layers", 1);
  CHECK(contains(message_of(s, DrafterKind::mtp),
                 "llama: has no MTP module that can be read: none of \"model.layers.3.eh_proj.weight\", "
                 "\"model.mtp_layers.0.input_proj.weight\", \"mtp.fc.weight\""));
}

TEST_CASE("the tensors of an MTP module are a target's own only where its config.json says so") {
  const Spoilt s("drafters/mtp_deepseek");
  CHECK(mistake_of([&] { HuggingFaceFolder{s.folder}; }) == "none");
  s.config("num_nextn_predict_layers", 0);
  CHECK(contains(mistake_of([&] { HuggingFaceFolder{s.folder}; }),
                 "tensor \"model.layers.2.eh_proj.weight\": the described network has no such weight"));
}

// The fixture `s`, with a module behind its layers as DeepSeek-V3 and GLM-4.5 publish it: a layer like the last.
static void add_module(const Spoilt& s) {
  const int layers = s.json("config.json").at("num_hidden_layers");
  const std::string last = "model.layers." + std::to_string(layers - 1) + ".",
                    module = "model.layers." + std::to_string(layers) + ".";
  std::vector<Stored> all = stored_in(s.folder / "model.safetensors"), more;
  const auto vector = [&](const std::string& name) {
    more.push_back({module + name, "F32", {32}, fp32_bytes(std::vector<float>(32, 1))});
  };
  for (const Stored& t : all) {
    if (t.name.starts_with(last)) more.push_back({module + t.name.substr(last.size()), t.dtype, t.shape, t.bytes});
    if (t.name == "model.embed_tokens.weight")
      more.push_back({module + "embed_tokens.weight", t.dtype, t.shape, t.bytes});
    if (t.name == "lm_head.weight") more.push_back({module + "shared_head.head.weight", t.dtype, t.shape, t.bytes});
  }
  for (const char* name : {"enorm.weight", "hnorm.weight", "shared_head.norm.weight"}) vector(name);
  more.push_back({module + "eh_proj.weight", "F32", {32, 64}, fp32_bytes(std::vector<float>(32 * 64, 0.5F))});
  all.insert(all.end(), more.begin(), more.end());
  write_bytes(s.folder / "model.safetensors", safetensors(all));
  s.config("num_nextn_predict_layers", 1);
}

TEST_CASE("the module behind DeepSeek-V3's and GLM-4.5's layers has their attention and experts") {
  const std::string network = GENERATE("deepseek_v3", "glm4_moe");
  CAPTURE(network);
  const Spoilt s(network);
  add_module(s);
  HuggingFaceFolder target(s.folder);
  DrafterFolder module(s.folder, DrafterKind::mtp, target);
  CHECK_FALSE(module.config().own_embedding);
  const auto of_target = [&](const std::string& name, int in, int out) {
    std::vector<float> to(static_cast<std::size_t>(in) * static_cast<std::size_t>(out));
    target.load("layers.2." + name, in, out, to);
    return to;
  };
  const auto same = [&](const std::string& name, int in, int out) {
    CAPTURE(name);
    CHECK(loaded(module, "layer." + name, in, out) == of_target(name, in, out));
  };
  const int experts = target.shape().experts()->count;
  same("router", 32, experts);
  same("router.choice_bias", 1, experts);
  same("experts.gate_up", experts * 32, 40);
  same("experts.down", experts * 20, 32);
  same("shared.down", 20, 32);
  if (network == "deepseek_v3") same("latent.down", 32, 22 + 18 + 8);
  else same("qkv_bias", 1, 48 + 2 * 16);
  CHECK(loaded(module, "join", 64, 32) == std::vector<float>(64 * 32, 0.5F));
}

TEST_CASE("each tensor of an MTP module is refused by its name where it is missing") {
  const auto [fixture, prefix] = GENERATE(table<std::string, std::string>({{"drafters/mtp_deepseek", "model.layers.2."},
                                                                           {"drafters/mtp_mimo", "model.mtp_layers.0."},
                                                                           {"drafters/mtp_qwen", "mtp."},
                                                                           {"deepseek_v3", "model.layers.3."},
                                                                           {"glm4_moe", "model.layers.3."}}));
  const Spoilt whole(fixture), s(fixture);
  for (const Spoilt* each : {&whole, &s})
    if (!fixture.starts_with("drafters/")) add_module(*each);
  const std::vector<Stored> all = stored_in(s.folder / "model.safetensors");
  const HuggingFaceFolder target(whole.folder);
  CHECK(message_of(s, DrafterKind::mtp, target) == "none");
  int missed = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string& name = all[i].name;
    if (!name.starts_with(prefix) || name.ends_with("embed_tokens.weight") || name.ends_with("shared_head.head.weight"))
      continue;  // copies of the target's, which a module may lack
    std::vector<Stored> rest = all;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    write_bytes(s.folder / "model.safetensors", safetensors(rest));
    CAPTURE(name);
    const std::string message = message_of(s, DrafterKind::mtp, target);
    // The matrix that joins the two inputs tells in which form a module is stored.
    const bool join =
        name.ends_with("eh_proj.weight") || name.ends_with("input_proj.weight") || name == "mtp.fc.weight";
    CHECK(contains(message,
                   join ? "has no MTP module that can be read: none of " : "tensor \"" + name + "\" is missing"));
    CHECK(contains(message, name));
    ++missed;
  }
  CHECK(missed >= 13);  // three norms, the join, the attention and the MLP of a plain layer, and its two norms
}

TEST_CASE("each tensor of a drafter of one pass is refused by its name where it is missing") {
  const auto [fixture, kind] =
      GENERATE(table<std::string, DrafterKind>({{"drafters/p_eagle", DrafterKind::p_eagle},
                                                {"drafters/p_eagle_speculators", DrafterKind::p_eagle},
                                                {"drafters/dflash", DrafterKind::dflash},
                                                {"drafters/dflash_speculators", DrafterKind::dflash},
                                                {"drafters/dspark", DrafterKind::dspark},
                                                {"drafters/dflash2", DrafterKind::dflash2},
                                                {"drafters/domino", DrafterKind::domino}}));
  const Spoilt s(fixture);
  const std::vector<Stored> all = stored_in(s.folder / "model.safetensors");
  CHECK(message_of(s, kind) == "none");
  const auto not_needed = [kind = kind](const std::string& name) {
    const bool copies = kind == DrafterKind::dspark && (name == "embed_tokens.weight" || name == "lm_head.weight");
    return copies || name == "t2d" || name.starts_with("confidence_head.");
  };
  const std::string form = "midlayer.hidden_norm.weight";  // tells in which form EAGLE-3's layer is stored
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<Stored> rest = all;
    rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(i));
    write_bytes(s.folder / "model.safetensors", safetensors(rest));
    CAPTURE(all[i].name);
    const std::string message = message_of(s, kind);
    if (not_needed(all[i].name)) CHECK(message == "none");
    else
      CHECK(contains(message, "tensor \"" + (all[i].name == form ? "layers.0.hidden_norm.weight" : all[i].name) +
                                  "\" is missing"));
  }
  std::vector<Stored> more = all;
  more.push_back({"layers.0.self_attn.attention_sink_bias", "F32", {4}, fp32_bytes({1, 2, 3, 4})});
  write_bytes(s.folder / "model.safetensors", safetensors(more));
  CHECK(contains(message_of(s, kind), "tensor \"layers.0.self_attn.attention_sink_bias\": the described network"));
}

TEST_CASE("what changes a block drafter's values and not its cost is refused where it is decoded") {
  const auto refused = [](const std::string& key, const nlohmann::json& value) {
    const Spoilt s("drafters/dflash2");
    s.config(key, value);
    return message_of(s, DrafterKind::dflash2);
  };
  CHECK(contains(refused("output_multiplier", 0.2), "#/output_multiplier: a block drafter with a scale can be priced"));
  CHECK(contains(refused("final_logit_softcapping", 20),
                 "#/final_logit_softcapping: a block drafter with capped logits"));
  CHECK(refused("output_multiplier", 1) == "none");
  CHECK(contains(refused("dflash_config", {{"conv_kernel_size", 3},
                                           {"conv_group_size", 16},
                                           {"selector_rank", 12},
                                           {"selector_top_k", 9},
                                           {"target_layer_ids", {1, 0}}}),
                 "config.json#: does not say which token its masks are"));
  const Spoilt s("drafters/dflash");
  write_bytes(s.folder / "mask_embedding.pt", "pickled");
  CHECK(contains(message_of(s, DrafterKind::dflash), "dflash: mask_embedding.pt: a mask with an embedding of its own"));
}

TEST_CASE("ModelOpt's DSpark has other names, and a head of confidence over the state alone is not read") {
  const Spoilt s("drafters/dspark");
  std::vector<Stored> all = stored_in(s.folder / "model.safetensors");
  for (Stored& t : all) {
    for (const char* theirs : {"markov_head.", "confidence_head."})
      if (t.name.starts_with(theirs)) t.name = t.name.substr(std::string(theirs).size());
    if (t.name.starts_with("proj.")) t.name = "confidence_" + t.name;
    if (t.name == "confidence_proj.weight") t = {t.name, "F32", {1, 48}, fp32_bytes(std::vector<float>(48, 1))};
  }
  write_bytes(s.folder / "model.safetensors", safetensors(all));
  DrafterFolder folder(s.folder, DrafterKind::dspark, llama());
  DrafterFolder whole(kFixtures / "drafters/dspark", DrafterKind::dspark, llama());
  CHECK(loaded(folder, "w2", 10, 96) == loaded(whole, "w2", 10, 96));
  CHECK(loaded(folder, "confidence", 58, 1) == std::vector<float>(58));
  CHECK(loaded(whole, "confidence", 58, 1) != std::vector<float>(58));
}

TEST_CASE("a bias that a drafter does not have is zero, and a weight that it lacks is an error") {
  DrafterFolder heads(kFixtures / "drafters/medusa_vllm", DrafterKind::medusa, llama());
  CHECK(loaded(heads, "1.1.b", 1, 48) == std::vector<float>(48));
  CHECK(contains(mistake_of([&] { loaded(heads, "4.w", 48, 48); }), "weight \"4.w\" is not in the checkpoint"));
}
