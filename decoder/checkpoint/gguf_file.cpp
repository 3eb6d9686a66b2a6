// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/gguf_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <istream>
#include <utility>

#include "core/errors.h"
#include "core/int_indexed.h"
#include "core/printable.h"
#include "decoder/checkpoint/gguf_blocks.h"

namespace draftline {

namespace {

struct NamePair {
  std::string_view gguf, transformers;
};
constexpr auto kOfNetwork = std::to_array<NamePair>({{"token_embd.weight", "model.embed_tokens.weight"},
                                                     {"output_norm.weight", "model.norm.weight"},
                                                     {"output.weight", "lm_head.weight"}});
constexpr auto kOfLayer = std::to_array<NamePair>({{"attn_norm.", "input_layernorm."},
                                                   {"attn_q.", "self_attn.q_proj."},
                                                   {"attn_k.", "self_attn.k_proj."},
                                                   {"attn_v.", "self_attn.v_proj."},
                                                   {"attn_output.", "self_attn.o_proj."},
                                                   {"attn_q_norm.", "self_attn.q_norm."},
                                                   {"attn_k_norm.", "self_attn.k_norm."},
                                                   {"post_attention_norm.", "post_attention_layernorm."},
                                                   {"ffn_norm.", "post_attention_layernorm."},
                                                   {"post_ffw_norm.", "post_feedforward_layernorm."},
                                                   {"ffn_gate.", "mlp.gate_proj."},
                                                   {"ffn_up.", "mlp.up_proj."},
                                                   {"ffn_down.", "mlp.down_proj."}});
constexpr auto kOfExperts = std::to_array<NamePair>({{"ffn_gate_inp.weight", "gate.weight"},
                                                     {"ffn_gate_exps.weight", "experts.gate_proj"},
                                                     {"ffn_up_exps.weight", "experts.up_proj"},
                                                     {"ffn_down_exps.weight", "experts.down_proj"}});
constexpr std::string_view kTrunk = "model.", kBlock = "blk.", kRope = "rope_";

std::string name_in_layer(std::string_view own, std::string_view architecture) {
  for (const auto& [gguf, transformers] : kOfExperts)
    if (own == gguf)
      return (architecture == "MixtralForCausalLM" ? "block_sparse_moe." : "mlp.") + std::string(transformers);
  for (const auto& [gguf, transformers] : kOfLayer)
    if (own.starts_with(gguf)) return std::string(transformers) + std::string(own.substr(gguf.size()));
  return std::string(own);
}

}  // namespace

std::string transformers_name(std::string_view tensor, std::string_view architecture) {
  const auto whole = std::ranges::find(kOfNetwork, tensor, &NamePair::gguf);
  if (whole != kOfNetwork.end()) return std::string(whole->transformers);
  if (tensor.starts_with(kRope)) return std::string(tensor);  // factors of rope, which the network's shape holds
  if (!tensor.starts_with(kBlock)) return std::string(kTrunk) + std::string(tensor);
  const std::string_view behind = tensor.substr(kBlock.size());
  const auto dot = behind.find('.');
  if (dot == behind.npos) return std::string(kTrunk) + std::string(tensor);
  return std::string(kTrunk) + "layers." + std::string(behind.substr(0, dot + 1)) +
         name_in_layer(behind.substr(dot + 1), architecture);
}

GgufFile::GgufFile(GgufHeader header, std::string_view architecture, const Files& files)
    : header_(std::move(header)), files_(&files) {
  for (const auto& [own, t] : header_.tensors) {
    StoredTensor stored{std::string(t.type.name), {t.shape.rbegin(), t.shape.rend()}};
    stored.elements = static_cast<std::uint64_t>(t.values());
    stored.begin = t.begin;
    stored.end = t.begin + static_cast<std::uint64_t>(t.bytes());
    const std::string name = transformers_name(own, architecture);
    if (!tensors_.emplace(name, std::move(stored)).second)
      header_.fail("the tensors " + in_quotes(own_names_.at(name)) + " and " + in_quotes(own) + " are the same weight");
    own_names_.emplace(name, own);
  }
}

bool GgufFile::can_read(const StoredTensor& t) const { return can_dequantise(t.dtype); }
std::string_view GgufFile::readable_types() const { return kDequantisedTypes; }

const GgufTensor& GgufFile::tensor(const std::string& name) const {
  const auto own = own_names_.find(name);
  if (own == own_names_.end()) header_.fail("has no tensor for " + in_quotes(name));
  return header_.tensors.find(own->second)->second;
}

std::string GgufFile::place(const std::string& name) const {
  const GgufTensor& t = tensor(name);
  return printable(header_.parts.at(at(t.part)).string(), 1000) + ": tensor " + in_quotes(t.name);
}

void GgufFile::read(const std::string& name, std::uint64_t first, std::span<float> to) const {
  const GgufTensor& t = tensor(name);
  if (!can_dequantise(t.type.name))
    throw InputErrors(place(name) + ": values of type " + std::string(t.type.name) + " can't be used; " +
                      std::string(kDequantisedTypes) + " can");
  check(to_double(first) + count(to) <= t.values(), "values of the tensor");
  const std::uint64_t values = static_cast<std::uint64_t>(t.type.values),
                      bytes = static_cast<std::uint64_t>(t.type.bytes);
  const auto opened = files_->open(header_.parts.at(at(t.part)));
  opened->seekg(static_cast<std::streamoff>(t.begin + first / values * bytes));
  constexpr std::uint64_t kValuesAtOnce = 1 << 16;
  std::vector<char> raw;
  std::vector<std::uint8_t> blocks;
  std::vector<float> block_values;
  std::uint64_t done = 0, skipped = first % values;  // values of the first block before `first`
  while (done < to.size()) {
    const std::uint64_t now = std::min(kValuesAtOnce / values, (to.size() - done + skipped + values - 1) / values);
    raw.resize(now * bytes);
    block_values.resize(now * values);
    if (!opened->read(raw.data(), static_cast<std::streamsize>(raw.size())))
      throw InputErrors(place(name) + ": its data could not be read: the file has changed or the disk fails");
    blocks.assign(raw.begin(), raw.end());
    dequantise(t.type.name, blocks, block_values);
    for (std::uint64_t i = skipped; i < block_values.size() && done < to.size(); ++i) {
      if (!std::isfinite(block_values[i]))
        throw InputErrors(place(name) + ": value " + std::to_string(first + done) + " is not finite");
      to[done++] = block_values[i];
    }
    skipped = 0;
  }
}

void GgufFile::read(const std::string& name, std::uint64_t, std::span<std::int64_t>) const {
  throw InputErrors(place(name) + ": integers are not read from GGUF files");
}
void GgufFile::read(const std::string& name, std::uint64_t, std::span<std::uint8_t>) const {
  throw InputErrors(place(name) + ": bytes are not read from GGUF files");
}

}  // namespace draftline
