// SPDX-License-Identifier: Apache-2.0
// A line of 16 floats, the unit in which the interpreter's hot loops read weights, keys and values: lanes are outputs of
// their own, so that each adds its terms one by one, in order, whatever the width of the machine's vectors.
#pragma once
#include <cstdint>

// The same additions in wider registers: bits do not depend on the machine (no contraction to FMA, see CMakeLists.txt).
// A line is a vector by its type: g++ 12 leaves a loop over the lanes scalar, the slower the odder the rows.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define WIDEST_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDEST_VECTORS
#endif

namespace draftline {

inline constexpr std::uint32_t kPoison = 0xffffffffU;  // what is not written yet: a NaN, and an id of -1
inline constexpr int kPanel = 16;                      // lanes: a cache line of fp32
struct alignas(kPanel * sizeof(float)) PanelLine {
  float column[kPanel];
};
typedef float Vector __attribute__((vector_size(sizeof(PanelLine)), may_alias));

constexpr int panels_for(int n) { return (n + kPanel - 1) / kPanel; }

}  // namespace draftline
