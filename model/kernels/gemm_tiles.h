// SPDX-License-Identifier: Apache-2.0
// Which tiles of the result the kernels of a library's GEMM compute, one on a multiprocessor at a time.
#pragma once
#include <span>

#include "model/devices/gpu_model.h"

namespace draftline {

struct GemmTile {
  int rows, columns;
  int together = 1;  // below each other, by a cluster of multiprocessors: their number is a multiple of it
};

inline constexpr int kMostTiles = 10;  // to choose from

// The tiles that the library may take for this many rows.
std::span<const GemmTile> gemm_tiles(GemmTiles, int rows);

// Whether the library may divide the inputs among multiprocessors and join the sums.
constexpr bool splits_inputs(GemmTiles t) { return t == GemmTiles::fastest; }

}  // namespace draftline
