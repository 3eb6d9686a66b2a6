// SPDX-License-Identifier: Apache-2.0
#include "inputs/axes.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace draftline {

namespace {

// The depth of lists that a single value of this key has.
int natural_depth(const std::string& key) {
  if (key == "rates" || key == "per_position" || key == "table" || key == "widths" || key == "rank_acceptance" ||
      key == "skip_attention" || key == "skip_mlp")
    return 1;
  return key == "nodes" || key == "ranks" || key == "num_speculative_tokens_per_batch_size" ? 2 : 0;
}
int list_depth(const nlohmann::json& j) { return j.is_array() ? 1 + (j.empty() ? 0 : list_depth(j.front())) : 0; }

bool sweeps(const std::string& key, const nlohmann::json& list) {
  const int depth = list_depth(list);
  return depth > natural_depth(key) || (key == "nodes" && depth == 1);  // "nodes" is a count or a list of paths
}

}  // namespace

void find_axes(const Reader& in, const std::string& key, std::vector<Axis>& axes) {
  if (in.is_array() && sweeps(key, in.json())) {
    const auto refuse_empty = [](const Reader& list) {
      if (list.size() == 0) list.fail("is an empty list, so that there is nothing to run");
    };
    refuse_empty(in);
    if (natural_depth(key) == 0)
      for (const Reader& item : in.items())
        if (item.is_array()) refuse_empty(item);
    if (in.size() > 0) axes.push_back({key, in});
  } else if (in.is_object()) {
    for (const auto& [k, value] : in.peek_entries()) find_axes(value, k, axes);
  }
}

std::size_t combinations(const std::vector<Axis>& axes) {
  std::size_t count = 1;
  for (const Axis& axis : axes) count = std::min(count * axis.list.size(), kMostChoices + 1);
  return count;
}

std::vector<Reader::Choice> combination(const std::vector<Axis>& axes, std::size_t index) {
  std::vector<Reader::Choice> choices;
  for (std::size_t a = axes.size(); a-- > 0;) {  // the last list varies fastest
    const std::size_t n = axes[a].list.size();
    choices.push_back({axes[a].list, index % n});
    index /= n;
  }
  return choices;
}

}  // namespace draftline
