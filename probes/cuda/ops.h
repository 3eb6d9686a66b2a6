// SPDX-License-Identifier: Apache-2.0
// The ops that are probed on CUDA, one file for each kind: verified against plain double arithmetic, then timed. A point that
// can't run gets its reason.
#pragma once
#include "probes/cuda/timer.h"

namespace draftline {

void probe_gemm(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_attention(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_elementwise(CudaTimer&, MeasuredPoint&, Seconds time_budget);  // add, silu_mul, rms_norm
void probe_rope_append(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_argmax(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_top_k(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_sample(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_memory(CudaTimer&, MeasuredPoint&, Seconds time_budget);    // read, copy
void probe_transfer(CudaTimer&, MeasuredPoint&, Seconds time_budget);  // upload, read_back
void probe_launches(CudaTimer&, MeasuredPoint&, Seconds time_budget);  // launch, graph, synchronise
// Device time of a kernel among others: launched one by one, and as nodes of a graph. Their difference is the graph's credit.
void probe_credit(CudaTimer&, MeasuredPoint&, Seconds time_budget);

}  // namespace draftline
