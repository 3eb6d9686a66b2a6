// SPDX-License-Identifier: Apache-2.0
// Folders of tests/fixtures, whole and spoilt. That their weights go where the network expects them is logits_test's
// matter.
#include "decoder/checkpoint/huggingface.h"

#include "tests/core/messages.h"
#include "tests/decoder/spoilt_folder.h"

using namespace draftline;
using draftline::test::kFixtures;

namespace {

std::string message_of(const Spoilt& s) {
  return mistake_of([&] { HuggingFaceFolder{s.folder}; });
}

std::vector<float> loaded(WeightSource& source, const std::string& name, int in, int out) {
  std::vector<float> to(static_cast<std::size_t>(in) * static_cast<std::size_t>(out));
  source.load(name, in, out, to);
  return to;
}

}  // namespace

TEST_CASE("a folder's shape is that of its config.json and its name that of the folder") {
  const HuggingFaceFolder folder(kFixtures / "qwen3");
  CHECK(folder.shape().name == "qwen3");
  CHECK(folder.shape().layer(0).heads()->qk_norm == QkNorm::each_head);
  CHECK(folder.shape().usual_heads().head_dim == 16);
}

TEST_CASE("a matrix is the stored one transposed, and query, key and value lie side by side") {
  HuggingFaceFolder folder(kFixtures / "llama");
  const int hidden = 48, q = 48, kv = 16, columns = q + 2 * kv;
  const auto qkv = loaded(folder, "layers.1.qkv", hidden, columns);
  const SafetensorsFile file(kFixtures / "llama/model.safetensors");
  int column = 0;
  for (const auto& [letter, n] : {std::pair{"q", q}, {"k", kv}, {"v", kv}}) {
    std::vector<float> stored(static_cast<std::size_t>(n * hidden));
    file.read("model.layers.1.self_attn." + std::string(letter) + "_proj.weight", 0, stored);
    bool same = true;
    for (int o = 0; o < n; ++o)
      for (int i = 0; i < hidden; ++i)
        same = same && qkv[static_cast<std::size_t>(i * columns + column + o)] ==
                           stored[static_cast<std::size_t>(o * hidden + i)];
    CHECK(same);
    column += n;
  }
}

TEST_CASE("a tied LM head is the embedding transposed") {
  HuggingFaceFolder folder(kFixtures / "qwen2");
  const auto embedding = loaded(folder, "embedding", 96, 32), head = loaded(folder, "lm_head", 32, 96);
  bool same = true;
  for (std::size_t token = 0; token < 96; ++token)
    for (std::size_t i = 0; i < 32; ++i) same = same && embedding[token * 32 + i] == head[i * 96 + token];
  CHECK(same);
}

TEST_CASE("a weight that a folder lacks or that has another shape is an error") {
  HuggingFaceFolder folder(kFixtures / "llama");
  CHECK(ends_with(mistake_of([&] { loaded(folder, "medusa.0.w", 48, 48); }),
                  "llama: weight \"medusa.0.w\" is not in the checkpoint"));
  CHECK(ends_with(mistake_of([&] { loaded(folder, "layers.3.o", 48, 48); }),
                  "weight \"layers.3.o\" is not in the checkpoint"));
  CHECK(ends_with(mistake_of([&] { loaded(folder, "layers.0x.o", 48, 48); }), "is not in the checkpoint"));
  CHECK(
      ends_with(mistake_of([&] { loaded(folder, "layers.2.o", 48, 40); }), "is [48, 48], but [48, 40] was asked for"));
}

TEST_CASE("a folder without config.json or weights says what is missing") {
  const FreshFolder empty;
  CHECK(ends_with(mistake_of([&] { HuggingFaceFolder{empty.path() / "none"}; }), "none: no such folder"));
  CHECK(contains(mistake_of([&] { HuggingFaceFolder{empty.path()}; }), "config.json: no such file"));
  const Spoilt s("llama");
  std::filesystem::remove(s.folder / "model.safetensors");
  CHECK(ends_with(message_of(s), "llama: has neither model.safetensors nor model.safetensors.index.json"));
  write_bytes(s.folder / "pytorch_model.bin", "");
  CHECK(contains(message_of(s), "; weights in pytorch_model.bin are pickled Python, which is not read: convert them"));
  CHECK(contains(message_of(s), "torch.load('pytorch_model.bin', map_location='cpu', weights_only=True)"));
}

