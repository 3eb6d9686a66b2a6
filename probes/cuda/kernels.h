// SPDX-License-Identifier: Apache-2.0
// Kernels that only probes need: they make noise, stream memory, do a fixed piece of arithmetic, or nothing.
#pragma once
#include <cuda_runtime_api.h>

#include <cstdint>

namespace draftline::cuda {

// to[i] = noise(from + i) (probes/probe_data.h), rounded to T.
template <class T>
void fill_noise(T* to, std::int64_t n, std::uint64_t from, cudaStream_t);

// Stream memory in words of 16 bytes. read_memory writes the exclusive or of each block's words to
// result[read_blocks()].
int read_blocks(int multiprocessors);
void read_memory(const void* from, std::int64_t bytes, int multiprocessors, unsigned* result, cudaStream_t);
void copy_memory(const void* from, std::int64_t bytes, int multiprocessors, void* to, cudaStream_t);

// The clock reference: a chain of additions on every multiprocessor, whose time depends on the clock alone.
void run_clock_reference(int multiprocessors, float* result, cudaStream_t);
void run_nothing(cudaStream_t);

}  // namespace draftline::cuda
