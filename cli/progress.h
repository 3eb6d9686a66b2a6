// SPDX-License-Identifier: Apache-2.0
// A progress bar on standard error: only on a terminal, and only for what takes over two seconds.
#pragma once
#include <chrono>
#include <string>

namespace draftline::cli {

class Progress {
 public:
  Progress(std::string what, std::size_t total);
  ~Progress();                                                   // clears the line
  void at(std::size_t done, const std::string& waits_for = {});  // what it waits for: in place of the time left

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  std::size_t total_;
  bool terminal_, shown_ = false;
  Clock::time_point start_, last_;
};

}  // namespace draftline::cli
