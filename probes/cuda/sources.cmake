# SPDX-License-Identifier: Apache-2.0
# The CUDA probes' files: nvcc compiles the kernels, or the emulator of tests/emulator all of them as plain C++.
set(draftline_cuda_probe_kernels kernels.cu)
set(draftline_cuda_probe_host
  all_reduce.cpp
  attention.cpp
  clock_watch.cpp
  decoder.cpp
  elementwise.cpp
  experts.cpp
  gemm.cpp
  latent_attention.cpp
  launches.cpp
  memory.cpp
  nccl.cpp
  nvml.cpp
  timer.cpp
  tokens.cpp
)
