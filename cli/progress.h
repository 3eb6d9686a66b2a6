// SPDX-License-Identifier: Apache-2.0
// A progress bar on standard error. It is shown only on a terminal, and only after two seconds.
#pragma once
#include <chrono>
#include <string>

namespace draftline::cli {

class Progress {
 public:
  Progress(std::string what, std::size_t total);
  ~Progress();  // clears the line
  // Shows `done` of the total, and the time left or, if given, what the work waits for.
  void at(std::size_t done, const std::string& waits_for = {});

 private:
  using Clock = std::chrono::steady_clock;
  std::string what_;
  std::size_t total_;
  bool terminal_, shown_ = false;
  Clock::time_point start_, last_;
};

}  // namespace draftline::cli
