// SPDX-License-Identifier: Apache-2.0
// Names of tensors are those of llama.cpp's gguf-py/gguf/constants.py.
#include "model/transformers/gguf_network.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "core/printable.h"
#include "core/quantity_text.h"
#include "core/reader.h"
#include "model/transformers/config_families.h"
#include "model/transformers/gguf_config.h"

namespace draftline {

namespace {

// Tensors of one class.
struct Sum {
  double values = 0, bytes = 0;
  void add(const GgufTensor& t) { values += t.values(), bytes += t.bytes(); }
  double bits() const { return 8 * bytes / values; }
};

// A format with so many bits for each value on average.
LinearFormat format_of(const GgufHeader& h, const Sum& sum, const char* what) {
  constexpr int kBlock = 256, kLow = 4, kByte = 8, kHalf = 16, kSingle = 32;
  const double bits = sum.bits();
  if (bits >= (kHalf + kSingle) / 2.0) return {.weights = DType::fp32};
  if (bits > (kByte + kHalf) / 2.0) return {.weights = DType::fp16};
  if (bits < kLow)
    h.fail(std::string(what) + " have " + significant(bits, 3) +
           " bits a weight; formats of fewer than 4 bits are not priced");
  const DType weights = bits >= kByte ? DType::int8 : DType::int4;
  return {.weights = weights, .scales = {kBlock, 1, to_int(std::lround((bits - bits_of(weights)) * kBlock))}};
}

bool is_matrix(const GgufTensor& t) { return t.shape.size() > 1; }

// 0 for a tensor that is in no layer.
int layer_of(std::string_view tensor) {
  constexpr std::string_view kBlock = "blk.";
  int layer = 0;
  if (tensor.starts_with(kBlock)) std::from_chars(tensor.data() + kBlock.size(), tensor.data() + tensor.size(), layer);
  return layer;
}

std::string most_used_type(const GgufHeader& h) {
  std::map<std::string_view, double> bytes;
  for (const auto& [name, t] : h.tensors) bytes[t.type.name] += t.bytes();
  return std::string(std::ranges::max_element(bytes, {}, [](const auto& b) { return b.second; })->first);
}

}  // namespace

Precision gguf_precision(const GgufHeader& h, int layers, std::vector<std::string>* others) {
  Sum attention, mlp, experts, head, embedding;
  for (const auto& [name, t] : h.tensors) {
    if (!is_matrix(t) || layer_of(name) >= layers) continue;
    const auto has = [&n = name](std::string_view part) { return n.find(part) != std::string::npos; };
    if (name == "token_embd.weight") embedding.add(t);
    else if (name == "output.weight") head.add(t);
    else if (has("_exps.")) experts.add(t);
    else if (has(".attn_") || has(".ssm_")) attention.add(t);
    else if (has(".ffn_gate_inp")) continue;  // routers stay in 16 or 32 bits
    else if (has(".ffn_")) mlp.add(t);
    else if (others != nullptr) others->push_back(name);
  }
  if (attention.values == 0) h.fail("has no matrices of attention");
  if (mlp.values == 0 && experts.values == 0) h.fail("has no matrices of MLPs");
  if (embedding.values == 0) h.fail("has no matrix \"token_embd.weight\"");
  Precision p("gguf:" + most_used_type(h), format_of(h, mlp.values > 0 ? mlp : experts, "the MLPs"), DType::fp16);
  p.attention = format_of(h, attention, "the matrices of attention");
  p.experts = experts.values > 0 ? format_of(h, experts, "the experts") : p.mlp;
  const LinearFormat table = format_of(h, embedding, "the embeddings");
  p.embedding = table.weights;
  p.embedding_scales = table.scales;
  p.lm_head = head.values > 0 ? format_of(h, head, "the weights of the LM head") : table;
  p.draft = p.mlp;
  return p;
}

TransformerShape read_gguf_network(const GgufHeader& h, const Files& files) {
  const GgufConfig config = gguf_config(h, files);
  const std::string architecture = config.json.at("architectures").front();
  TransformerShape s = read_whole(
      Document::from_text(config.json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace), h.file),
      [&](const Reader& in) { return config::read_transformer_as(architecture, in); });
  constexpr double kNear = 0.02;  // norms, biases and factors of rope, which files hold or leave out
  const int layers = s.mtp_modules > 0 ? s.layers() : std::numeric_limits<int>::max();
  double values = 0;
  for (const auto& [name, t] : h.tensors)
    if (layer_of(name) < layers) values += t.values();
  const double expected = parameters(s);
  if (std::abs(values / expected - 1) > kNear)
    h.fail("its tensors hold " + significant(values, 4) + " values, the network that it describes " +
           significant(expected, 4) + ": the file has other layers than its keys");
  std::vector<std::string> others;
  s.checkpoint = gguf_precision(h, layers, &others);
  s.notes.insert(s.notes.end(), config.notes.begin(), config.notes.end());
  if (!others.empty())
    s.notes.push_back("the tensor " + in_quotes(others.front()) + " and " + std::to_string(others.size() - 1) +
                      " others are of no known kind: their bytes are not counted");
  return s;
}

}  // namespace draftline
