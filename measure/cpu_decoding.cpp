// SPDX-License-Identifier: Apache-2.0
#include "measure/cpu_decoding.h"

#include <cmath>

namespace draftline::measure {

namespace {

// Number i of a fixed sequence, uniform in [-1, 1).
float uniform(std::uint64_t i) {
  std::uint64_t x = i * 0x9e3779b97f4a7c15U + 0x2545f4914f6cdd1dU;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9U;
  return static_cast<float>(to_double(x >> 11) * 0x1.0p-52 - 1);
}

}  // namespace

void CpuDecoding::Weights::load(const std::string& name, int in, int out, std::span<float> to) {
  static_cast<void>(out);
  const auto ends = [&](std::string_view e) { return name.ends_with(e); };
  if (ends("id_offsets")) return std::fill(to.begin(), to.end(), 0.0F);
  const bool norm = ends("norm");
  const bool late = name.starts_with("layers.") && name[7] >= '2' && (ends(".o") || ends(".down"));
  const float size = (late ? late_layers_ : 1.0F) * (ends("embedding") ? 1.7F
                                                     : norm || in == 1 ? 0.1F
                                                                       : 1.7F / std::sqrt(static_cast<float>(in)));
  const std::uint64_t from = std::hash<std::string>{}(name) << 32;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = (norm ? 1.0F : 0.0F) + size * uniform(from + i);
}

CpuDecoding::CpuDecoding(const DecodingSetup& s, ClockReference& reference, float late_layers)
    : Decoding(s), weights_(late_layers) {
  const int capacity = s.context + kGrown + kTail;
  auto decoder =
      std::make_unique<Decoder>(Decoder::Options{.target = target(), .slots = s.slots, .capacity = capacity}, s.method,
                                s.networks.find(), [&](const WeightStore& store) -> std::unique_ptr<Backend> {
                                  return std::make_unique<CpuBackend>(
                                      store, weights_, CpuBackend::Options{.seed = 1, .poison = false, .filled = true});
                                });
  auto meter = std::make_unique<CpuMeter>(static_cast<CpuBackend&>(*decoder->backend), reference);
  use(std::move(decoder), std::move(meter), capacity, kTail, 0);
}

}  // namespace draftline::measure
