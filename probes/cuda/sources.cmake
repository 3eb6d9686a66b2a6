# SPDX-License-Identifier: Apache-2.0
# The CUDA probes' files: nvcc compiles the kernels, or the emulator of tests/emulator all of them as plain C++.
set(draftline_cuda_probe_kernels kernels.cu)
set(draftline_cuda_probe_host
  all_reduce.cpp
  attention_probe.cpp
  clock_watch.cpp
  decoder.cpp
  elementwise_probe.cpp
  experts_probe.cpp
  gemm_probe.cpp
  latent_attention_probe.cpp
  launches_probe.cpp
  memory_probe.cpp
  nccl.cpp
  nvml.cpp
  timer.cpp
  tokens_probe.cpp
)
