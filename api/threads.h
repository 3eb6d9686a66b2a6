// SPDX-License-Identifier: Apache-2.0
// Runs pieces of work on several threads (oneTBB).
#pragma once
#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "api/executor.h"

namespace draftline {

// Hands out pieces by their numbers, one at a time, to any thread.
class WorkQueue {
 public:
  explicit WorkQueue(std::size_t size, std::function<bool()> stopped = {})
      : size_(size), asked_to_stop_(std::move(stopped)) {}
  std::optional<std::size_t> next();  // none after the last piece, after stop(), and once `stopped()` is true
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

 private:
  std::mutex mutex_;
  std::size_t next_ = 0, size_;
  std::function<bool()> asked_to_stop_;
  std::atomic<bool> stopped_ = false;
};

// A pool of workers, which are made on demand. Each is used by one thread at a time.
class WorkerPool {
 public:
  explicit WorkerPool(const OrderedWork& work) : work_(work) {}
  void add(OrderedWork::Worker worker) { idle_.push_back(std::move(worker)); }
  OrderedWork::Result run(std::size_t piece);

 private:
  OrderedWork::Worker idle();
  const OrderedWork& work_;
  std::mutex mutex_;
  std::vector<OrderedWork::Worker> idle_;
};

// Receives results in any order, from any thread, and passes them on in order of their pieces.
class ReorderBuffer {
 public:
  explicit ReorderBuffer(const OrderedWork& work) : work_(work) {}
  void put(std::size_t piece, OrderedWork::Result);

 private:
  const OrderedWork& work_;
  std::mutex mutex_;
  std::size_t next_ = 0;
  std::map<std::size_t, OrderedWork::Result> early_;
};

// Calls act(piece) on `threads` threads for each piece that next() returns, until next() returns none.
void on_threads(int threads, const std::function<std::optional<std::size_t>()>& next,
                const std::function<void(std::size_t)>& act);

class ThreadExecutor : public Executor {
 public:
  explicit ThreadExecutor(int threads, std::function<bool()> stopped = {})
      : threads_(threads), stopped_(std::move(stopped)) {}
  void run(const OrderedWork&) override;

 private:
  int threads_;
  std::function<bool()> stopped_;
};

}  // namespace draftline
