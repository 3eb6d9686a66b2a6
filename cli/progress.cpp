// SPDX-License-Identifier: Apache-2.0
#include "cli/progress.h"

#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <memory>
#include <optional>

#include "cli/command.h"
#include "cli/interruptible.h"

namespace draftline::cli {

using namespace std::chrono_literals;

Progress::Progress(std::string what, std::size_t total) : what_(std::move(what)), total_(total), start_(Clock::now()) {
  if (is_terminal(STDERR_FILENO) && total_ > 0)
    drawing_ = std::jthread([this](const std::stop_token& stop) { draw_until(stop); });
}

Progress::~Progress() = default;

void Progress::at(std::size_t done, const std::string& waits_for) {
  done_ = done;
  if (!drawing_.joinable()) return;
  const std::lock_guard lock(mutex_);
  waits_for_ = waits_for;
}

void Progress::draw_until(const std::stop_token& stop) {
  constexpr auto kFirst = 800ms, kEach = 200ms;
  std::unique_lock lock(mutex_);
  const auto ended_within = [&](auto time) {
    return ended_.wait_for(lock, stop, time, [&] { return stop.stop_requested(); });
  };
  if (ended_within(kFirst)) return;
  do draw();
  while (!ended_within(kEach));
  std::fputs("\r\033[K", stderr);
}

void Progress::draw() {
  const double share = to_double(done_.load()) / to_double(total_);
  const double spent = std::chrono::duration<double>(Clock::now() - start_).count();
  constexpr int kBar = 24;
  const std::string bar(draftline::at(to_int(share * kBar)), '#');
  std::fprintf(stderr, "\r%s [%-*s] %3.0f %%, ", what_.c_str(), kBar, bar.c_str(), 100 * share);
  if (!waits_for_.empty()) std::fprintf(stderr, "waiting for %s\033[K", waits_for_.c_str());
  else if (share > 0) std::fprintf(stderr, "%.0f s left\033[K", spent / share - spent);
  else std::fprintf(stderr, "%.0f s so far\033[K", spent);
}

measure::Watcher watcher_with_bar(const std::string& title) {
  const auto bar = std::make_shared<std::optional<Progress>>();
  return {Interruptible::asked,
          [bar, title](std::size_t done, std::size_t all, const std::string& waits_for) {
            if (!*bar) bar->emplace(title, all);
            (*bar)->at(done, waits_for);
          },
          [bar](const std::string& sentence) {
            bar->reset();  // clears its line
            std::cerr << sentence << "\n";
          }};
}

}  // namespace draftline::cli
