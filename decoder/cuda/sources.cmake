# SPDX-License-Identifier: Apache-2.0
# The CUDA backend's files: nvcc compiles the kernels, or the emulator of tests/emulator all of them as plain C++.
set(draftline_cuda_kernels
  attention/attention.cu
  sampling/choose.cu
  elementwise/elementwise.cu
  experts/experts.cu
  gemm/few_rows.cu
  runtime/idle.cu
  cache/movement.cu
  cache/rings.cu
  elementwise/norm.cu
  recurrence/delta_net.cu
  runtime/random_fill.cu
  sampling/sample.cu
  sampling/trees.cu
  sampling/verify.cu
)
set(draftline_cuda_host
  runtime/backend.cpp
  gemm/blas.cpp
  runtime/clock.cpp
  runtime/device.cpp
  runtime/library.cpp
  runtime/load_weights.cpp
  gemm/product_choices.cpp
  runtime/run_ops.cpp
)
