// SPDX-License-Identifier: Apache-2.0
// The coefficients of the CPU interpreter's ops (docs/explanation/kernel_model.md, "The CPU"), in seconds but for
// shares: one thread, plain loops in a fixed order, no launches (decoder/cpu). A GEMM walks panels of weights for
// groups of four rows; attention adds column by column.
#pragma once
#include <array>

#include "core/int_indexed.h"
#include "core/quantity.h"
#include "model/devices/origin.h"
#include "model/work.h"

namespace draftline {

// Bytes that were accessed between two accesses to the same bytes: by this program, and by co-runners, which share the
// last-level cache (LLC) with it. L1 and L2 are the core's own.
struct ReuseDistance {
  Bytes own, co_runners;
};

// What it costs to load a byte, by the level that still holds it: the larger its reuse distance, the farther away.
struct CpuByteCost {
  std::array<Seconds, 3> byte;  // from L2, from the LLC, from memory; from L1 it costs nothing
  double cache_share = 1;       // of L1 and of L2, that holds recently accessed bytes
  double llc_share = 1;         // of the LLC, which other cores fill too
  // Shares of the loads that L2, the LLC and memory serve.
  std::array<double, 3> served_by(const ReuseDistance&, const std::array<Bytes, 3>& caches) const;
};

struct CpuGemmFit {
  Seconds fixed;                // an op, whatever its size
  Seconds tile;                 // a group of rows on a panel, whatever the inputs
  std::array<Seconds, 4> step;  // one input of a panel, for a group of 1, 2, 3 and 4 rows
  CpuByteCost reach;            // of weights
  // Added to the arithmetic on weights from memory, as a share of it: the more instructions each line takes, the fewer
  // lines a core asks for ahead of the one that it waits for.
  double memory_stall = 0;
  double blend = 3;  // how sharply arithmetic and streaming meet
  Origin origin{};
};

// Four query rows that share a head walk over its keys, then its values, in lines of 16 floats; the next four rows
// access them again one head's bytes later. A step is one line for four rows, or as many lines for fewer rows: what
// four sums side by side take. Nothing prefetches the first lines of a head's keys, and of each block of 16 columns of
// its values.
struct CpuAttentionFit {
  Seconds fixed;
  Seconds row;                      // a query row of one head
  Seconds pair;                     // of a query row and a key: its exponential
  Seconds step;                     // four lines' additions
  CpuByteCost reach;                // of keys and values
  Seconds llc_start, memory_start;  // of such first lines, from the LLC or from memory
  double blend = 3;                 // how sharply arithmetic and streaming meet
  Origin origin{};
};

// Whether a device file may leave an op out, as files do from before the op was probed. The op is then priced as a
// gate.
constexpr bool may_be_unprobed(ElementOp op) { return op == ElementOp::top_k || op == ElementOp::sample; }

// Elementwise ops: a byte read or written costs the same whatever the op, and more where the op's bytes exceed L1 or
// L2; each element costs what the op does to it; lines last accessed a step ago come from the level that still holds
// them. The lower clock that wide vectors of the GEMMs before have caused holds for a while; an op that takes longer
// goes on faster.
struct CpuElementFit {
  Seconds byte, beyond_l1_byte, beyond_l2_byte;  // per byte; the second and third are added beyond that level
  Seconds slow_for;                              // how long
  double slow_clock = 1;                         // how many times slower than the clock after it
  struct Op {
    Seconds fixed, element;
  };
  EnumArray<ElementOp, Op, kElementOps.size()> of{};  // by ElementOp; an addition has no cost besides its bytes
  CpuByteCost lines;  // of a byte of old lines; the caches keep what they keep of attention's
  Origin origin{};
};

struct CpuModel {
  static constexpr bool kCachesOutlastSteps = true;
  std::array<Bytes, 3> caches;       // L1, L2, LLC
  BytesPerSecond co_runner_traffic;  // that other programs bring into the LLC: of the machine, as busy as it was
  CpuGemmFit gemm;
  CpuAttentionFit attention;
  CpuElementFit elements;
  bool has_transferred_fits() const { return false; }
};

// A device file's "fits/cpu"; `llc`: the last-level cache of its datasheet. Mistakes are noted at their places.
CpuModel read_cpu_model(Reader, Bytes llc);

}  // namespace draftline
