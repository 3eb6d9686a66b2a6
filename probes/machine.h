// SPDX-License-Identifier: Apache-2.0
// What Linux says of this machine: the CPU's name, its caches and memory in bytes, its cores.
#pragma once
#include <string>

namespace draftline {

struct Machine {
  std::string cpu;  // its name
  double l1_cache = 0, l2_cache = 0, last_level_cache = 0, memory = 0;
  int cores = 1;
};
Machine this_machine();

}  // namespace draftline
