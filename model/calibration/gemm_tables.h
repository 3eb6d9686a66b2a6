// SPDX-License-Identifier: Apache-2.0
// GEMM times measured by others: the CSV tables of aiconfigurator (gemm.csv; milliseconds), rows of one operand format.
// Its collector times whole linear layers: with 8- or 4-bit operands the pass that quantises the activations is in the
// time.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "core/csv.h"
#include "model/calibration/excluded_rows.h"
#include "model/calibration/kernel_fit.h"

namespace draftline {

// The copies of the weights that aiconfigurator's collectors of GEMMs rotate through, except TensorRT-LLM's and those
// of some formats of vLLM.
inline constexpr int kCollectorCopies = 6;

struct GemmTable {
  // The points in the kernel model's domain: up to 1024 rows, 1024 to 65536 outputs, 1024 to 16384 inputs.
  std::vector<GemmPoint> points;
  int host_bound = 0;  // rows left out: launched one by one, and not three times longer than the host takes to do so
  int outside = 0;     // ... outside of the domain
};
// Reads the rows of this format; none: of 16 bits. `l2`: the size of the device's L2. TensorRT-LLM's collector rotates
// through so many copies of a layer as fill it, five at most.
GemmTable read_gemm_table(const Csv&, std::optional<NarrowFormat> = {}, std::optional<Bytes> l2 = {});

// Whether a table calls this format so. "bfloat16" and "float16" are 16 bits.
bool is_called(std::optional<NarrowFormat>, std::string_view in_table);

// Notes the rows whose format, in this column, has no fit, or is one in which the datasheet has no rate.
void exclude_formats(const Csv&, std::string_view column, const Device& datasheet, ExcludedRows&);
// Whether the datasheet has a rate in this format. Rows of other formats are those of a library that widens them.
bool has_rate(const Device& datasheet, NarrowFormat);

}  // namespace draftline
