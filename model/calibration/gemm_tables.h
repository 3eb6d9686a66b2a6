// SPDX-License-Identifier: Apache-2.0
// GEMM times measured by others: the CSV tables of aiconfigurator (gemm.csv; milliseconds), rows of one operand format.
// Its collector times whole linear layers: with 8- or 4-bit operands the pass that quantises the activations is in the
// time.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "core/csv.h"
#include "model/calibration/kernel_fit.h"
#include "model/calibration/left_out.h"

namespace draftline {

// Copies of the weights that its collectors of GEMMs rotate through, but for TensorRT-LLM's and some formats of vLLM's.
inline constexpr int kCollectorCopies = 6;

struct GemmTable {
  // In the domain of the kernel model: up to 1024 rows, 1024 to 65536 outputs, 1024 to 16384 inputs.
  std::vector<GemmPoint> points;
  int host_bound = 0;  // rows left out: launched one by one, and not three times longer than the host takes to do so
  int outside = 0;     // ... outside of the domain
};
// Rows of this format; none: of 16 bits. `l2`: of the device; TensorRT-LLM's layers are rotated until they fill it, or
// five times.
GemmTable read_gemm_table(const Csv&, std::optional<NarrowFormat> = {}, std::optional<Bytes> l2 = {});

// Does a table call this format so? "bfloat16" and "float16" are 16 bits.
bool is_called(std::optional<NarrowFormat>, std::string_view in_table);

// Notes the rows whose format, in this column, has no fit, or is one in which the datasheet has no rate.
void leave_out_formats(const Csv&, std::string_view column, const Device& datasheet, LeftOut&);
// Formats in which the datasheet has a rate; rows of others are a library's that widens them.
bool has_rate(const Device& datasheet, NarrowFormat);

}  // namespace draftline
