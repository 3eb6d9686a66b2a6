// SPDX-License-Identifier: Apache-2.0
// What the PTX of decoder/cuda/gemm/mma.cuh does, by the fragment layouts of the PTX manual (m16n8k16, ldmatrix). A
// background copy arrives when it is waited for, so that a missing wait shows, or at once, so that one into what is
// still read shows.
#pragma once
#include <array>
#include <cstring>
#include <deque>
#include <map>
#include <vector>

#include "cuda_bf16.h"

namespace emulation {

inline float half_of(unsigned pair, int which) {
  return __bfloat162float({static_cast<std::uint16_t>(which == 0 ? pair & 0xffffU : pair >> 16)});
}

inline void multiply_tile(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
  struct Mine {
    float* d;
    const unsigned* a;
    unsigned b[2];
  } mine{d, a, {b0, b1}};
  emulator::collective("mma", 0xffffffffU, &mine, [](void* const* lanes) {
    const auto of = [&](int lane) { return static_cast<Mine*>(lanes[lane]); };
    float a_all[16][16], b_all[16][8];
    for (int lane = 0; lane < 32; ++lane) {
      const int g = lane / 4, t = lane % 4;
      for (int r = 0; r < 4; ++r)
        for (int h = 0; h < 2; ++h) a_all[g + 8 * (r % 2)][2 * t + 8 * (r / 2) + h] = half_of(of(lane)->a[r], h);
      for (int r = 0; r < 2; ++r)
        for (int h = 0; h < 2; ++h) b_all[2 * t + 8 * r + h][g] = half_of(of(lane)->b[r], h);
    }
    for (int lane = 0; lane < 32; ++lane)
      for (int r = 0; r < 4; ++r) {
        const int row = lane / 4 + 8 * (r / 2), column = 2 * (lane % 4) + r % 2;
        float sum = of(lane)->d[r];
        for (int k = 0; k < 16; ++k) sum += a_all[row][k] * b_all[k][column];
        of(lane)->d[r] = sum;
      }
  });
}

inline void load_tiles(unsigned (&r)[4], const void* row, bool transposed) {
  struct Mine {
    unsigned* r;
    const void* row;
    bool transposed;
  } mine{r, row, transposed};
  emulator::collective("ldmatrix", 0xffffffffU, &mine, [](void* const* lanes) {
    for (int lane = 0; lane < 32; ++lane) {
      auto* to = static_cast<Mine*>(lanes[lane]);
      for (int tile = 0; tile < 4; ++tile) {
        const auto element = [&](int y, int x) {
          const void* from = static_cast<Mine*>(lanes[8 * tile + y])->row;
          std::uint16_t bits;
          std::memcpy(&bits, static_cast<const std::uint16_t*>(from) + x, sizeof bits);
          return unsigned{bits};
        };
        const int g = lane / 4, t = lane % 4;
        to->r[tile] = to->transposed ? element(2 * t, g) | element(2 * t + 1, g) << 16
                                     : element(g, 2 * t) | element(g, 2 * t + 1) << 16;
      }
    }
  });
}

struct Copy {
  void* to;
  std::array<unsigned char, 16> bytes;
};
struct Copies {  // of one thread
  std::vector<Copy> open;
  std::deque<std::vector<Copy>> batches;
  uint3 block{~0U, 0, 0};
};
inline Copies& copies() {
  static std::map<unsigned, Copies> all;
  Copies& mine = all[(threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x];
  if (std::memcmp(&mine.block, &blockIdx, sizeof blockIdx) != 0) mine = {{}, {}, blockIdx};
  return mine;
}
inline std::size_t& copied_later() {  // bytes since it was last set
  static std::size_t bytes = 0;
  return bytes;
}
inline void copy_later(void* to, const void* from, bool present) {
  Copy c{to, {}};
  if (reinterpret_cast<std::uintptr_t>(to) % 16 != 0 || reinterpret_cast<std::uintptr_t>(from) % 16 != 0)
    throw std::logic_error("a background copy that is not aligned to 16 bytes");
  if (present) std::memcpy(c.bytes.data(), from, 16), copied_later() += 16;
  const bool at_once = (blockIdx.x + blockIdx.y + blockIdx.z) % 2 == 1;
  if (at_once) std::memcpy(to, c.bytes.data(), 16);
  else copies().open.push_back(c);
}
inline void end_batch() {
  copies().batches.push_back(std::move(copies().open));
  copies().open.clear();
}
inline void wait_for_copies(int open) {
  auto& batches = copies().batches;
  for (; batches.size() > static_cast<std::size_t>(open); batches.pop_front())
    for (const Copy& c : batches.front()) std::memcpy(c.to, c.bytes.data(), 16);
}

}  // namespace emulation
