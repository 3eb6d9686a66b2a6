// SPDX-License-Identifier: Apache-2.0
// What Linux says of this machine: the processor's name, its caches and memory in bytes, its cores.
#pragma once
#include <string>

namespace draftline {

struct Machine {
  std::string processor;
  double first_cache = 0, second_cache = 0, last_cache = 0, memory = 0;
  int cores = 1;
};
Machine this_machine();

}  // namespace draftline
