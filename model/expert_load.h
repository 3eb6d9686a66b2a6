// SPDX-License-Identifier: Apache-2.0
// How the rows of a pass spread over the experts of a mixture. It decides how many experts' weights are read and how
// many tiles their grouped GEMMs have, and so what the layer costs (docs/explanation/kernel_model.md, "Experts").
#pragma once
#include <array>
#include <span>
#include <vector>

#include "model/transformers/transformer_shape.h"
#include "model/work.h"

namespace draftline {

// Rows of a tile of a grouped GEMM: every expert's rows are padded to a multiple of one of these.
inline constexpr std::array kExpertTileRows{16, 32, 64, 128};

struct ExpertLoad {
  double touched = 0;                                  // experts with at least one row
  double choices = 0;                                  // rows of all experts: rows x per_token
  double padding = 0;                                  // further rows, with which an engine pads those of each expert
  std::array<double, kExpertTileRows.size()> tiles{};  // of each height, over all experts
};

// The load if the experts have these numbers of rows.
ExpertLoad load_of(std::span<const int> rows_of_experts);

// The expected load of the busiest device (busiest_experts_touched and busiest_expert_rows, model/work.h). The experts
// touched share the rows about evenly, so on average each has half a tile more than its rows fill. More rows never have
// fewer tiles. Where an engine pads the rows of each expert to a multiple, its host does not know how many there are,
// and the kernels have as many as there may be: the choices, and for each expert a multiple less one.
ExpertLoad expected_load(const ExpertMlp&);

// Rows of each expert in tables of measured layers: a distribution is made, not drawn, so that a layer has one load.
enum class ExpertDistribution { balanced, power_law };
// `exponent`: of the density of an expert's rows, which lie between 1 and 0.8 x rows, or, where there are fewer choices
// than experts, between 0.01 and 2, before they are scaled to rows x per_token in all; none exceeds `rows`. Not 1.
std::vector<int> rows_of_experts(ExpertDistribution, int rows, int experts, int per_token, double exponent = 0);

// The number of devices that have experts of a row, out of `devices`. Each device has whole experts, one after another,
// and as even a number of them as may be. It is the mean over rows whose experts come in any order: the row's groups
// are those that come first in it, and its experts are the first of these groups. That is DeepSeek-V2's rule, where a
// group is as good as its best expert. By DeepSeek-V3's rule, where a group is as good as the sum of its two best, a
// row reaches about as many devices (tests/model/expert_load_test.cpp).
double devices_of_row(const Experts&, int devices);

}  // namespace draftline
