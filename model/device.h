// SPDX-License-Identifier: Apache-2.0
// A device: what its datasheet promises and what probes found it to keep. Coefficients are dimensionless shares of the
// datasheet's limits where they can be, so that a card without probes can borrow those of a relative, and say so.
#pragma once
#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/quantity.h"
#include "core/reader.h"
#include "model/cpu_time.h"
#include "model/dtype.h"
#include "model/fit_quality.h"

namespace draftline {

// Where a group of numbers comes from. `borrowed_from` names the relative whose coefficients these are; empty: its own.
struct Origin {
  std::string kind, source, locator, borrowed_from, because;
  double low = 1, high = 1;  // 90 % of measured times lie between low and high x predicted; both 1: not known
  FitSpread spread;
};

// GEMM, form T3 of docs/kernel_model.md: tiles x waves x split-K under a memory bound.
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
  Origin origin;
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
  Origin origin;
};

// What many rows a sequence add: arithmetic in waves of query tiles, and their own traffic.
struct PrefillAttentionFit {
  Seconds fixed;               // without a context; at most the decode kernel's counts
  Seconds per_tile;            // a': the least a CTA beyond those of one row costs
  double peak_share = 1;       // eF
  double bandwidth_share = 1;  // eB, of queries and results
  double write_share = 1;      // eW, of the rows' own keys and values, which are written to the cache and read again
  Seconds per_row;             // w: writing one row's keys and values, whatever their size
  double blend = 1;            // p; at most the decode kernel's counts
  double wave_softness = 1;    // theta
  bool packed = false;         // the query heads that share a KV head share a tile (FlashAttention 3), or not (2)
  Origin origin;
};

// Elementwise work: fixed + bytes over a share of the bandwidth.
struct CopyFit {
  Seconds fixed;
  double bandwidth_share = 1;
  Origin origin;
};

// All-reduce of `message` bytes among `ranks` devices; between points log-interpolated, beyond them at the last rate.
struct AllReducePoint {
  int ranks = 2;
  Bytes message;
  Seconds time;
};

struct KernelFits {
  GemmFit gemm;
  DecodeAttentionFit decode;
  PrefillAttentionFit prefill;
  CopyFit copy;
  std::string source;     // of the GEMM's
  bool borrowed = false;  // is any of them from a relative, not from this card?
};

struct Device {
  std::string name, title, source;
  std::vector<Origin> datasheet;                          // one of each block of quoted values
  std::array<FlopsPerSecond, kDTypeNames.size()> peak{};  // dense matrix rate by operand format; 0: not supported
  BytesPerSecond bandwidth;                               // datasheet
  Bytes memory, l2;
  int multiprocessors = 1;
  double power_watts = 0;  // thermal design power; 0: unknown
  KernelFits fits;
  std::optional<CpuFit> cpu;               // a CPU that runs our own interpreter: its form replaces `fits`
  std::vector<AllReducePoint> all_reduce;  // by ranks, then message; empty: no link, one device only
  Origin all_reduce_origin;
  FlopsPerSecond peak_of(DType t) const { return peak[static_cast<std::size_t>(t)]; }
};

// The name is the file's. Coefficients that are borrowed are read from the relative's file in the same folder, else in that
// of the devices that are shipped, if it is given.
Device read_device(Reader, const std::filesystem::path& shipped = {});

}  // namespace draftline
