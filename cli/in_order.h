// SPDX-License-Identifier: Apache-2.0
// Independent pieces of work on several threads, their results taken in order, so that the output does not depend on the
// number of threads. Ctrl-C ends it after the pieces in progress; what is finished is kept.
#pragma once
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

namespace draftline::cli {

// While one lives, Ctrl-C asks instead of killing; the second one kills.
class Interruptible {
 public:
  Interruptible() : before_(std::signal(SIGINT, ask)) { asked_ = false; }
  ~Interruptible() { std::signal(SIGINT, before_); }
  Interruptible(const Interruptible&) = delete;
  Interruptible& operator=(const Interruptible&) = delete;
  static bool asked() { return asked_; }

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

// Workers are made as they are needed and shared by nobody at a time; `first` is one of them, if given. Returns how many
// pieces were taken: all of [from, to), or fewer if interrupted.
template <class Worker, class Make, class Work, class Take>
std::size_t in_order(int jobs, std::size_t from, std::size_t to, std::shared_ptr<Worker> first, Make make, Work work,
                     Take take) {
  std::mutex mutex;
  std::vector<std::shared_ptr<Worker>> idle;
  if (first) idle.push_back(std::move(first));
  const auto at = [&](std::size_t i) {
    std::shared_ptr<Worker> worker;
    {
      const std::lock_guard lock(mutex);
      if (!idle.empty()) {
        worker = std::move(idle.back());
        idle.pop_back();
      }
    }
    if (!worker) worker = make();
    auto result = std::make_shared<decltype(work(*worker, i))>(work(*worker, i));
    const std::lock_guard lock(mutex);
    idle.push_back(std::move(worker));
    return result;
  };
  using Result = decltype(at(from));
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(jobs));
  std::size_t next = from, taken = 0;
  const auto give = [&](tbb::flow_control& flow) -> std::size_t {
    if (next >= to || Interruptible::asked()) flow.stop();
    return next++;
  };
  tbb::parallel_pipeline(static_cast<std::size_t>(2 * jobs),
                         tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, give) &
                             tbb::make_filter<std::size_t, Result>(tbb::filter_mode::parallel, at) &
                             tbb::make_filter<Result, void>(tbb::filter_mode::serial_in_order, [&](const Result& r) {
                               take(*r);
                               ++taken;
                             }));
  return taken;
}

}  // namespace draftline::cli
