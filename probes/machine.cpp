// SPDX-License-Identifier: Apache-2.0
#include "probes/machine.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <thread>

namespace draftline {

// The value in a file's line "name : value"; empty if there is no such line.
static std::string value_of(const char* file, const std::string& name) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    const auto colon = line.find(':');
    if (colon == std::string::npos || line.compare(0, name.size(), name) != 0) continue;
    const auto from = line.find_first_not_of(" \t", colon + 1);
    return from == std::string::npos ? "" : line.substr(from);
  }
  return "";
}

Machine this_machine() {
  const std::map<int, double> kUsualCaches{{1, 32 << 10}, {2, 1 << 20}, {3, 8 << 20}};  // if Linux reports none
  Machine m;
  m.cpu = value_of("/proc/cpuinfo", "model name");
  if (m.cpu.empty()) m.cpu = "a CPU without a name";
  const std::string kilobytes = value_of("/proc/meminfo", "MemTotal");
  m.memory = kilobytes.empty() ? 0 : 1024 * std::strtod(kilobytes.c_str(), nullptr);
  m.cores = std::max(1, to_int(std::thread::hardware_concurrency()));
  std::map<int, double> caches;  // sizes of data caches by level
  for (int index = 0; index < 8; ++index) {
    const std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/";
    std::ifstream size_file(folder + "size"), level_file(folder + "level"), type_file(folder + "type");
    double size = 0;
    int level = 0;
    char unit = 0;
    std::string type;
    if (size_file >> size >> unit && level_file >> level && type_file >> type && type != "Instruction")
      caches[level] = size * (unit == 'M' ? 1 << 20 : 1 << 10);
  }
  if (caches.empty()) caches = kUsualCaches;
  m.l1_cache = caches.begin()->second;
  m.last_level_cache = caches.rbegin()->second;
  m.l2_cache = caches.size() > 2 ? std::next(caches.begin())->second : m.last_level_cache;
  return m;
}

}  // namespace draftline
