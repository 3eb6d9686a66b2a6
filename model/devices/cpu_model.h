// SPDX-License-Identifier: Apache-2.0
// The coefficients of the CPU interpreter's ops (docs/explanation/kernel_model.md, "The CPU"), in seconds, except
// shares. The interpreter has one thread, plain loops in a fixed order, and no launches (decoder/cpu). A GEMM iterates
// over panels of weights for groups of four rows; attention adds column by column.
#pragma once
#include <array>

#include "core/int_indexed.h"
#include "core/quantity.h"
#include "model/devices/origin.h"
#include "model/work.h"

namespace draftline {

// Bytes accessed between two accesses to the same bytes: by this program, and by other programs that share the
// last-level cache (LLC). L1 and L2 belong to the core.
struct ReuseDistance {
  Bytes own, co_runners;
};

// The time to load a byte, by the cache level that still contains it, which follows from its reuse distance.
struct CpuByteCost {
  std::array<Seconds, 3> byte;  // from L2, from the LLC, from memory; 0 from L1
  double cache_share = 1;       // share of L1 and L2 that holds recently accessed bytes
  double llc_share = 1;         // share of the LLC, which other cores also use
  // Shares of the loads that L2, the LLC and memory serve.
  std::array<double, 3> served_by(const ReuseDistance&, const std::array<Bytes, 3>& caches) const;
};

struct CpuGemmFit {
  Seconds fixed;                // per op, independent of its size
  Seconds tile;                 // per group of rows and panel, independent of the inputs
  std::array<Seconds, 4> step;  // one input of a panel, for a group of 1, 2, 3 and 4 rows
  CpuByteCost reach;            // of weights
  // Added to the time of arithmetic on weights from memory, as a share of it: the more instructions per cache line, the
  // fewer lines a core prefetches.
  double memory_stall = 0;
  double blend = 3;  // exponent that combines arithmetic and streaming
  Origin origin{};
};

// Four query rows of a head read its keys, then its values, in lines of 16 floats; the next four rows read them again,
// with a reuse distance of one head's bytes. A step is the work of four concurrent sums: one line for four rows, or
// more lines for fewer rows. The first lines of a head's keys, and of each block of 16 columns of its values, are not
// prefetched.
struct CpuAttentionFit {
  Seconds fixed;
  Seconds row;                      // per query row of one head
  Seconds pair;                     // per query row and key: the exponential
  Seconds step;                     // four lines' additions
  CpuByteCost reach;                // of keys and values
  Seconds llc_start, memory_start;  // per such first line, from the LLC or from memory
  double blend = 3;                 // exponent that combines arithmetic and streaming
  Origin origin{};
};

// Whether a device file may lack an op, because older files were made before the op was probed. The op is then priced
// as a gate.
constexpr bool may_be_unprobed(ElementOp op) { return op == ElementOp::top_k || op == ElementOp::sample; }

// Elementwise ops. The cost of a byte read or written is the same for all ops and rises where the op's bytes exceed L1
// or L2. The cost of an element depends on the op. Lines last accessed a step ago are loaded from the level that still
// contains them. Wide vectors in preceding GEMMs lower the clock for a while; a longer op continues at the higher
// clock.
struct CpuElementFit {
  Seconds byte, beyond_l1_byte, beyond_l2_byte;  // per byte; the second and third are added beyond that level
  Seconds slow_for;                              // how long the lower clock lasts
  double slow_clock = 1;                         // higher clock / lower clock
  struct Op {
    Seconds fixed, element;
  };
  EnumArray<ElementOp, Op, kElementOps.size()> of{};  // by ElementOp; an addition costs only its bytes
  CpuByteCost lines;                                  // per byte of old lines; cache shares are those of attention
  Origin origin{};
};

struct CpuModel {
  static constexpr bool kCachesOutlastSteps = true;
  std::array<Bytes, 3> caches;       // L1, L2, LLC
  BytesPerSecond co_runner_traffic;  // traffic of other programs into the LLC while the machine was measured
  CpuGemmFit gemm;
  CpuAttentionFit attention;
  CpuElementFit elements;
  bool has_transferred_fits() const { return false; }
};

// A device file's "fits/cpu"; `llc`: the last-level cache of its datasheet. Mistakes are noted at their places.
CpuModel read_cpu_model(Reader, Bytes llc);

}  // namespace draftline
