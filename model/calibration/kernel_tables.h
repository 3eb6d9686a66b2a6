// SPDX-License-Identifier: Apache-2.0
// Kernel times measured by others: attention of the CSV tables of aiconfigurator (milliseconds), 128 columns a head, no
// window, caches of bf16 or fp8 beside activations of bf16, each library apart; and step tables. Its GEMMs are
// gemm_tables'.
#pragma once
#include <vector>

#include "core/csv.h"
#include "model/calibration/excluded_rows.h"
#include "model/calibration/kernel_fit.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

// Heads are those of one rank, whatever the tensor parallelism that the table may name (`tp_size`).
std::vector<AttentionPoint> read_decode_table(const Csv&, ExcludedRows&);
// Rows of a library that has but a few heads' widths are left out: Triton's. Prompts of one token are left out too: the
// library sends them to its decode kernel.
std::vector<AttentionPoint> read_prefill_table(const Csv&, ExcludedRows&);

// Absorbed latent attention with the columns of DeepSeek-V3, from a table of whole modules, for decoding or for
// prompts. The time of a module's projections is taken away: it is that of the same module with as many rows but hardly
// a context, one row for each of as many sequences, less what the device's fit of other attention says of that launch's
// attention. Prompts of more than 128 rows, of all sequences, are left out. Attention calls are timed apart too, but
// whatever takes less than 0.2 ms has there the time of the host that launches it, 0.1 to 0.17 ms in no order.
std::vector<AttentionPoint> read_absorbed_modules(const Csv&, const Device&, ExcludedRows&);
// Latent attention of prompts, from a table of attention calls, less what the device's fit says of the products that a
// call holds. Calls are absorbed up to 512 rows, and used from 1 ms on; beyond they are expanded, and used from 0.3 ms
// on.
std::vector<AttentionPoint> read_latent_prompts(const Csv&, const Device&, ExcludedRows&);

// Step tables of LLMServingSim (microseconds): the four products of a layer of one network, and attention of decode
// alone or of a chunk of a prompt alone, by FlashAttention 2; mixed steps are left out. Its weights are cold. The shape
// is one rank's.
inline constexpr int kColdCopies = 1000;
std::vector<GemmPoint> read_step_gemms(const Csv&, const TransformerShape&, ExcludedRows&);
std::vector<AttentionPoint> read_step_attention(const Csv&, const TransformerShape&, ExcludedRows&);

}  // namespace draftline
