// SPDX-License-Identifier: Apache-2.0
#include "inputs/schema/fit_schema.h"

#include <algorithm>

namespace draftline::schema {

// A name has one meaning in all fits; docs/explanation/kernel_model.md has the formulas.
std::string meaning_of_coefficient(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 43> kMeanings{{
      {"fixed", "time of a kernel that is independent of its size"},
      {"peak_share", "share of the datasheet's rate of arithmetic that is reached"},
      {"bandwidth_share", "share of the datasheet's bandwidth that is reached"},
      {"write_share", "the same share for the rows' own keys and values, which are written and read again"},
      {"blend", "exponent that combines the times of arithmetic and of memory"},
      {"k_loop", "exposed latency of one CTA's loop over 1024 inputs"},
      {"l2_speed", "bandwidth of L2 over that of memory"},
      {"l2_share", "share of L2 that keeps data from one kernel to the next"},
      {"split", "time to join the splits of a product's inputs"},
      {"tile_half", "tile at which half the peak is reached"},
      {"output_cost", "cost of writing a result, in reads of memory"},
      {"latency", "latency of a tile"},
      {"wave_softness", "0: whole waves of CTAs; 1: partial waves cost their share"},
      {"per_unit", "least time of one row's CTA on its multiprocessor"},
      {"join", "time to split a context that is longer than a block of keys"},
      {"per_root_key", "time to read and join n split keys of a sequence, over the root of n"},
      {"per_key", "time per key if one CTA processes a whole context"},
      {"per_stage", "least time of 64 keys"},
      {"per_tile", "least time of a CTA, beyond that of one row"},
      {"per_tile_row", "time to store the result of a row of 128 columns"},
      {"per_part_row", "time to store a row's partial result for a part of a context"},
      {"per_part", "time to read one more part when parts are joined"},
      {"per_row", "time to write one row's keys and values"},
      {"row_cost", "gathering, scattering and joining activations, in reads of memory"},
      {"start", "time of a wave to load and store its heads' states"},
      {"chunk", "time of a chunk of a wave"},
      {"tile", "time per group of rows and panel"},
      {"step_1", "time of one input of a panel, for a group of 1 row"},
      {"step_2", "time of one input of a panel, for a group of 2 rows"},
      {"step_3", "time of one input of a panel, for a group of 3 rows"},
      {"step_4", "time of one input of a panel, for a group of 4 rows"},
      {"l2_byte", "time to load a byte from L2"},
      {"llc_byte", "time to load a byte from the last-level cache"},
      {"memory_byte", "time to load a byte from memory"},
      {"memory_stall", "time added to arithmetic on weights from memory, as a share of it"},
      {"cache_share", "share of L1 and L2 that holds recently accessed bytes"},
      {"llc_share", "share of the last-level cache, which other cores also use"},
      {"row", "time per query row of one head"},
      {"pair", "time per query row and key"},
      {"step", "time to add four lines"},
      {"llc_start", "time of a first line from the last-level cache"},
      {"memory_start", "time of a first line from memory"},
      {"element", "time of an element"},
  }};
  const auto found = std::ranges::find(kMeanings, name, [](const auto& m) { return m.first; });
  check(found != kMeanings.end(), "a coefficient without a meaning");
  return std::string(found->second);
}

}  // namespace draftline::schema
