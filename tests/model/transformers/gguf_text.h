// SPDX-License-Identifier: Apache-2.0
// Writes GGUF files for tests: a header, and as many bytes as its tensors need, which are not stored.
#pragma once
#include <algorithm>
#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "model/transformers/gguf_header.h"

namespace draftline {

class GgufText {
 public:
  explicit GgufText(std::uint32_t version = 3) : version_(version) {}
  void text(const std::string& key, const std::string& value) { entry(key, 8, string(value)); }
  void number(const std::string& key, std::uint32_t value) { entry(key, 4, bytes(value, 4)); }
  void real(const std::string& key, float value) { entry(key, 6, bytes(std::bit_cast<std::uint32_t>(value), 4)); }
  void texts(const std::string& key, std::uint64_t n) {
    std::string all = bytes(8, 4) + bytes(n, 8);
    for (std::uint64_t i = 0; i < n; ++i) all += string("t");
    entry(key, 9, all);
  }
  void numbers(const std::string& key, const std::vector<std::uint32_t>& values) {
    std::string all = bytes(4, 4) + bytes(values.size(), 8);
    for (const std::uint32_t v : values) all += bytes(v, 4);
    entry(key, 9, all);
  }
  void tensor(const std::string& name, const std::vector<std::uint64_t>& shape, std::uint32_t type) {
    tensors_ += string(name) + bytes(shape.size(), 4);
    for (const std::uint64_t d : shape) tensors_ += bytes(d, 8);
    tensors_ += bytes(type, 4) + bytes(data_, 8);
    double values = 1;
    for (const std::uint64_t d : shape) values *= static_cast<double>(d);
    const GgufType* known = gguf_type(type);
    if (known != nullptr) data_ += static_cast<std::uint64_t>(values / known->values * known->bytes);
    data_ = (data_ + 31) / 32 * 32;
    ++count_;
  }
  std::string header() const {
    return "GGUF" + bytes(version_, 4) + bytes(count_, 8) + bytes(entries_, 8) + metadata_ + tensors_;
  }
  std::uint64_t data() const { return data_; }
  void write(const std::filesystem::path& file) const {
    std::ofstream(file, std::ios::binary) << header();
    std::filesystem::resize_file(file, header().size() + 32 + data_);  // a sparse file
  }
  static std::string bytes(std::uint64_t v, int n) {
    std::string all;
    for (int i = 0; i < n; ++i) all += static_cast<char>(v >> 8 * i & 0xFF);
    return all;
  }
  static std::string string(const std::string& s) { return bytes(s.size(), 8) + s; }

 private:
  void entry(const std::string& key, std::uint32_t kind, const std::string& value) {
    metadata_ += string(key) + bytes(kind, 4) + value;
    ++entries_;
  }
  std::uint32_t version_;
  std::string metadata_, tensors_;
  std::uint64_t entries_ = 0, count_ = 0, data_ = 0;
};

// Sizes of a network of Llama's architecture.
struct GgufLlama {
  std::uint32_t layers = 2, hidden = 256, intermediate = 512, heads = 4, kv_heads = 2, vocabulary = 1000;
  bool tied = false;
};

// The tensors of layer i.
template <class TypeOf>
void add_gguf_layer(GgufText& t, const GgufLlama& n, TypeOf type_of, std::uint32_t i) {
  constexpr std::uint32_t kF32 = 0;
  const std::string layer = "blk." + std::to_string(i) + ".";
  const std::uint64_t kv = std::uint64_t{n.kv_heads} * (n.hidden / n.heads);
  const auto matrix = [&](const std::string& name, std::uint64_t in, std::uint64_t out) {
    t.tensor(layer + name + ".weight", {in, out}, type_of(name, i));
  };
  for (const char* norm : {"attn_norm", "ffn_norm"}) t.tensor(layer + norm + ".weight", {n.hidden}, kF32);
  matrix("attn_q", n.hidden, n.hidden);
  matrix("attn_k", n.hidden, kv);
  matrix("attn_v", n.hidden, kv);
  matrix("attn_output", n.hidden, n.hidden);
  matrix("ffn_gate", n.hidden, n.intermediate);
  matrix("ffn_up", n.hidden, n.intermediate);
  matrix("ffn_down", n.intermediate, n.hidden);
}

// Its file; type_of(tensor, layer) is the type of each matrix. Norms are of F32. `layers`: those whose tensors are in
// it.
template <class TypeOf>
GgufText gguf_llama(const GgufLlama& n, TypeOf type_of, const std::string& architecture = "llama",
                    std::uint32_t layers = ~0U) {
  GgufText t;
  const std::string a = architecture + ".";
  t.text("general.architecture", architecture);
  t.number(a + "block_count", n.layers);
  t.number(a + "embedding_length", n.hidden);
  t.number(a + "feed_forward_length", n.intermediate);
  t.number(a + "attention.head_count", n.heads);
  t.number(a + "attention.head_count_kv", n.kv_heads);
  t.number(a + "context_length", 8192);
  t.real(a + "rope.freq_base", 500000);
  t.real(a + "attention.layer_norm_rms_epsilon", 1e-5F);
  t.texts("tokenizer.ggml.tokens", n.vocabulary);
  constexpr std::uint32_t kF32 = 0;
  t.tensor("token_embd.weight", {n.hidden, n.vocabulary}, type_of("token_embd", 0));
  for (std::uint32_t i = 0; i < std::min(n.layers, layers); ++i) add_gguf_layer(t, n, type_of, i);
  t.tensor("output_norm.weight", {n.hidden}, kF32);
  if (!n.tied) t.tensor("output.weight", {n.hidden, n.vocabulary}, type_of("output", 0));
  return t;
}

}  // namespace draftline
