// SPDX-License-Identifier: Apache-2.0
// Times of the CPU interpreter's ops (decoder/cpu): one thread, plain loops in a fixed order, no launches. A GEMM walks
// panels of weights for groups of four rows; attention adds column by column (docs/kernel_model.md, "The CPU").
#pragma once
#include <array>
#include "core/quantity.h"
#include "model/work.h"

namespace draftline {

// What lies between two meetings of the same bytes: bytes that we met ourselves, and what other programs brought into the
// last cache meanwhile. The first two caches are a core's own.
struct Between {
  Bytes ours, others;
};

// What a byte costs that was last met so long ago: the longer ago, the farther away the cache that still has it.
struct CpuReach {
  std::array<Seconds, 3> byte;  // found in the second cache, in the last, in memory; in the first it costs nothing
  double cache_share = 1;       // of the first two that keeps what was met
  double last_share = 1;        // of the last, which other cores fill too
  // Shares found in the second cache, in the last, in memory.
  std::array<double, 3> found(const Between&, const std::array<Bytes, 3>& caches) const;
};

struct CpuGemmFit {
  Seconds fixed;                // an op, whatever its size
  Seconds tile;                 // a group of rows on a panel, whatever the inputs
  std::array<Seconds, 4> step;  // one input of a panel, for a group of 1, 2, 3 and 4 rows
  CpuReach reach;               // of weights
  double blend = 3;             // how sharply arithmetic and streaming meet
};

// Four query rows that share a head walk over its keys, then its values, in lines of 16 floats; the next four meet them
// again one head's bytes later. A step is one line for four rows, or as many lines for fewer rows: what four sums side by
// side take. Nothing fetches ahead the first lines of a head's keys, and of each block of 16 columns of its values.
struct CpuAttentionFit {
  Seconds fixed;
  Seconds row;                       // a query row of one head
  Seconds pair;                      // a query row meets a key: its exponential
  Seconds step;                      // four lines' additions
  CpuReach reach;                    // of keys and values
  Seconds last_start, memory_start;  // of such first lines, found in the last cache or in memory
  double blend = 3;                  // how sharply arithmetic and streaming meet
};

// Ops that a device file may leave out: files from before they were probed. They are priced as a gate then.
constexpr bool may_be_unprobed(ElementOp op) { return op == ElementOp::top_k || op == ElementOp::sample; }

// Elementwise ops: a byte read or written costs the same whatever the op, more beyond the first and the second cache; what is done to an
// element besides costs what the op costs; lines last met a step ago come from where they are.
// The clock that wide vectors leave behind (products run before) holds for a while; what takes longer goes on faster.
struct CpuElementFit {
  Seconds byte, beyond_first_byte, far_byte;
  Seconds slow_for;       // how long
  double slow_clock = 1;  // how many times slower than the clock after it
  struct Op {
    Seconds fixed, element;
  };
  std::array<Op, kElementOpNames.size()> of;  // by ElementOp; adding counts as nothing beside its bytes
  CpuReach lines;                             // of a byte of old lines; the caches keep what they keep of attention's
};

struct CpuFit {
  std::array<Bytes, 3> caches;  // first, second, last
  BytesPerSecond inflow;        // what other programs bring into the last cache: of the machine, as busy as it was
  CpuGemmFit gemm;
  CpuAttentionFit attention;
  CpuElementFit elements;
};

inline constexpr int kCpuPanelColumns = 16, kCpuRowGroup = 4;

// `since`: what was met since the weights were; infinite: they come from memory. Everything is held in 32 bits, whatever
// its declared format.
Seconds cpu_time(const CpuFit&, const Gemm&, const Between& since);
// `since`: what was met since the keys and values of earlier steps were.
Seconds cpu_time(const CpuFit&, const Attention&, Span, const Between& since);
Bytes cpu_cache_bytes(const Attention&, Span);  // of keys and values, as they are held
// `since`: what was met since its old lines were.
Seconds cpu_time(const CpuFit&, const Copy&, const Between& since);
// Lines that appended keys and values are written to: a key's columns have one each, which the keys of a panel share; of a
// value's, sixteen share one.
Bytes cpu_lines_appended(int sequences, int rows, int kv_heads, int head_dim);
Seconds cpu_time(const CpuFit&, const ExpertMlp&);

}  // namespace draftline
