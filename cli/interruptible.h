// SPDX-License-Identifier: Apache-2.0
// Handles Ctrl-C and the signals that end a session or job (SIGHUP, SIGTERM), so that long work can poll for them.
#pragma once
#include <unistd.h>

#include <array>
#include <atomic>
#include <csignal>
#include <string_view>

#include "cli/ranks.h"

namespace draftline::cli {

inline constexpr std::array kEndingSignals{SIGINT, SIGTERM, SIGHUP};

// The exit code of a program that a signal ended, by the convention of shells: 130 for Ctrl-C.
constexpr int exit_code_of_signal(int signal) { return 128 + signal; }

// Handles each of these signals by `act`, except those that the parent process set to be ignored (nohup, jobs in the
// background).
inline void on_ending_signals(void (*act)(int)) {
  for (const int signal : kEndingSignals)
    if (std::signal(signal, act) == SIG_IGN) std::signal(signal, SIG_IGN);
}

// While an object exists, the first such signal sets asked() instead of ending the program; the second signal ends it.
// With several ranks only Ctrl-C is handled, because mpirun ends remaining ranks with SIGTERM. Only one object may
// exist at a time.
class Interruptible {
 public:
  Interruptible() : signals_(launched().size > 1 ? 1 : kEndingSignals.size()) {
    for (std::size_t i = 0; i < signals_; ++i)
      if ((before_[i] = std::signal(kEndingSignals[i], ask)) == SIG_IGN) std::signal(kEndingSignals[i], SIG_IGN);
  }
  ~Interruptible() {
    for (std::size_t i = 0; i < signals_; ++i) std::signal(kEndingSignals[i], before_[i]);
  }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  static bool asked() { return asked_ != 0; }
  static int exit_code() { return exit_code_of_signal(asked() ? asked_.load() : SIGINT); }
  static void ask_too() { asked_ = SIGINT; }  // for Ctrl-C that another rank received
  // Handles Ctrl-C without an object, for ranks other than 0, which report it to rank 0 when they request work. If they
  // ended at once, mpirun would end all ranks and finished results would be lost.
  static void always_ask() {
    if (std::signal(SIGINT, ask) == SIG_IGN) std::signal(SIGINT, SIG_IGN);
  }

 private:
  static void ask(int signal) {
    asked_ = signal;
    for (const int other : kEndingSignals)
      if (std::signal(other, SIG_DFL) == SIG_IGN) std::signal(other, SIG_IGN);
    static constexpr std::string_view kSaid = "\nfinishing the work in progress; press Ctrl-C again to end at once\n";
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, kSaid.data(), kSaid.size());
  }
  static inline std::atomic<int> asked_ = 0;
  std::size_t signals_;
  std::array<void (*)(int), kEndingSignals.size()> before_{};
};

}  // namespace draftline::cli
