// SPDX-License-Identifier: Apache-2.0
#include "api/threads.h"

#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>

namespace draftline {

std::optional<std::size_t> WorkQueue::next() {
  const std::lock_guard lock(mutex_);
  if (stopped_ || next_ >= size_ || (asked_to_stop_ && asked_to_stop_())) return std::nullopt;
  return next_++;
}

OrderedWork::Worker WorkerPool::idle() {
  const std::lock_guard lock(mutex_);
  if (idle_.empty()) return nullptr;
  OrderedWork::Worker worker = std::move(idle_.back());
  idle_.pop_back();
  return worker;
}

OrderedWork::Result WorkerPool::run(std::size_t piece) {
  OrderedWork::Worker worker = idle();
  if (!worker) worker = work_.make_worker();
  OrderedWork::Result result = worker(piece);
  const std::lock_guard lock(mutex_);
  idle_.push_back(std::move(worker));
  return result;
}

void ReorderBuffer::put(std::size_t piece, OrderedWork::Result result) {
  const std::lock_guard lock(mutex_);
  early_.emplace(piece, std::move(result));
  for (auto it = early_.begin(); it != early_.end() && it->first == next_; it = early_.erase(it), ++next_)
    work_.take(std::move(it->second));
}

void on_threads(int threads, const std::function<std::optional<std::size_t>()>& next,
                const std::function<void(std::size_t)>& act) {
  const auto count = at(threads);
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, count);
  const auto give = [&](tbb::flow_control& flow) -> std::size_t {
    const std::optional<std::size_t> piece = next();
    if (!piece) flow.stop();
    return piece.value_or(0);
  };
  tbb::parallel_pipeline(count, tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, give) &
                                    tbb::make_filter<std::size_t, void>(tbb::filter_mode::parallel, act));
}

void ThreadExecutor::run(const OrderedWork& work) {
  if (threads_ == 1) return SerialExecutor(stopped_).run(work);
  WorkQueue queue(work.size, stopped_);
  WorkerPool workers(work);
  ReorderBuffer results(work);
  on_threads(
      threads_, [&] { return queue.next(); }, [&](std::size_t piece) { results.put(piece, workers.run(piece)); });
}

}  // namespace draftline
