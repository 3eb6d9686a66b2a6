// SPDX-License-Identifier: Apache-2.0
// The only PTX of the decoder, besides griddepcontrol in launch.h: products of 16 x 16 by 16 x 8 tiles in bf16 with
// fp32 sums, loads of their operands from shared memory, and asynchronous copies from global to shared memory (sm_80
// and later). Without a CUDA compiler they are emulated by tests/emulator.
#pragma once
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdint>

#ifndef __CUDACC__
#include <mma_emulation.h>  // tests/emulator
#endif

namespace draftline::cuda {

#ifdef __CUDACC__
__device__ inline unsigned shared_address(const void* p) { return static_cast<unsigned>(__cvta_generic_to_shared(p)); }
#endif

// d += a b. Lane 4 g + t holds of a: rows g, g + 8 at columns 2t, 2t + 1, then the same of columns 2t + 8, + 9; of b:
// rows 2t, 2t + 1, then 2t + 8, + 9, of column g; of d: row g, columns 2t, 2t + 1, then the same of row g + 8.
__device__ inline void multiply_tile(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {
#ifdef __CUDACC__
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
#else
  ::emulation::multiply_tile(d, a, b0, b1);
#endif
}

// Four 8 x 8 tiles of 16-bit numbers: lanes 8 i .. 8 i + 7 name the rows of tile i, and r[i] of lane 4 g + t is row g,
// columns 2t and 2t + 1 of it; transposed: rows 2t and 2t + 1 of column g.
template <bool transposed>
__device__ inline void load_tiles(unsigned (&r)[4], const void* row) {
#ifdef __CUDACC__
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
                 : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
                 : "r"(shared_address(row))
                 : "memory");
#else
  ::emulation::load_tiles(r, row, transposed);
#endif
}

// Starts an asynchronous copy of 16 bytes, or of zeros if there is nothing to copy.
__device__ inline void copy_later(void* to_shared, const void* from, bool present) {
#ifdef __CUDACC__
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(shared_address(to_shared)), "l"(from),
               "r"(present ? 16 : 0)
               : "memory");
#else
  ::emulation::copy_later(to_shared, from, present);
#endif
}

// Ends a batch of this thread's copies. wait_for_copies() waits until all but the latest `open` batches are complete.
__device__ inline void end_batch() {
#ifdef __CUDACC__
  asm volatile("cp.async.commit_group;" ::: "memory");
#else
  ::emulation::end_batch();
#endif
}
template <int open>
__device__ inline void wait_for_copies() {
#ifdef __CUDACC__
  asm volatile("cp.async.wait_group %0;" ::"n"(open) : "memory");
#else
  ::emulation::wait_for_copies(open);
#endif
}

// Packs two numbers into a word, the first in the lower half.
__device__ inline unsigned pack_pair(float low, float high) {
  const __nv_bfloat162 pair = __floats2bfloat162_rn(low, high);
  return unsigned{__bfloat16_as_ushort(pair.x)} | unsigned{__bfloat16_as_ushort(pair.y)} << 16;
}

}  // namespace draftline::cuda