TEST_CASE("tensors that are missing, of another shape or of another type are named all at once") {
  const Spoilt s("llama");
  s.replace("model.safetensors", "model.layers.0.mlp.up_proj.weight", "model.layers.0.mlp.xx_proj.weight");
  s.replace("model.safetensors", "model.norm.weight\":{\"dtype\":\"F32\"", "model.norm.weight\":{\"dtype\":\"I32\"");
  s.config("num_key_value_heads", 3);
  const std::string message = message_of(s);
  CHECK(contains(message, "llama: tensor \"model.layers.0.mlp.up_proj.weight\" is missing\n"));
  CHECK(contains(message, "model.safetensors: tensor \"model.norm.weight\": values of dtype I32 can't be used"));
  CHECK(contains(message,
                 "tensor \"model.layers.2.self_attn.k_proj.weight\": its shape is [16, 48], but the described network "
                 "makes it [24, 48]"));
}

TEST_CASE("a config.json that claims more layers than the files hold is refused without counting them all") {
  const Spoilt s("llama");
  s.config("num_hidden_layers", 16000);
  const std::string message = message_of(s);
  CHECK(contains(message, "tensor \"model.layers.3.input_layernorm.weight\" is missing"));
  CHECK(ends_with(message, "and more tensors are wrong or missing"));
  CHECK(message.size() < 10'000);
}

TEST_CASE("weights that the network has no use for are refused, as leaving them out changes its logits") {
  const Spoilt biased("qwen2");
  biased.set("config.json", "/architectures/0", "LlamaForCausalLM");
  CHECK(contains(message_of(biased),
                 "tensor \"model.layers.0.self_attn.k_proj.bias\": the described network has no such weight"));
  const Spoilt fewer("llama");
  fewer.config("num_hidden_layers", 2);
  CHECK(contains(message_of(fewer), "tensor \"model.layers.2.input_layernorm.weight\": the described network"));
}

TEST_CASE("an architecture whose weights can't be loaded is refused by name") {
  const Spoilt s("llama");
  s.set("config.json", "/architectures/0", "InternLMForCausalLM");
  s.config("bias", false);
  CHECK(contains(
      message_of(s),
      "config.json#/architectures: the weights of InternLMForCausalLM can't be loaded; those of LlamaForCausalLM, "));
}

TEST_CASE("an index that leads out of its folder is refused") {
  const std::string name =
      GENERATE("../model-00001-of-00005.safetensors", "/etc/x.safetensors", "a\\b.safetensors", "passwd", "..");
  const Spoilt s("qwen2");
  s.set("model.safetensors.index.json", "/weight_map/model.norm.weight", name);
  const std::string message = message_of(s);
  CHECK(contains(message, "model.safetensors.index.json#/weight_map/model.norm.weight: "));
  CHECK(contains(message, "must be the name of a .safetensors file in this folder"));
}

TEST_CASE("an index must name files that are there and hold what it says") {
  const Spoilt s("qwen2");
  const std::string index = "model.safetensors.index.json";
  SECTION("no weight_map") {
    write_bytes(s.folder / index, "{}");
    CHECK(ends_with(message_of(s), index + "#: missing key \"weight_map\""));
  }
  SECTION("a name that is no text") {
    s.set(index, "/weight_map/model.norm.weight", 5);
    CHECK(contains(message_of(s), index + "#/weight_map/model.norm.weight: must be"));
  }
  SECTION("a shard is missing") {
    std::filesystem::remove(s.folder / "model-00002-of-00005.safetensors");
    CHECK(ends_with(message_of(s), "model-00002-of-00005.safetensors: no such file"));
  }
  SECTION("a tensor is in another shard") {
    s.set(index, "/weight_map/model.norm.weight", "model-00001-of-00005.safetensors");
    CHECK(ends_with(message_of(s),
                    "#/weight_map/model.norm.weight: the tensor is not in \"model-00001-of-00005.safetensors\""));
  }
  SECTION("a tensor is not listed") {
    auto document = s.json(index);
    document["weight_map"].erase("model.norm.weight");
    write_bytes(s.folder / index, document.dump());
    CHECK(ends_with(message_of(s), "tensor \"model.norm.weight\" is missing"));
  }
  SECTION("a shard is cut short") {
    const auto shard = s.folder / "model-00003-of-00005.safetensors";
    std::filesystem::resize_file(shard, std::filesystem::file_size(shard) - 1);
    CHECK(contains(message_of(s), "model-00003-of-00005.safetensors: tensor "));
    CHECK(contains(message_of(s), "the file is cut short"));
  }
}

TEST_CASE("a weight that is no finite number is named when it is loaded") {
  const Spoilt s("llama");
  std::string bytes = bytes_of_file(s.folder / "model.safetensors");
  bytes.replace(bytes.size() - 4, 4, little_endian(0x7FC00000, 4));  // the last tensor: model.norm.weight
  write_bytes(s.folder / "model.safetensors", bytes);
  HuggingFaceFolder folder(s.folder);
  CHECK(contains(mistake_of([&] { loaded(folder, "final_norm", 1, 48); }),
                 "tensor \"model.norm.weight\": value 47 is not finite"));
}
