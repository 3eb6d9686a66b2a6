// SPDX-License-Identifier: Apache-2.0
// The coefficients of a GPU's kernels, each with its symbol in docs/explanation/kernel_model.md. Times are in seconds;
// shares and speeds are relative to the datasheet's limits, so that they can be transferred from a relative to a card
// without probes. Defaults are neutral: a share of 1 is the datasheet's limit, a time of 0 costs nothing.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/int_indexed.h"
#include "core/named.h"
#include "core/quantity.h"
#include "model/devices/origin.h"
#include "model/transformers/dtype.h"
#include "model/work.h"

namespace draftline {

// How a library chooses the tiles of a GEMM (model/kernels/gemm_tiles). fastest: the fastest combination of tile and
// split of the inputs, as in a library that was tuned for each shape. by_rows_128, by_rows_256: no splits; one tile for
// each range of rows, with the largest tile above 128 or 256 rows.
enum class GemmTiles : std::uint8_t { fastest, by_rows_128, by_rows_256 };
inline constexpr NamedValues<GemmTiles, 3> kGemmTiles{{{"fastest", GemmTiles::fastest},
                                                       {"by_rows_128", GemmTiles::by_rows_128},
                                                       {"by_rows_256", GemmTiles::by_rows_256}}};

// GEMM, form T3 of docs/explanation/kernel_model.md: tiles x waves x split-K under a memory bound.
struct GemmFit {
  Seconds fixed;               // t0: launch to finish of an empty kernel
  double peak_share = 1;       // eF
  double bandwidth_share = 1;  // eB
  double blend = 3;            // p: exponent that combines the two bounds
  Seconds k_loop;              // tk: exposed latency of one CTA's loop over 1024 inputs
  double l2_speed = 1;         // bL2: bandwidth of L2 over that of memory
  double l2_share = 1;         // c: share of L2 that keeps weights
  Seconds split;               // ts: joining the splits
  double tile_half = 0;        // hm: tile at which half the peak is reached
  double output_cost = 0;      // gO
  Seconds latency;             // lat: per tile
  double wave_softness = 1;    // theta
  GemmTiles tiles = GemmTiles::fastest;
  Origin origin{};
};

// Attention with one row per sequence: the cost of CTAs and of access to the cache.
struct DecodeAttentionFit {
  Seconds fixed;
  Seconds per_unit;            // a: least time of one row's CTA on its multiprocessor
  Seconds join;                // j: splitting a context longer than a block of keys
  Seconds per_root_key;        // g: reading and joining n split keys of a sequence costs g sqrt(n)
  double bandwidth_share = 1;  // eB
  double l2_speed = 1;         // bL2: bandwidth of L2 over that of memory
  double l2_share = 1;         // c: share of L2 that keeps a kernel's recent writes
  double blend = 3;            // p: exponent that combines arithmetic and memory
  Origin origin{};
};

// How a library arranges the query heads that share a KV head, and their rows, in tiles, with one tile per CTA.
enum class HeadLayout {
  packed,         // heads and rows share tiles of 128 rows; a context is split among CTAs (FlashAttention 3)
  apart,          // each head separately in tiles of 64 rows; a context is split
  swapped,        // apart in whole tiles, and one CTA walks a whole context; only where each sequence has one row are a
                  // group's heads swapped for rows and a context split (FlashAttention 2 as vLLM calls it)
  packed_decode,  // packed below 16 rows; from there on each head alone in whole tiles of 256 rows (TensorRT-LLM)
  stacked,  // heads and rows share tiles of 16 rows, or of 64 where they are more; a context is split into as many
            // parts as take the least time, which a kernel of its own joins (decoder/cuda/attention)
};
inline constexpr NamedValues<HeadLayout, 5> kHeadLayouts{{{"packed", HeadLayout::packed},
                                                          {"apart", HeadLayout::apart},
                                                          {"swapped", HeadLayout::swapped},
                                                          {"packed_decode", HeadLayout::packed_decode},
                                                          {"stacked", HeadLayout::stacked}}};

// The additional time of many rows per sequence: arithmetic in waves of query tiles, and the rows' traffic.
struct PrefillAttentionFit {
  Seconds fixed;               // without a context, from 16 rows on
  Seconds per_tile;            // a': least time of a CTA in addition to those of one row
  double peak_share = 1;       // eF
  double bandwidth_share = 1;  // eB, for queries and results
  double write_share = 1;      // eW, for the rows' own keys and values, which are written to the cache and read again
  Seconds per_key;             // k: time per key if one CTA processes a whole context; 0: the time of its FLOP
  // Only for the layout `stacked`, whose CTAs process 64 keys at a time and store their rows one after another:
  Seconds per_stage;         // l: least time of 64 keys, however few CTAs share a multiprocessor
  Seconds per_tile_row;      // r: storing the result of a row of 128 columns
  Seconds per_part_row;      // r': storing a row's partial result for a part of a context
  Seconds per_part;          // n: joining: reading one more part
  Seconds per_row;           // w: writing one row's keys and values, independent of their size
  double blend = 1;          // p; limited to the decode kernel's value
  double wave_softness = 1;  // theta
  HeadLayout layout = HeadLayout::apart;
  Origin origin{};
};

// Attention as one library's kernels compute it, over a cache of one format.
struct AttentionFit {
  std::string library;  // "flash_attention_3"; empty: unknown, as in a probe of our own kernels
  DType cache = DType::bf16;
  AttentionForm form = AttentionForm::ordinary;
  DecodeAttentionFit decode;
  PrefillAttentionFit prefill;
};

struct AttentionModel {
  std::vector<AttentionFit> fits = std::vector<AttentionFit>(1);  // never empty; the first is used for missing ones
  // For a library without a fit here, 90 % of the times lie between low and high x the prediction of the substitute
  // fit; none: not known.
  std::optional<RatioInterval> other_library;
};

// One kind of elementwise work that was timed separately.
struct ElementwiseFit {
  Seconds fixed;
  double l2_speed = 1;  // bL2: its bandwidth from L2 over that of memory
};
// Elementwise work: fixed + bytes / (share of the bandwidth), with the bandwidth of L2 for bytes in L2.
struct CopyFit {
  Seconds fixed;               // for ops without a fit in `of`, and for each further launch
  double bandwidth_share = 1;  // eB
  double l2_share = 0;         // c: share of L2 that keeps the preceding kernel's writes; 0: nothing
  EnumArray<ElementOp, std::optional<ElementwiseFit>, kElementOps.size()> of = {};  // by ElementOp
  Origin origin{};
};

// A layer of experts in an engine: choosing the experts, grouping the rows, two grouped GEMMs with the gate between
// them, and the weighted sum. The router's GEMM is not included.
struct ExpertFit {
  Seconds fixed;               // t0: choosing, sorting, joining and launches
  double peak_share = 1;       // eF: for the largest tile
  double bandwidth_share = 1;  // eB
  double blend = 2;            // p: exponent that combines arithmetic and memory
  double l2_speed = 1;         // bL2: bandwidth of L2 over that of memory
  double l2_share = 1;         // c: share of L2 that keeps weights from one call to the next
  double tile_half = 0;        // hm: tile that reaches half the rate of an infinite tile
  double row_cost = 1;         // gR: gathering, scattering and joining activations, in reads of memory
  Seconds latency;             // lat: per tile
  Origin origin;
};

// A streaming kernel: fixed + bytes / bandwidth, by the level (L2 or memory) that holds the bytes.
struct StreamFit {
  Seconds fixed;
  double bandwidth_share = 1;  // eB
  double l2_speed = 1;         // bL2: bandwidth of L2 over that of memory
  double l2_share = 1;         // c: share of L2 that keeps data from one call to the next
};

// CTAs in waves, each of which walks over chunks of rows, one after the other: of the gated delta rule over prompts a
// head in chunks of 64 rows.
struct ChunkFit {
  Seconds fixed;
  Seconds start;               // per wave: loading and storing its heads' states
  Seconds chunk;               // per chunk of a wave
  double bandwidth_share = 1;  // eB: for the rows' traffic, for which a full wave waits
  double blend = 2;            // p: exponent that combines the chunks' latency and traffic
  double wave_softness = 1;    // theta
};

// The kernels of gated delta networks (docs/explanation/kernel_model.md, "Delta networks"): for decode steps, which
// read and write a state row by row, and for prompts.
struct DeltaNetFit {
  StreamFit rule, convolution, prompt_convolution;
  ChunkFit prompt_rule;
  Origin origin{};
};

// The causal convolutions of state spaces, where a library has other kernels for them than for delta networks
// (docs/explanation/kernel_model.md, "State spaces"). Of a prompt each column is one CTA, in chunks of 512 rows.
struct StateSpaceFit {
  StreamFit convolution;
  ChunkFit prompt_convolution;
  Origin origin{};
};

// The kernels of several residual streams, before and after a sublayer (vLLM: mhc_pre, mhc_post).
struct ResidualStreamsFit {
  StreamFit join, spread;
  Origin origin{};
};

// The power of a kernel at full clock: idle power and the energy of its FLOP and bytes. Above the limit of the card
// (Device::power_watts) the clock falls, and the energy of a FLOP with it, because the voltage does.
struct PowerFit {
  double idle_watts = 0;
  double joules_per_flop = 0;  // of 16-bit operands; in proportion to their bits for narrower ones
  double joules_per_byte = 0;  // of memory
  Origin origin{};
};

// Operand formats below 16 bits that have separate matrix kernels. fp8: scales per column and row; fp8_static: one
// scale for all inputs, known in advance; fp8_block: scales per block of 128; nvfp4: 4-bit floating point with scales
// per block of 16; int4_wo: weights of 4-bit integers alone, which are unpacked and multiplied in 16 bits.
enum class NarrowFormat : std::uint8_t { fp8, fp8_static, fp8_block, nvfp4, int4_wo };
inline constexpr std::array kNarrowFormats{NarrowFormat::fp8, NarrowFormat::fp8_static, NarrowFormat::fp8_block,
                                           NarrowFormat::nvfp4, NarrowFormat::int4_wo};
inline constexpr std::array<std::string_view, kNarrowFormats.size()> kNarrowFormatNames{
    "fp8", "fp8_static", "fp8_block", "nvfp4", "int4_wo"};
constexpr std::string_view name(NarrowFormat f) { return kNarrowFormatNames[at(f)]; }

// The fits of kernels with narrow operands, as far as they were measured.
template <class Fit>
using NarrowFits = EnumArray<NarrowFormat, std::optional<Fit>, kNarrowFormats.size()>;

// Fits of products, experts and convolutions of one library, for engines whose profile names it (Engine::kernels).
struct LibraryFits {
  std::string library;  // "tensorrt_llm"
  std::optional<GemmFit> gemm = {};
  std::optional<ExpertFit> experts = {};
  NarrowFits<GemmFit> narrow_gemm = {};
  NarrowFits<ExpertFit> narrow_experts = {};
  std::optional<StateSpaceFit> state_space = {};
};

// Fits of the kernels of a GPU or of a related GPU. operand_fits decides which fit prices a kernel.
struct GpuModel {
  static constexpr bool kCachesOutlastSteps = false;  // L2 is smaller than the data of a step
  GemmFit gemm;                                       // for 16-bit operands
  AttentionModel attention;
  CopyFit copy;
  std::optional<ExpertFit> experts;                    // for 16-bit operands; none: grouped GEMMs by the GEMM's fit
  std::optional<DeltaNetFit> delta_net;                // none: elementwise work of the same bytes
  std::optional<StateSpaceFit> state_space;            // none: as of delta networks
  std::optional<ResidualStreamsFit> residual_streams;  // none: elementwise work of the same bytes
  std::optional<PowerFit> power;                       // none: kernels run at full clock
  NarrowFits<GemmFit> narrow_gemm;
  NarrowFits<ExpertFit> narrow_experts;
  std::vector<LibraryFits> libraries;  // alternatives to the fits above
  // The relative that lent the fit of GEMMs or of attention; empty: both are the device's own.
  std::string transferred_from() const {
    const AttentionFit& a = attention.fits.front();
    for (const Origin* o : {&gemm.origin, &a.decode.origin, &a.prefill.origin})
      if (!o->borrowed_from.empty()) return o->borrowed_from;
    return "";
  }
  bool has_transferred_fits() const { return !transferred_from().empty(); }
};

}  // namespace draftline
