// SPDX-License-Identifier: Apache-2.0
// How the rows of a pass spread over the experts of a mixture. It decides how many experts' weights are read and how
// many tiles their grouped GEMMs have, and so what the layer costs (docs/kernel_model.md, "Experts").
#pragma once
#include <array>
#include <optional>
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
  std::array<double, kExpertTileRows.size()> tiles{};  // of each height, over all experts
};

// Of known rows of each expert.
ExpertLoad load_of(std::span<const int> rows_of_experts);

// Expected on the busiest device, by experts_touched (model/work.h). The experts touched share the rows about evenly,
// so that a tile more is begun for half of its rows on average. More rows never have fewer tiles.
ExpertLoad expected_load(const ExpertMlp&);

// Rows of each expert in tables of measured layers: a distribution is made, not drawn, so that a layer has one load.
enum class ExpertDistribution { balanced, power_law };
// `exponent`: of the density of an expert's rows, which lie between 1 and 0.8 x rows, or, where there are fewer choices
// than experts, between 0.01 and 2, before they are scaled to rows x per_token in all; none exceeds `rows`. Not 1.
std::vector<int> rows_of_experts(ExpertDistribution, int rows, int experts, int per_token, double exponent = 0);

// On how many of so many devices a row's experts lie, each device with whole experts, one after another and as even a
// number as may be. The mean over rows whose experts come in any order: the row's groups are those that come first, its
// experts the first of these groups. That is DeepSeek-V2's rule, a group being as good as its best expert; by the sum
// of the two best, DeepSeek-V3's, a row reaches about as many (tests/model/expert_load_test.cpp).
double devices_of_row(const Experts&, int devices);

// The share of a row's choices that repeat the previous row's, beyond what independent draws repeat, of the share that
// was counted: (shared - k/E) / (1 - k/E).
double overlap_of(double shared, int experts, int per_token);

// The overlap with which rows of so many sequences touch so many experts (experts_touched, turned round); none where no
// number of draws does: fewer than one row's, or all.
std::optional<double> overlap_of_touched(double touched, int sequences, int rows, int experts, int per_token);

}  // namespace draftline
