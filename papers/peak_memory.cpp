// SPDX-License-Identifier: Apache-2.0
#include "papers/peak_memory.h"

#include <algorithm>
#include <array>

#include "decoder/priced/backend.h"

namespace draftline {

namespace {

constexpr NamedValues<CacheLayout, 3> kLayouts{{{"contiguous", CacheLayout::contiguous},
                                                {"concatenated", CacheLayout::concatenated},
                                                {"preallocated", CacheLayout::preallocated}}};

}  // namespace

std::optional<Reader> PeakMemory::named(std::string_view list, std::string_view key, const std::string& value) const {
  for (const Reader& e : in_.at(list).items())
    if (e.at(key).text() == value) return e;
  return std::nullopt;
}

// Counts the parameters and cache of a drafter that is built in 16 bits, the format of these systems.
PeakMemory::Drafter PeakMemory::drafter(const System& s, const Reader& code) {
  const auto [it, fresh] = drafters_.try_emplace({&s.target, s.method});
  if (!fresh) return it->second;
  Drafter& d = it->second;
  if (const auto method = code.find("drafter")) {
    const Decoder built(Decoder::Options{.target = s.target, .precision = Precision(DType::bf16)}, MethodSpec(*method),
                        stack_.finder(), [](const WeightStore&) { return std::make_unique<PricedBackend>(); });
    d.parameters = (built.weights.bytes() - built.target_bytes) / bytes_of(DType::bf16, 1);
    for (const Cache& c : built.ops.caches())
      if (!built.target.owns(c)) d.cache_elements_per_token += 1.0 * c.layers * c.columns();
  }
  if (const auto own = code.find("own_embedding"); own && own->boolean())
    d.parameters += 1.0 * s.target.vocabulary * s.target.hidden;
  return d;
}

std::optional<MemoryPlan> PeakMemory::plan(const System& s, const Reader& code) {
  MemoryPlan p;
  const Drafter d = drafter(s, code);
  p.weights = s.weights;
  p.cache = p.draft_weights = DType::fp16;
  p.draft_parameters = d.parameters;
  p.draft_cache_elements_per_token = d.cache_elements_per_token;
  p.workspace = value_of(in_, "workspace").quantity<Bytes>(0);
  p.slots.layout = code.at("layout").value_in(kLayouts);
  if (p.slots.layout == CacheLayout::preallocated) p.slots.capacity = code.at("capacity").positive_int(1 << 20);
  return p;
}

std::optional<Bytes> PeakMemory::loaded(const System& s) {
  const auto code = named("methods", "method", s.method);
  auto p = code ? plan(s, *code) : std::nullopt;
  if (!p) return std::nullopt;
  p->slots.layout = CacheLayout::contiguous;
  return memory_footprint(s.target, *p).total();
}

std::optional<Bytes> PeakMemory::peak(const System& s) {
  const auto code = named("methods", "method", s.method), text = named("texts", "task", s.task);
  auto p = code && text ? plan(s, *code) : std::nullopt;
  if (!p) return std::nullopt;
  int prompt = text->at("prompt_tokens").positive_int(1 << 20), whole = text->at("tokens").positive_int(1 << 20);
  if (const auto limit = code->find("longest_text")) {
    whole = std::min(whole, limit->positive_int(1 << 20));
    prompt = std::min(prompt, whole);
  }
  const double vocab = s.target.vocabulary;
  Bytes kept;
  if (const auto rows = code->find("kept_logits")) kept = bytes_of(DType::fp16, rows->positive_int(1 << 20) * vocab);
  MemoryPlan read = *p, ends = *p;
  read.slots.tokens = prompt;
  if (read.slots.layout == CacheLayout::concatenated) read.slots.layout = CacheLayout::contiguous;
  read.activations = kept + Bytes{value_of(in_, "bytes_per_prompt_logit").number(0, 64) * vocab * prompt};
  ends.slots.tokens = whole;
  ends.activations = kept;
  return std::max(memory_footprint(s.target, read).total(), memory_footprint(s.target, ends).total());
}

}  // namespace draftline
