// SPDX-License-Identifier: Apache-2.0
// Kernels that probes alone need: noise, streams of memory, a fixed piece of arithmetic, and one that does nothing.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace draftline::cuda {

// to[i] = noise(from + i) (probes/probe_data.h), in T.
template <class T>
void fill_noise(T* to, std::int64_t n, std::uint64_t from, cudaStream_t);

// 16 bytes at a time. read: the exclusive or of all words, by block, into result[blocks of the grid].
int read_blocks(int multiprocessors);
void read_memory(const void* from, std::int64_t bytes, int multiprocessors, unsigned* result, cudaStream_t);
void copy_memory(const void* from, std::int64_t bytes, int multiprocessors, void* to, cudaStream_t);

// Takes as long as a clock takes for a chain of additions, on every multiprocessor.
void run_clock_reference(int multiprocessors, float* result, cudaStream_t);
void run_nothing(cudaStream_t);

}  // namespace draftline::cuda
