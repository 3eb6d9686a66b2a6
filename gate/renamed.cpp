// SPDX-License-Identifier: Apache-2.0
#include "gate/renamed.h"

#include <array>
#include <utility>

namespace draftline::gate {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 13> kRenamed{{
    {"breakdown.host", "breakdown.cpu"},
    {"busy_share", "utilization"},
    {"host_share", "cpu_share"},
    {"kv_share", "kv_utilization"},
    {"kv_share_peak", "kv_utilization_peak"},
    {"acceptance_length_needed", "break_even_acceptance_length"},
    {"losses.products", "losses.gemm"},
    {"losses.host", "losses.cpu"},
    {"set_apart", "excluded"},
    // Lists of a scenario, which identify its points.
    {"max_batch_size", "max_num_seqs"},
    {"max_batched_tokens", "max_num_batched_tokens"},
    {"memory_share", "gpu_memory_utilization"},
    {"variation", "cv"},
}};

// The position of `part` as whole segments of a path, possibly followed by a number " #2".
std::size_t find_segments(std::string_view path, std::string_view part) {
  const auto ends = [&](std::size_t at) { return at == path.size() || path[at] == '.' || path[at] == ' '; };
  for (std::size_t at = path.find(part); at != std::string_view::npos; at = path.find(part, at + 1))
    if ((at == 0 || path[at - 1] == '.') && ends(at + part.size())) return at;
  return std::string_view::npos;
}

}  // namespace

std::string current_name(std::string_view name) {
  for (const auto& [was, is] : kRenamed)
    if (const std::size_t at = find_segments(name, was); at != std::string_view::npos)
      return std::string(name.substr(0, at)).append(is).append(name.substr(at + was.size()));
  return std::string(name);
}

}  // namespace draftline::gate
