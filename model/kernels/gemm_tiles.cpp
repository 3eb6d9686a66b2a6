// SPDX-License-Identifier: Apache-2.0
// Tiles by rows are those that vLLM has CUTLASS compute for 8-bit operands (csrc/quantization/w8a8/cutlass), without
// its exceptions for few outputs: kTo128 on compute capability 9.0; kTo256 on 10.0, where two multiprocessors share a
// tile of twice the rows, and nearly so on 8.9, which has no clusters.
#include "model/kernels/gemm_tiles.h"

#include <algorithm>
#include <array>
#include <limits>

namespace draftline {
namespace {

constexpr std::array<GemmTile, kMostTiles> kAnyTiles{
    {{16, 64}, {32, 64}, {64, 32}, {64, 64}, {64, 128}, {128, 64}, {128, 128}, {64, 256}, {128, 256}, {256, 128}}};

struct ByRows {
  int most;  // rows of which this is the tile
  GemmTile tile;
};
constexpr int kAll = std::numeric_limits<int>::max();
constexpr std::array<ByRows, 4> kTo128{{{16, {16, 64}}, {64, {64, 64}}, {128, {64, 128, 2}}, {kAll, {128, 128, 2}}}};
constexpr std::array<ByRows, 4> kTo256{{{16, {32, 64}}, {64, {64, 64}}, {256, {64, 128, 2}}, {kAll, {128, 128, 2}}}};

constexpr std::array<GemmTile, 5> kScalarTiles{{{16, 32}, {32, 32}, {64, 64}, {128, 64}, {128, 128}}};

std::span<const GemmTile> for_rows(const std::array<ByRows, 4>& table, int rows) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const ByRows& t) { return rows <= t.most; });
  return {&found->tile, 1};
}

}  // namespace

std::span<const GemmTile> scalar_tiles(int rows) {
  return std::span(kScalarTiles).subspan(rows > kScalarTiles.front().rows ? 1 : 0);
}

std::span<const GemmTile> gemm_tiles(GemmTiles tiles, int rows) {
  switch (tiles) {
    case GemmTiles::by_rows_128: return for_rows(kTo128, rows);
    case GemmTiles::by_rows_256: return for_rows(kTo256, rows);
    default: return kAnyTiles;
  }
}

}  // namespace draftline
