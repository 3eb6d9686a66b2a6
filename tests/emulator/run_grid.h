// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cuda_runtime.h>

namespace emulator {

// Runs `thread` for every thread of every block. Throws std::logic_error where a GPU would hang or be undefined.
void run_grid(dim3 grid, dim3 block, std::size_t shared_bytes, const std::function<void()>& thread);

}  // namespace emulator
