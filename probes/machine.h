// SPDX-License-Identifier: Apache-2.0
// This machine's CPU, caches, memory and cores, as Linux reports them. Sizes in bytes.
#pragma once
#include <string>

namespace draftline {

struct Machine {
  std::string cpu;  // the CPU's name
  double l1_cache = 0, l2_cache = 0, last_level_cache = 0, memory = 0;
  int cores = 1;
};
Machine this_machine();

}  // namespace draftline
