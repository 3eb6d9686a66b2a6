// SPDX-License-Identifier: Apache-2.0
#include "predict/setup_warnings.h"

namespace draftline {

namespace {

std::string not_measured(const AttentionChoice& attention) {
  if (attention.measured) return "";
  return "the library that computes the engine's attention was not measured on the device over such a cache: the "
         "nearest "
         "that was stands in for it";
}

// Engines refuse a checkpoint whose blocks of one scale would lie on two ranks.
std::string divided_blocks(const Setup& s) {
  const LinearFormat& format = s.precision.experts;
  if (!s.transformer->experts || s.parallel.expert_parallel || format.scaling() != Scaling::blocks) return "";
  const int columns = s.transformer->experts->intermediate, ranks = s.parallel.devices, block = format.scales.outputs;
  if (columns % (ranks * block) == 0) return "";
  return "engines refuse to load this: the " + std::to_string(columns) + " columns of an expert over " +
         std::to_string(ranks) + " ranks are no multiples of the " + std::to_string(block) +
         " that share a scale; \"expert_parallel\": true or fewer ranks leave them whole";
}

}  // namespace

std::vector<std::string> setup_warnings(const Setup& s, const AttentionChoice& attention) {
  std::vector<std::string> all{not_measured(attention), divided_blocks(s)};
  std::erase(all, "");
  return all;
}

}  // namespace draftline
