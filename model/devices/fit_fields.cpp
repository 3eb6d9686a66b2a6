// SPDX-License-Identifier: Apache-2.0
#include "model/devices/fit_fields.h"

#include <array>
#include <type_traits>

namespace draftline {

namespace {

constexpr double us = 1e-6, ns = 1e-9;
constexpr double kAny = std::numeric_limits<double>::max(), kTiny = 1e-12, kLarge = 1e6;
constexpr auto seconds = FitUnit::seconds, ratio = FitUnit::ratio, per_byte = FitUnit::seconds_per_byte;

// A coefficient in base units, or that of a member.
template <auto member, class Fit>
constexpr double& of(Fit& f) {
  if constexpr (std::is_same_v<std::remove_reference_t<decltype(f.*member)>, double>) return f.*member;
  else return (f.*member).value;
}
template <auto part, auto member, class Fit>
constexpr double& of(Fit& f) {
  return of<member>(f.*part);
}

// name, unit, range in a file, start and bounds of a fit, coefficient
constexpr std::array<FitField<GemmFit>, 12> kGemm{{
    {"fixed", seconds, 0, kAny, 2 * us, 0.01 * us, 50 * us, of<&GemmFit::fixed>},
    {"peak_share", ratio, kTiny, kLarge, 0.9, 0.05, 2, of<&GemmFit::peak_share>},
    {"bandwidth_share", ratio, kTiny, kLarge, 0.8, 0.1, 1.2, of<&GemmFit::bandwidth_share>},
    {"blend", ratio, 0.5, 1e3, 3, 1, 20, of<&GemmFit::blend>},
    {"k_loop", seconds, 0, kAny, 3 * us, 0.1 * us, 50 * us, of<&GemmFit::k_loop>},
    {"l2_speed", ratio, kTiny, kLarge, 2, 1, 8, of<&GemmFit::l2_speed>},
    {"l2_share", ratio, kTiny, kLarge, 0.7, 0.2, 1.01, of<&GemmFit::l2_share>},
    {"split", seconds, 0, kAny, 2 * us, 0.05 * us, 50 * us, of<&GemmFit::split>},
    {"tile_half", ratio, 0, kLarge, 10, 0.05, 200, of<&GemmFit::tile_half>},
    {"output_cost", ratio, 0, kLarge, 1, 0.05, 5, of<&GemmFit::output_cost>},
    {"latency", seconds, 0, kAny, 0.1 * us, 0.001 * us, 5 * us, of<&GemmFit::latency>},
    {"wave_softness", ratio, 0, 1, 0.5, 0.01, 1, of<&GemmFit::wave_softness>},
}};

using Decode = DecodeAttentionFit;
constexpr std::array<FitField<Decode>, 8> kDecode{{
    {"fixed", seconds, 0, kAny, 12 * us, 0.5 * us, 100 * us, of<&Decode::fixed>},
    {"per_unit", seconds, 0, kAny, 3 * us, 0.05 * us, 50 * us, of<&Decode::per_unit>},
    {"join", seconds, 0, kAny, 3 * us, 0.01 * us, 50 * us, of<&Decode::join>},
    {"per_root_key", seconds, 0, kAny, 0.1 * us, 0.001 * us, 2 * us, of<&Decode::per_root_key>},
    {"bandwidth_share", ratio, kTiny, kLarge, 0.85, 0.1, 1, of<&Decode::bandwidth_share>},
    {"l2_speed", ratio, kTiny, kLarge, 3, 1, 8, of<&Decode::l2_speed>},
    {"l2_share", ratio, kTiny, kLarge, 0.7, 0.2, 1.5, of<&Decode::l2_share>},
    {"blend", ratio, 0.5, 1e3, 2, 0.6, 20, of<&Decode::blend>},
}};

using Prefill = PrefillAttentionFit;
constexpr std::array<FitField<Prefill>, 13> kPrefill{{
    {"per_key", seconds, 0, kAny, 20 * ns, 2 * ns, 200 * ns, of<&Prefill::per_key>, nullptr, true},
    {"per_stage", seconds, 0, kAny, 1 * us, 0.01 * us, 10 * us, of<&Prefill::per_stage>, nullptr, true},
    {"per_tile_row", seconds, 0, kAny, 100 * ns, 1 * ns, 1 * us, of<&Prefill::per_tile_row>, nullptr, true},
    {"per_part_row", seconds, 0, kAny, 50 * ns, 1 * ns, 1 * us, of<&Prefill::per_part_row>, nullptr, true},
    {"per_part", seconds, 0, kAny, 50 * ns, 1 * ns, 1 * us, of<&Prefill::per_part>, nullptr, true},
    {"fixed", seconds, 0, kAny, 10 * us, 0.5 * us, 100 * us, of<&Prefill::fixed>},
    {"per_tile", seconds, 0, kAny, 3 * us, 0.01 * us, 50 * us, of<&Prefill::per_tile>},
    {"peak_share", ratio, kTiny, kLarge, 0.6, 0.05, 1.2, of<&Prefill::peak_share>},
    {"bandwidth_share", ratio, kTiny, kLarge, 1, 0.1, 3, of<&Prefill::bandwidth_share>},
    {"write_share", ratio, kTiny, kLarge, 0.7, 0.1, 1, of<&Prefill::write_share>},
    {"per_row", seconds, 0, kAny, 0.05 * us, 1e-4 * us, 2 * us, of<&Prefill::per_row>},
    {"blend", ratio, 0.5, 1e3, 1, 0.5, 5, of<&Prefill::blend>},
    {"wave_softness", ratio, 0, 1, 0.5, 0.01, 1, of<&Prefill::wave_softness>},
}};

constexpr std::array<FitField<CopyFit>, 3> kCopy{{
    {"fixed", seconds, 0, kAny, 2 * us, 0.05 * us, 50 * us, of<&CopyFit::fixed>},
    {"bandwidth_share", ratio, kTiny, kLarge, 0.85, 0.05, 1, of<&CopyFit::bandwidth_share>},
    {"l2_share", ratio, 0, kLarge, 0.7, 0.1, 1.5, of<&CopyFit::l2_share>, nullptr, true},
}};

using Elementwise = ElementwiseFit;
constexpr std::array<FitField<Elementwise>, 2> kElementwise{{
    {"fixed", seconds, 0, kAny, 2 * us, 0.05 * us, 50 * us, of<&Elementwise::fixed>},
    {"l2_speed", ratio, kTiny, kLarge, 1, 0.05, 8, of<&Elementwise::l2_speed>},
}};

using Expert = ExpertFit;
constexpr std::array<FitField<Expert>, 9> kExpert{{
    {"fixed", seconds, 0, kAny, 20 * us, 1 * us, 100 * us, of<&Expert::fixed>},
    {"peak_share", ratio, kTiny, kLarge, 0.5, 0.05, 1, of<&Expert::peak_share>},
    {"bandwidth_share", ratio, kTiny, kLarge, 0.8, 0.1, 1.2, of<&Expert::bandwidth_share>},
    {"blend", ratio, 0.5, 1e3, 2, 1, 20, of<&Expert::blend>},
    {"l2_speed", ratio, kTiny, kLarge, 2, 1, 8, of<&Expert::l2_speed>},
    {"l2_share", ratio, kTiny, kLarge, 0.7, 0.1, 1.5, of<&Expert::l2_share>},
    {"tile_half", ratio, 0, kLarge, 20, 0.05, 300, of<&Expert::tile_half>},
    {"row_cost", ratio, 0, kLarge, 1, 0.02, 20, of<&Expert::row_cost>},
    {"latency", seconds, 0, kAny, 1 * us, 0.001 * us, 20 * us, of<&Expert::latency>},
}};

using Stream = StreamFit;
constexpr std::array<FitField<Stream>, 4> kStream{{
    {"fixed", seconds, 0, kAny, 3 * us, 0.1 * us, 100 * us, of<&Stream::fixed>},
    {"bandwidth_share", ratio, kTiny, kLarge, 0.8, 0.1, 1.2, of<&Stream::bandwidth_share>},
    {"l2_speed", ratio, kTiny, kLarge, 2, 1, 8, of<&Stream::l2_speed>},
    {"l2_share", ratio, kTiny, kLarge, 0.7, 0.1, 1.5, of<&Stream::l2_share>},
}};

using Chunk = ChunkFit;
constexpr std::array<FitField<Chunk>, 6> kChunk{{
    {"fixed", seconds, 0, kAny, 5 * us, 0.1 * us, 100 * us, of<&Chunk::fixed>},
    {"start", seconds, 0, kAny, 5 * us, 1 * ns, 100 * us, of<&Chunk::start>},
    {"chunk", seconds, 0, kAny, 3 * us, 1 * ns, 50 * us, of<&Chunk::chunk>},
    {"bandwidth_share", ratio, kTiny, kLarge, 0.8, 0.05, 1.2, of<&Chunk::bandwidth_share>},
    {"blend", ratio, 0.5, 1e3, 2, 1, 20, of<&Chunk::blend>},
    {"wave_softness", ratio, 0, 1, 0.5, 0.01, 1, of<&Chunk::wave_softness>},
}};

// A CPU's coefficients have no upper bound in a fit but where they are shares.
constexpr double kFree = std::numeric_limits<double>::infinity();
constexpr double kMostShare = 1.5;  // of a cache: bytes accessed in turn, back and forth, hit a little past its size
using CpuGemm = CpuGemmFit;
constexpr std::array<FitField<CpuGemm>, 13> kCpuGemm{{
    {"fixed", seconds, 0, kAny, 200 * ns, 0, kFree, of<&CpuGemm::fixed>},
    {"tile", seconds, 0, kAny, 20 * ns, 0, kFree, of<&CpuGemm::tile>},
    {"step_1", seconds, 0, kAny, 10 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.step[0].value; }},
    {"step_2", seconds, 0, kAny, 15 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.step[1].value; }},
    {"step_3", seconds, 0, kAny, 20 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.step[2].value; }},
    {"step_4", seconds, 0, kAny, 25 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.step[3].value; }},
    {"l2_byte", per_byte, 0, kAny, 0.01 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.reach.byte[0].value; },
     "second_byte"},
    {"llc_byte", per_byte, 0, kAny, 0.05 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.reach.byte[1].value; },
     "last_byte"},
    {"memory_byte", per_byte, 0, kAny, 0.1 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.reach.byte[2].value; }},
    {"memory_stall", ratio, 0, kLarge, 0.2, 0, kFree, of<&CpuGemm::memory_stall>, nullptr, true},
    {"cache_share", ratio, kTiny, kLarge, 0.7, 0, kMostShare, of<&CpuGemm::reach, &CpuByteCost::cache_share>},
    {"llc_share", ratio, kTiny, kLarge, 0.5, 0, 1, of<&CpuGemm::reach, &CpuByteCost::llc_share>, "last_share"},
    {"blend", ratio, 0.5, 1e3, 3, 1, kFree, of<&CpuGemm::blend>},
}};

