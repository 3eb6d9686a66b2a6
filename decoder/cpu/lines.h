// SPDX-License-Identifier: Apache-2.0
// A line of 16 floats, the unit in which the interpreter's inner loops read weights, keys and values. Each lane is a
// separate output and adds its terms in order, independent of the width of the machine's vectors.
#pragma once
#include <cstdint>

// Compiles a function for several vector widths. The additions are the same, so bits do not depend on the machine
// (there is no contraction to FMA, see CMakeLists.txt). A line has a vector type, because g++ 12 does not vectorise
// loops over lanes.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__)
#define WIDEST_VECTORS __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define WIDEST_VECTORS
#endif

namespace draftline {

inline constexpr std::uint32_t kPoison = 0xffffffffU;  // content of unwritten memory: a NaN, and an id of -1
inline constexpr int kPanel = 16;                      // lanes of a line, which is one cache line
struct alignas(kPanel * sizeof(float)) PanelLine {
  float column[kPanel];
};
typedef float Vector __attribute__((vector_size(sizeof(PanelLine)), may_alias));

constexpr int panels_for(int n) { return (n + kPanel - 1) / kPanel; }

}  // namespace draftline
