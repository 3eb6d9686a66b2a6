// SPDX-License-Identifier: Apache-2.0
// The observer of a long measurement, which receives its progress and decides whether it continues. The program shows a
// progress bar and handles Ctrl-C; the default does nothing.
#pragma once
#include <cstddef>
#include <functional>
#include <string>

namespace draftline::measure {

struct Watcher {
  std::function<bool()> interrupted = [] { return false; };
  std::function<void(std::size_t done, std::size_t all, const std::string& waits_for)> progress =
      [](std::size_t, std::size_t, const std::string&) {};
  std::function<void(const std::string& sentence)> say = [](const std::string&) {};
};

}  // namespace draftline::measure