using CpuAttention = CpuAttentionFit;
constexpr std::array<FitField<CpuAttention>, 12> kCpuAttention{{
    {"fixed", seconds, 0, kAny, 200 * ns, 0, kFree, of<&CpuAttention::fixed>},
    {"row", seconds, 0, kAny, 100 * ns, 0, kFree, of<&CpuAttention::row>},
    {"pair", seconds, 0, kAny, 10 * ns, 0, kFree, of<&CpuAttention::pair>},
    {"step", seconds, 0, kAny, 2 * ns, 0, kFree, of<&CpuAttention::step>},
    {"l2_byte", per_byte, 0, kAny, 0.01 * ns, 0, kFree,
     [](CpuAttention& f) -> double& { return f.reach.byte[0].value; }, "second_byte"},
    {"llc_byte", per_byte, 0, kAny, 0.05 * ns, 0, kFree,
     [](CpuAttention& f) -> double& { return f.reach.byte[1].value; }, "last_byte"},
    {"memory_byte", per_byte, 0, kAny, 0.1 * ns, 0, kFree,
     [](CpuAttention& f) -> double& { return f.reach.byte[2].value; }},
    {"cache_share", ratio, kTiny, kLarge, 0.7, 0, kMostShare, of<&CpuAttention::reach, &CpuByteCost::cache_share>},
    {"llc_share", ratio, kTiny, kLarge, 0.5, 0, 1, of<&CpuAttention::reach, &CpuByteCost::llc_share>, "last_share"},
    {"blend", ratio, 0.5, 1e3, 2, 1, kFree, of<&CpuAttention::blend>},
    {"llc_start", seconds, 0, kAny, 100 * ns, 0, kFree, of<&CpuAttention::llc_start>, "last_start"},
    {"memory_start", seconds, 0, kAny, 500 * ns, 0, kFree, of<&CpuAttention::memory_start>},
}};

}  // namespace

std::span<const FitField<GemmFit>> fields_of(const GemmFit&) { return kGemm; }
std::span<const FitField<DecodeAttentionFit>> fields_of(const DecodeAttentionFit&) { return kDecode; }
std::span<const FitField<PrefillAttentionFit>> fields_of(const PrefillAttentionFit&) { return kPrefill; }
std::span<const FitField<CopyFit>> fields_of(const CopyFit&) { return kCopy; }
std::span<const FitField<ElementwiseFit>> fields_of(const ElementwiseFit&) { return kElementwise; }
std::span<const FitField<ExpertFit>> fields_of(const ExpertFit&) { return kExpert; }
std::span<const FitField<StreamFit>> fields_of(const StreamFit&) { return kStream; }
std::span<const FitField<ChunkFit>> fields_of(const ChunkFit&) { return kChunk; }
std::span<const FitField<CpuGemmFit>> fields_of(const CpuGemmFit&) { return kCpuGemm; }
std::span<const FitField<CpuAttentionFit>> fields_of(const CpuAttentionFit&) { return kCpuAttention; }

}  // namespace draftline
