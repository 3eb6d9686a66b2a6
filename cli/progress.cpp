// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>

namespace draftline::cli {

using namespace std::chrono_literals;

Progress::Progress(std::string what, std::size_t total)
    : what_(std::move(what)),
      total_(total),
      terminal_(isatty(STDERR_FILENO) != 0),
      start_(Clock::now()),
      last_(start_) {}

Progress::~Progress() {
  if (shown_) std::fputs("\r\033[K", stderr);
}

void Progress::at(std::size_t done, const std::string& waits_for) {
  if (!terminal_ || total_ == 0) return;
  const auto now = Clock::now();
  if (now - start_ < 2s || now - last_ < 100ms) return;
  last_ = now;
  shown_ = true;
  const double share = static_cast<double>(done) / static_cast<double>(total_);
  const double spent = std::chrono::duration<double>(now - start_).count();
  constexpr int kBar = 24;
  const std::string bar(static_cast<std::size_t>(share * kBar), '#');
  std::fprintf(stderr, "\r%s [%-*s] %3.0f %%, ", what_.c_str(), kBar, bar.c_str(), 100 * share);
  if (waits_for.empty()) std::fprintf(stderr, "%.0f s left\033[K", share > 0 ? spent / share - spent : 0.0);
  else std::fprintf(stderr, "waiting for %s\033[K", waits_for.c_str());
}

}  // namespace draftline::cli
