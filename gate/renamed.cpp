// SPDX-License-Identifier: Apache-2.0
#include "gate/renamed.h"

#include <array>
#include <utility>
#include <vector>

#include "reports/figure_lists.h"

namespace draftline::gate {

namespace {

// Lists of a scenario, which identify its points.
constexpr std::array<std::pair<const char*, const char*>, 4> kRenamedKeys{
    {{"max_batch_size", "max_num_seqs"},
     {"max_batched_tokens", "max_num_batched_tokens"},
     {"memory_share", "gpu_memory_utilization"},
     {"variation", "cv"}}};

using Names = std::vector<std::pair<std::string, std::string>>;
const Names& renamed() {
  static const Names all = [] {
    Names names = renamed_figures();
    names.insert(names.end(), kRenamedKeys.begin(), kRenamedKeys.end());
    return names;
  }();
  return all;
}

// The position of `part` as whole segments of a path, possibly followed by a number " #2".
std::size_t find_segments(std::string_view path, std::string_view part) {
  const auto ends = [&](std::size_t at) { return at == path.size() || path[at] == '.' || path[at] == ' '; };
  for (std::size_t at = path.find(part); at != std::string_view::npos; at = path.find(part, at + 1))
    if ((at == 0 || path[at - 1] == '.') && ends(at + part.size())) return at;
  return std::string_view::npos;
}

}  // namespace

std::string current_name(std::string_view name) {
  for (const auto& [was, is] : renamed())
    if (const std::size_t at = find_segments(name, was); at != std::string_view::npos)
      return std::string(name.substr(0, at)).append(is).append(name.substr(at + was.size()));
  return std::string(name);
}

}  // namespace draftline::gate
