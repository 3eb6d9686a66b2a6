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

// How a library takes the tiles of a GEMM (model/kernels/gemm_tiles). fastest: the fastest of many tiles and of splits
// of the inputs, as a library does that was tuned shape by shape. by_rows_128, by_rows_256: without splits one tile for
// each range of rows, the largest beyond 128 or 256 rows.
enum class GemmTiles : std::uint8_t { fastest, by_rows_128, by_rows_256 };
inline constexpr NamedValues<GemmTiles, 3> kGemmTiles{{{"fastest", GemmTiles::fastest},
                                                       {"by_rows_128", GemmTiles::by_rows_128},
                                                       {"by_rows_256", GemmTiles::by_rows_256}}};

// GEMM, form T3 of docs/explanation/kernel_model.md: tiles x waves x split-K under a memory bound.
struct GemmFit {
  Seconds fixed;               // t0: launch to finish of an empty kernel
  double peak_share = 1;       // eF
  double bandwidth_share = 1;  // eB
  double blend = 3;            // p: how sharply the two bounds meet
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

// What one row a sequence needs: the cost of CTAs and the way to the cache.
struct DecodeAttentionFit {
  Seconds fixed;
  Seconds per_unit;            // a: the least one row's CTA costs the multiprocessor it runs on
  Seconds join;                // j: splitting a context that is longer than a block of keys
  Seconds per_root_key;        // g: reading and joining n split keys of a sequence costs g sqrt(n)
  double bandwidth_share = 1;  // eB
  double l2_speed = 1;         // bL2: bandwidth of L2 over that of memory
  double l2_share = 1;         // c: share of L2 that keeps what a kernel has just written
  double blend = 3;            // p: how sharply arithmetic and memory meet
  Origin origin{};
};

// How a library lays out the query heads that share a KV head, and their rows, in tiles, one a CTA.
enum class HeadLayout {
  packed,         // heads and rows share tiles of 128 rows; a context is split among CTAs (FlashAttention 3)
  apart,          // each head alone in tiles of 64 rows; a context is split
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

// What many rows a sequence add: arithmetic in waves of query tiles, and their own traffic.
struct PrefillAttentionFit {
  Seconds fixed;               // without a context, from 16 rows on
  Seconds per_tile;            // a': the least a CTA beyond those of one row costs
  double peak_share = 1;       // eF
  double bandwidth_share = 1;  // eB, of queries and results
  double write_share = 1;      // eW, of the rows' own keys and values, which are written to the cache and read again
  Seconds per_key;             // k: what a key costs a CTA that is alone with a context; 0: the time of its FLOP
  // Of the layout `stacked` alone, whose CTAs walk over 64 keys at a time and end with their rows one after another:
  Seconds per_stage;         // l: the least that 64 keys take, however few CTAs share a multiprocessor
  Seconds per_tile_row;      // r: storing the result of a row of 128 columns
  Seconds per_part_row;      // r': storing what a part of a context leaves of it
  Seconds per_part;          // n: reading one part more while they are joined
  Seconds per_row;           // w: writing one row's keys and values, whatever their size
  double blend = 1;          // p; at most the decode kernel's counts
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
  // 90 % of the times of a library that has no fit here lie between low and high x what the fit that stands in for it
  // predicts; none: not known.
  std::optional<RatioInterval> other_library;
};

// One kind of elementwise work that was timed separately.
struct ElementwiseFit {
  Seconds fixed;
  double l2_speed = 1;  // bL2: speed at which it moves what lies in L2, over memory's bandwidth
};
// Elementwise work: fixed + bytes over a share of the bandwidth, or over that of L2 as far as they lie there.
struct CopyFit {
  Seconds fixed;               // of ops without a fit in `of`; of one more launch
  double bandwidth_share = 1;  // eB
  double l2_share = 0;         // c: share of L2 that keeps what the kernel before has written; 0: nothing
  EnumArray<ElementOp, std::optional<ElementwiseFit>, kElementOps.size()> of = {};  // by ElementOp
  Origin origin{};
};

// A layer of experts as an engine launches it: choosing, grouping the rows, two grouped GEMMs with the gate between
// them, and the weighted sum. Not the router's GEMM.
struct ExpertFit {
  Seconds fixed;               // t0: choosing, sorting and joining, with the launches
  double peak_share = 1;       // eF: of the largest tile
  double bandwidth_share = 1;  // eB
  double blend = 2;            // p: how sharply arithmetic and memory meet
  double l2_speed = 1;         // bL2: bandwidth of L2 over that of memory
  double l2_share = 1;         // c: share of L2 that keeps weights from one call to the next
  double tile_half = 0;        // hm: tile at which half the rate of an endless one is reached
  double row_cost = 1;         // gR: gathering, scattering and joining the rows' activations, in reads of memory
  Seconds latency;             // lat: per tile
  Origin origin;
};

// A kernel that streams what it reads and writes: fixed + bytes over the bandwidth of where they lie.
struct StreamFit {
  Seconds fixed;
  double bandwidth_share = 1;  // eB
  double l2_speed = 1;         // bL2: bandwidth of L2 over that of memory
  double l2_share = 1;         // c: share of L2 that keeps what one call leaves to the next
};

// The gated delta rule over prompts in chunks of 64 rows: a head's chunks one after the other, heads in waves of CTAs.
struct ChunkFit {
  Seconds fixed;
  Seconds start;               // of a wave: loading and storing its heads' states
  Seconds chunk;               // of one chunk of a wave
  double bandwidth_share = 1;  // eB: of the rows' traffic, all of which a full wave waits for
  double blend = 2;            // p: how sharply the chunks' latency and their traffic meet
  double wave_softness = 1;    // theta
};

// The kernels of gated delta networks (docs/explanation/kernel_model.md, "Delta networks"): of a step, which reads and
// writes a state row by row, and of prompts.
struct DeltaNetFit {
  StreamFit rule, convolution, prompt_convolution;
  ChunkFit prompt_rule;
  Origin origin{};
};

// Formats of operands below 16 bits that have matrix kernels of their own: 8-bit floating point with scales of whole
// columns and rows, with one for all inputs that is known in advance, or with scales of blocks of 128; 4-bit floating
// point with scales of blocks of 16.
enum class NarrowFormat : std::uint8_t { fp8, fp8_static, fp8_block, nvfp4 };
inline constexpr std::array kNarrowFormats{NarrowFormat::fp8, NarrowFormat::fp8_static, NarrowFormat::fp8_block,
                                           NarrowFormat::nvfp4};
inline constexpr std::array<std::string_view, kNarrowFormats.size()> kNarrowFormatNames{"fp8", "fp8_static",
                                                                                        "fp8_block", "nvfp4"};
constexpr std::string_view name(NarrowFormat f) { return kNarrowFormatNames[at(f)]; }

// The fits of kernels with narrow operands, as far as they were measured.
template <class Fit>
using NarrowFits = EnumArray<NarrowFormat, std::optional<Fit>, kNarrowFormats.size()>;

// Fits of a GPU's kernels, or of a relative's. operand_fits decides which fit prices a kernel.
struct GpuModel {
  static constexpr bool kCachesOutlastSteps = false;  // L2 is smaller than the data of a step
  GemmFit gemm;                                       // of 16-bit operands
  AttentionModel attention;
  CopyFit copy;
  std::optional<ExpertFit> experts;      // of 16-bit operands; none: grouped GEMMs by the GEMM's fit
  std::optional<DeltaNetFit> delta_net;  // none: elementwise work of as many bytes
  NarrowFits<GemmFit> narrow_gemm;
  NarrowFits<ExpertFit> narrow_experts;
  bool has_transferred_fits() const {  // of a GEMM or of attention, from a relative
    const AttentionFit& a = attention.fits.front();
    return !gemm.origin.borrowed_from.empty() || !a.decode.origin.borrowed_from.empty() ||
           !a.prefill.origin.borrowed_from.empty();
  }
};

}  // namespace draftline
