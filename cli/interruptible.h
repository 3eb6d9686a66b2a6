// SPDX-License-Identifier: Apache-2.0
// Ctrl-C as a question that long work asks between its pieces.
#pragma once
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <string_view>

namespace draftline::cli {

// While one lives, Ctrl-C asks instead of killing; the second one kills.
class Interruptible {
 public:
  Interruptible() : before_(std::signal(SIGINT, ask)) { asked_ = false; }
  ~Interruptible() { std::signal(SIGINT, before_); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  static bool asked() { return asked_; }
  static void ask_too() { asked_ = true; }  // Ctrl-C reached another rank

 private:
  static void ask(int) {
    asked_ = true;
    std::signal(SIGINT, SIG_DFL);
    static constexpr std::string_view kSaid = "\nfinishing what is begun; Ctrl-C again ends at once\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kSaid.data(), kSaid.size());
  }
  static inline std::atomic<bool> asked_ = false;
  void (*before_)(int);
};

}  // namespace draftline::cli
