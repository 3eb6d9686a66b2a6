# SPDX-License-Identifier: Apache-2.0
# The CUDA backend's files: nvcc compiles the kernels, or the emulator of tests/emulator all of them as plain C++.
set(draftline_cuda_kernels
  attention.cu
  choose.cu
  elementwise.cu
  experts.cu
  few_rows.cu
  force.cu
  idle.cu
  movement.cu
  norm.cu
  random_fill.cu
  sample.cu
  trees.cu
  verify.cu
)
set(draftline_cuda_host
  backend.cpp
  blas.cpp
  clock.cpp
  device.cpp
  library.cpp
  load_weights.cpp
  product_choices.cpp
  run_ops.cpp
)
