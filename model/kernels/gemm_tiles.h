// SPDX-License-Identifier: Apache-2.0
// The tiles of the result that the kernels of a library's GEMM compute, one at a time per multiprocessor.
#pragma once
#include <span>

#include "model/devices/gpu_model.h"

namespace draftline {

struct GemmTile {
  int rows, columns;
  int together = 1;  // tiles of a cluster of multiprocessors, below each other: the number of tiles is a multiple of it
};

inline constexpr int kMostTiles = 10;  // limit on the tiles of a library

// The tiles from which the library chooses for `rows` rows.
std::span<const GemmTile> gemm_tiles(GemmTiles, int rows);

// The tiles of products in 32 bits, which no tensor core computes.
std::span<const GemmTile> scalar_tiles(int rows);

// Whether the library may split the inputs among multiprocessors and join the sums.
constexpr bool splits_inputs(GemmTiles t) { return t == GemmTiles::fastest; }

}  // namespace draftline
