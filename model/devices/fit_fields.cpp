// SPDX-License-Identifier: Apache-2.0
#include "model/devices/fit_fields.h"

#include <array>

namespace draftline {

namespace {

constexpr double us = 1e-6, ns = 1e-9;
constexpr double kAny = std::numeric_limits<double>::max(), kTiny = 1e-12, kLarge = 1e6;
constexpr auto seconds = FitUnit::seconds, ratio = FitUnit::ratio, per_byte = FitUnit::seconds_per_byte;

// name, unit, range in a file, start and bounds of a fit, coefficient
constexpr std::array<FitField<GemmFit>, 12> kGemm{{
    {"fixed", seconds, 0, kAny, 2 * us, 0.01 * us, 50 * us, [](GemmFit& f) -> double& { return f.fixed.value; }},
    {"peak_share", ratio, kTiny, kLarge, 0.9, 0.05, 2, [](GemmFit& f) -> double& { return f.peak_share; }},
    {"bandwidth_share", ratio, kTiny, kLarge, 0.8, 0.1, 1.2, [](GemmFit& f) -> double& { return f.bandwidth_share; }},
    {"blend", ratio, 0.5, 1e3, 3, 1, 20, [](GemmFit& f) -> double& { return f.blend; }},
    {"k_loop", seconds, 0, kAny, 3 * us, 0.1 * us, 50 * us, [](GemmFit& f) -> double& { return f.k_loop.value; }},
    {"l2_speed", ratio, kTiny, kLarge, 2, 1, 8, [](GemmFit& f) -> double& { return f.l2_speed; }},
    {"l2_share", ratio, kTiny, kLarge, 0.7, 0.2, 1.01, [](GemmFit& f) -> double& { return f.l2_share; }},
    {"split", seconds, 0, kAny, 2 * us, 0.05 * us, 50 * us, [](GemmFit& f) -> double& { return f.split.value; }},
    {"tile_half", ratio, 0, kLarge, 10, 0.05, 200, [](GemmFit& f) -> double& { return f.tile_half; }},
    {"output_cost", ratio, 0, kLarge, 1, 0.05, 5, [](GemmFit& f) -> double& { return f.output_cost; }},
    {"latency", seconds, 0, kAny, 0.1 * us, 0.001 * us, 5 * us, [](GemmFit& f) -> double& { return f.latency.value; }},
    {"wave_softness", ratio, 0, 1, 0.5, 0.01, 1, [](GemmFit& f) -> double& { return f.wave_softness; }},
}};

using Decode = DecodeAttentionFit;
constexpr std::array<FitField<Decode>, 8> kDecode{{
    {"fixed", seconds, 0, kAny, 12 * us, 0.5 * us, 100 * us, [](Decode& f) -> double& { return f.fixed.value; }},
    {"per_unit", seconds, 0, kAny, 3 * us, 0.05 * us, 50 * us, [](Decode& f) -> double& { return f.per_unit.value; }},
    {"join", seconds, 0, kAny, 3 * us, 0.01 * us, 50 * us, [](Decode& f) -> double& { return f.join.value; }},
    {"per_root_key", seconds, 0, kAny, 0.1 * us, 0.001 * us, 2 * us,
     [](Decode& f) -> double& { return f.per_root_key.value; }},
    {"bandwidth_share", ratio, kTiny, kLarge, 0.85, 0.1, 1, [](Decode& f) -> double& { return f.bandwidth_share; }},
    {"l2_speed", ratio, kTiny, kLarge, 3, 1, 8, [](Decode& f) -> double& { return f.l2_speed; }},
    {"l2_share", ratio, kTiny, kLarge, 0.7, 0.2, 1.5, [](Decode& f) -> double& { return f.l2_share; }},
    {"blend", ratio, 0.5, 1e3, 2, 0.6, 20, [](Decode& f) -> double& { return f.blend; }},
}};

using Prefill = PrefillAttentionFit;
constexpr std::array<FitField<Prefill>, 13> kPrefill{{
    {"per_key", seconds, 0, kAny, 20 * ns, 2 * ns, 200 * ns, [](Prefill& f) -> double& { return f.per_key.value; },
     nullptr, true},
    {"per_stage", seconds, 0, kAny, 1 * us, 0.01 * us, 10 * us, [](Prefill& f) -> double& { return f.per_stage.value; },
     nullptr, true},
    {"per_tile_row", seconds, 0, kAny, 100 * ns, 1 * ns, 1 * us,
     [](Prefill& f) -> double& { return f.per_tile_row.value; }, nullptr, true},
    {"per_part_row", seconds, 0, kAny, 50 * ns, 1 * ns, 1 * us,
     [](Prefill& f) -> double& { return f.per_part_row.value; }, nullptr, true},
    {"per_part", seconds, 0, kAny, 50 * ns, 1 * ns, 1 * us, [](Prefill& f) -> double& { return f.per_part.value; },
     nullptr, true},
    {"fixed", seconds, 0, kAny, 10 * us, 0.5 * us, 100 * us, [](Prefill& f) -> double& { return f.fixed.value; }},
    {"per_tile", seconds, 0, kAny, 3 * us, 0.01 * us, 50 * us, [](Prefill& f) -> double& { return f.per_tile.value; }},
    {"peak_share", ratio, kTiny, kLarge, 0.6, 0.05, 1.2, [](Prefill& f) -> double& { return f.peak_share; }},
    {"bandwidth_share", ratio, kTiny, kLarge, 1, 0.1, 3, [](Prefill& f) -> double& { return f.bandwidth_share; }},
    {"write_share", ratio, kTiny, kLarge, 0.7, 0.1, 1, [](Prefill& f) -> double& { return f.write_share; }},
    {"per_row", seconds, 0, kAny, 0.05 * us, 1e-4 * us, 2 * us, [](Prefill& f) -> double& { return f.per_row.value; }},
    {"blend", ratio, 0.5, 1e3, 1, 0.5, 5, [](Prefill& f) -> double& { return f.blend; }},
    {"wave_softness", ratio, 0, 1, 0.5, 0.01, 1, [](Prefill& f) -> double& { return f.wave_softness; }},
}};

constexpr std::array<FitField<CopyFit>, 3> kCopy{{
    {"fixed", seconds, 0, kAny, 2 * us, 0.05 * us, 50 * us, [](CopyFit& f) -> double& { return f.fixed.value; }},
    {"bandwidth_share", ratio, kTiny, kLarge, 0.85, 0.05, 1, [](CopyFit& f) -> double& { return f.bandwidth_share; }},
    {"l2_share", ratio, 0, kLarge, 0.7, 0.1, 1.5, [](CopyFit& f) -> double& { return f.l2_share; }, nullptr, true},
}};

using Elementwise = ElementwiseFit;
constexpr std::array<FitField<Elementwise>, 2> kElementwise{{
    {"fixed", seconds, 0, kAny, 2 * us, 0.05 * us, 50 * us, [](Elementwise& f) -> double& { return f.fixed.value; }},
    {"l2_speed", ratio, kTiny, kLarge, 1, 0.05, 8, [](Elementwise& f) -> double& { return f.l2_speed; }},
}};

using Expert = ExpertFit;
constexpr std::array<FitField<Expert>, 9> kExpert{{
    {"fixed", seconds, 0, kAny, 20 * us, 1 * us, 100 * us, [](Expert& f) -> double& { return f.fixed.value; }},
    {"peak_share", ratio, kTiny, kLarge, 0.5, 0.05, 1, [](Expert& f) -> double& { return f.peak_share; }},
    {"bandwidth_share", ratio, kTiny, kLarge, 0.8, 0.1, 1.2, [](Expert& f) -> double& { return f.bandwidth_share; }},
    {"blend", ratio, 0.5, 1e3, 2, 1, 20, [](Expert& f) -> double& { return f.blend; }},
    {"l2_speed", ratio, kTiny, kLarge, 2, 1, 8, [](Expert& f) -> double& { return f.l2_speed; }},
    {"l2_share", ratio, kTiny, kLarge, 0.7, 0.1, 1.5, [](Expert& f) -> double& { return f.l2_share; }},
    {"tile_half", ratio, 0, kLarge, 20, 0.05, 300, [](Expert& f) -> double& { return f.tile_half; }},
    {"row_cost", ratio, 0, kLarge, 1, 0.02, 20, [](Expert& f) -> double& { return f.row_cost; }},
    {"latency", seconds, 0, kAny, 1 * us, 0.001 * us, 20 * us, [](Expert& f) -> double& { return f.latency.value; }},
}};

using Stream = StreamFit;
constexpr std::array<FitField<Stream>, 4> kStream{{
    {"fixed", seconds, 0, kAny, 3 * us, 0.1 * us, 100 * us, [](Stream& f) -> double& { return f.fixed.value; }},
    {"bandwidth_share", ratio, kTiny, kLarge, 0.8, 0.1, 1.2, [](Stream& f) -> double& { return f.bandwidth_share; }},
    {"l2_speed", ratio, kTiny, kLarge, 2, 1, 8, [](Stream& f) -> double& { return f.l2_speed; }},
    {"l2_share", ratio, kTiny, kLarge, 0.7, 0.1, 1.5, [](Stream& f) -> double& { return f.l2_share; }},
}};

using Chunk = ChunkFit;
constexpr std::array<FitField<Chunk>, 6> kChunk{{
    {"fixed", seconds, 0, kAny, 5 * us, 0.1 * us, 100 * us, [](Chunk& f) -> double& { return f.fixed.value; }},
    {"start", seconds, 0, kAny, 5 * us, 0.05 * us, 100 * us, [](Chunk& f) -> double& { return f.start.value; }},
    {"chunk", seconds, 0, kAny, 3 * us, 0.05 * us, 50 * us, [](Chunk& f) -> double& { return f.chunk.value; }},
    {"bandwidth_share", ratio, kTiny, kLarge, 0.8, 0.05, 1.2, [](Chunk& f) -> double& { return f.bandwidth_share; }},
    {"blend", ratio, 0.5, 1e3, 2, 1, 20, [](Chunk& f) -> double& { return f.blend; }},
    {"wave_softness", ratio, 0, 1, 0.5, 0.01, 1, [](Chunk& f) -> double& { return f.wave_softness; }},
}};

// A CPU's coefficients have no upper bound in a fit but where they are shares.
constexpr double kFree = std::numeric_limits<double>::infinity();
constexpr double kMostShare = 1.5;  // of a cache: bytes accessed in turn, back and forth, hit a little past its size
using CpuGemm = CpuGemmFit;
constexpr std::array<FitField<CpuGemm>, 13> kCpuGemm{{
    {"fixed", seconds, 0, kAny, 200 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.fixed.value; }},
    {"tile", seconds, 0, kAny, 20 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.tile.value; }},
    {"step_1", seconds, 0, kAny, 10 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.step[0].value; }},
    {"step_2", seconds, 0, kAny, 15 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.step[1].value; }},
    {"step_3", seconds, 0, kAny, 20 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.step[2].value; }},
    {"step_4", seconds, 0, kAny, 25 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.step[3].value; }},
    {"l2_byte", per_byte, 0, kAny, 0.01 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.reach.byte[0].value; },
     "second_byte"},
    {"llc_byte", per_byte, 0, kAny, 0.05 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.reach.byte[1].value; },
     "last_byte"},
    {"memory_byte", per_byte, 0, kAny, 0.1 * ns, 0, kFree, [](CpuGemm& f) -> double& { return f.reach.byte[2].value; }},
    {"memory_stall", ratio, 0, kLarge, 0.2, 0, kFree, [](CpuGemm& f) -> double& { return f.memory_stall; }, nullptr,
     true},
    {"cache_share", ratio, kTiny, kLarge, 0.7, 0, kMostShare,
     [](CpuGemm& f) -> double& { return f.reach.cache_share; }},
    {"llc_share", ratio, kTiny, kLarge, 0.5, 0, 1, [](CpuGemm& f) -> double& { return f.reach.llc_share; },
     "last_share"},
    {"blend", ratio, 0.5, 1e3, 3, 1, kFree, [](CpuGemm& f) -> double& { return f.blend; }},
}};

