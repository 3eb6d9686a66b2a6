// SPDX-License-Identifier: Apache-2.0
// Kernel times measured by others: attention of the CSV tables of aiconfigurator (milliseconds), 128 columns a head, no
// window, caches of bf16 or fp8 beside activations of bf16, each library apart; and step tables. Its GEMMs are
// gemm_tables'.
#pragma once
#include <vector>

#include "core/csv.h"
#include "model/kernel_fit.h"
#include "model/left_out.h"
#include "model/transformer_shape.h"

namespace draftline {

// Heads are those of one rank, whatever the tensor parallelism that the table may name (`tp_size`).
std::vector<AttentionPoint> read_decode_table(const Csv&, LeftOut&);
// Rows of a library that has but a few heads' widths are left out: Triton's. Prompts of one token are left out too: the
// library sends them to its decode kernel.
std::vector<AttentionPoint> read_prefill_table(const Csv&, LeftOut&);

// Latent attention, absorbed, of the table of whole modules: a module's time beyond that of the same module with hardly
// a context, which takes its projections away, and what the device's fit of other attention says of such a launch. The
// tables of the attention call alone are not used: below 0.2 ms they hold what the host takes to launch it, 0.1 to 0.17
// ms whatever the work, without order in it.
std::vector<AttentionPoint> read_latent_decode_table(const Csv&, const Device&, LeftOut&);
// Prompts, of the table of attention calls, from 0.3 ms on, as shorter ones are the host's: absorbed up to 512 rows,
// expanded beyond, less what the device's fit says of the products that the call holds for it.
std::vector<AttentionPoint> read_latent_prefill_table(const Csv&, const Device&, LeftOut&);

// Step tables of LLMServingSim (microseconds): the four products of a layer of one network, and attention of decode
// alone or of a chunk of a prompt alone, by FlashAttention 2; mixed steps are left out. Its weights are cold. The shape
// is one rank's.
inline constexpr int kColdCopies = 1000;
std::vector<GemmPoint> read_step_gemms(const Csv&, const TransformerShape&, LeftOut&);
std::vector<AttentionPoint> read_step_attention(const Csv&, const TransformerShape&, LeftOut&);

}  // namespace draftline
