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
#include "model/dtype.h"

namespace draftline {

// GEMM, form T3 of docs/kernel_model.md: tiles x waves x split-K under a memory bound.
struct GemmFit {
  Seconds fixed;             // t0: launch to finish of an empty kernel
  double peak_share = 1;     // eF
  double bandwidth_share = 1;  // eB
  double blend = 3;          // p: how sharply the two bounds meet
  Seconds k_loop;            // tk: exposed latency of one CTA's loop over 1024 inputs
  double l2_speed = 1;       // bL2: bandwidth of L2 over that of memory
  double l2_share = 1;       // c: share of L2 that keeps weights
  Seconds split;             // ts: joining the splits
  double tile_half = 0;      // hm: tile at which half the peak is reached
  double output_cost = 0;    // gO
  Seconds latency;           // lat: per tile
  double wave_softness = 1;  // theta
};

// Decode attention, form CTA.
struct DecodeAttentionFit {
  Seconds fixed;
  Seconds per_unit;            // a: one CTA's share of work
  double bandwidth_share = 1;  // eB
  double ramp = 0;             // kappa: how many CTAs a multiprocessor needs to fill the memory pipe
  double l2_speed = 1;         // bL2
  double l2_share = 1;         // c
  double blend = 3;            // p
};

// Prefill attention, form wave.
struct PrefillAttentionFit {
  Seconds fixed;
  double peak_share = 1;
  double bandwidth_share = 1;
  Seconds per_wave;  // c0
  double blend = 3;
  double wave_softness = 1;  // theta
};

// Elementwise work: fixed + bytes over a share of the bandwidth.
struct CopyFit {
  Seconds fixed;
  double bandwidth_share = 1;
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
  std::string source;    // what they were fitted to
  bool borrowed = false;  // from a relative, not from this card
};

struct Device {
  std::string name, title, source;
  std::array<FlopsPerSecond, kDTypeNames.size()> peak{};  // dense matrix rate by operand format; 0: not supported
  BytesPerSecond bandwidth;                               // datasheet
  Bytes memory, l2;
  int multiprocessors = 1;
  KernelFits fits;
  std::vector<AllReducePoint> all_reduce;  // empty: no link, one device only
  FlopsPerSecond peak_of(DType t) const { return peak[static_cast<std::size_t>(t)]; }
};

Device read_device(Reader);

}  // namespace draftline