using CpuAttention = CpuAttentionFit;
constexpr std::array<FitField<CpuAttention>, 12> kCpuAttention{{
    {"fixed", seconds, 0, kAny, 200 * ns, 0, kFree, [](CpuAttention& f) -> double& { return f.fixed.value; }},
    {"row", seconds, 0, kAny, 100 * ns, 0, kFree, [](CpuAttention& f) -> double& { return f.row.value; }},
    {"pair", seconds, 0, kAny, 10 * ns, 0, kFree, [](CpuAttention& f) -> double& { return f.pair.value; }},
    {"step", seconds, 0, kAny, 2 * ns, 0, kFree, [](CpuAttention& f) -> double& { return f.step.value; }},
    {"l2_byte", per_byte, 0, kAny, 0.01 * ns, 0, kFree,
     [](CpuAttention& f) -> double& { return f.reach.byte[0].value; }, "second_byte"},
    {"llc_byte", per_byte, 0, kAny, 0.05 * ns, 0, kFree,
     [](CpuAttention& f) -> double& { return f.reach.byte[1].value; }, "last_byte"},
    {"memory_byte", per_byte, 0, kAny, 0.1 * ns, 0, kFree,
     [](CpuAttention& f) -> double& { return f.reach.byte[2].value; }},
    {"cache_share", ratio, kTiny, kLarge, 0.7, 0, kMostShare,
     [](CpuAttention& f) -> double& { return f.reach.cache_share; }},
    {"llc_share", ratio, kTiny, kLarge, 0.5, 0, 1, [](CpuAttention& f) -> double& { return f.reach.llc_share; },
     "last_share"},
    {"blend", ratio, 0.5, 1e3, 2, 1, kFree, [](CpuAttention& f) -> double& { return f.blend; }},
    {"llc_start", seconds, 0, kAny, 100 * ns, 0, kFree, [](CpuAttention& f) -> double& { return f.llc_start.value; },
     "last_start"},
    {"memory_start", seconds, 0, kAny, 500 * ns, 0, kFree,
     [](CpuAttention& f) -> double& { return f.memory_start.value; }},
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
