// SPDX-License-Identifier: Apache-2.0
// The probes of ops on CUDA, one file for each kind: each op is verified against plain double arithmetic, then timed
// within about `time_budget`. A point that can't run has the reason in `skipped`.
#pragma once
#include "probes/cuda/timer.h"

namespace draftline {

void probe_gemm(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_attention(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_latent_attention(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_experts(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_elementwise(CudaTimer&, MeasuredPoint&, Seconds time_budget);  // add, silu_mul, rms_norm
void probe_rope_append(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_argmax(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_top_k(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_sample(CudaTimer&, MeasuredPoint&, Seconds time_budget);
void probe_memory(CudaTimer&, MeasuredPoint&, Seconds time_budget);    // read, copy
void probe_transfer(CudaTimer&, MeasuredPoint&, Seconds time_budget);  // upload, read_back
void probe_launches(CudaTimer&, MeasuredPoint&, Seconds time_budget);  // launch, graph, synchronise
// Device time of a kernel in a series, launched one by one or as nodes of a graph; the difference is the graph's
// credit.
void probe_credit(CudaTimer&, MeasuredPoint&, Seconds time_budget);

}  // namespace draftline
