// SPDX-License-Identifier: Apache-2.0
// How a layer rotates its queries and keys (rope, Su et al. 2021), according to config.json; decoder/rope computes the
// angles.
#pragma once
#include <optional>
#include <vector>

namespace draftline {

// Rope whose frequencies are stretched for a longer context.
struct RopeScaling {
  enum class Kind { linear, llama3, yarn, longrope, proportional } kind = Kind::linear;
  double factor = 1, low_frequency_factor = 1, high_frequency_factor = 4;
  int original_context = 8192;
  // YaRN (Peng et al. 2023): a wave with more than beta_fast turns in the original context is kept; a wave with fewer
  // than beta_slow is stretched.
  double beta_fast = 32, beta_slow = 1;
  bool whole_columns = true;  // YaRN: the columns of these two limits are rounded ("truncate")
  std::vector<double> short_factors = {}, long_factors = {};  // longrope: one per pair of columns
  bool long_text = false;                                     // longrope: the long factors apply
  double attention_factor = 1;                                // factor on sines and cosines
  double turned = 1;  // proportional: the share of the waves, from the shortest on, that turn (Gemma 4)
  bool operator==(const RopeScaling&) const = default;
};

// Queries are multiplied by 1 + scale ln(1 + floor((position + offset) / every)), in layers without rope (Llama 4) or
// in layers with rope (Ministral 3).
struct QueryGrowth {
  double every = 8192, scale = 0.1;
  int offset = 1;
  bool rotated = false;
  bool operator==(const QueryGrowth&) const = default;
};

struct Rope {
  double theta = 10000;
  int columns = 0;  // the first columns of a head, which are rotated; the others are not rotated
  std::optional<RopeScaling> scaling = {};
  std::optional<QueryGrowth> growth = {};
  bool operator==(const Rope&) const = default;
};

}  // namespace draftline
