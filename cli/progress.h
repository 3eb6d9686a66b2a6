// SPDX-License-Identifier: Apache-2.0
// A progress bar on standard error. It is shown only on a terminal, after the first second, and is also updated while
// one piece of work takes long.
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "measure/watcher.h"

namespace draftline::cli {

class Progress {
 public:
  Progress(std::string what, std::size_t total);
  ~Progress();  // clears the line
  // Shows `done` of the total, with the time left or, if given, the cause of waiting. May be called by any thread.
  void at(std::size_t done, const std::string& waits_for = {});

 private:
  using Clock = std::chrono::steady_clock;
  void draw_until(const std::stop_token&);
  void draw();

  std::string what_;
  std::size_t total_;
  Clock::time_point start_;
  std::atomic<std::size_t> done_ = 0;
  std::mutex mutex_;
  std::string waits_for_;  // guarded by the mutex
  std::condition_variable_any ended_;
  std::jthread drawing_;  // none unless standard error is a terminal
};

// Shows progress as a bar, handles Ctrl-C and prints messages on standard error.
measure::Watcher watcher_with_bar(const std::string& title);

}  // namespace draftline::cli
