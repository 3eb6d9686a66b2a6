// SPDX-License-Identifier: Apache-2.0
// Runs independent pieces of work on several threads and ranks. Rank 0 receives the results in order, so that the
// output does not depend on the number of threads and ranks. Ctrl-C ends it after the pieces in progress; finished
// results are kept.
#pragma once
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>

#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

#include "cli/deal.h"
#include "cli/interruptible.h"
#include "core/fingerprint.h"
#include "core/packed.h"

namespace draftline::cli {

struct Pieces {
  std::size_t from, to;    // the pieces [from, to)
  std::uint64_t question;  // question_id(), which must be equal on all ranks
  int jobs;                // threads of each rank
};

// A pool of workers, which are made on demand. Each is used by one thread at a time.
template <class Worker, class Make>
class Workers {
 public:
  Workers(std::shared_ptr<Worker> first, Make& make) : make_(make) {
    if (first) idle_.push_back(std::move(first));
  }
  template <class Work>
  auto with(Work&& work) {
    std::shared_ptr<Worker> worker = idle();
    if (!worker) worker = make_();
    auto result = work(*worker);
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(worker));
    return result;
  }

 private:
  std::shared_ptr<Worker> idle() {
    const std::lock_guard lock(mutex_);
    if (idle_.empty()) return nullptr;
    auto worker = std::move(idle_.back());
    idle_.pop_back();
    return worker;
  }
  Make& make_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<Worker>> idle_;
};

// Receives results in any order and passes them to `take` in order of their pieces.
template <class Result, class Take>
class ReorderBuffer {
 public:
  ReorderBuffer(std::size_t from, Take& take) : from_(from), next_(from), take_(take) {}
  void put(std::size_t piece, Result result) {
    const std::lock_guard lock(mutex_);
    early_.emplace(piece, std::move(result));
    for (auto it = early_.begin(); it != early_.end() && it->first == next_; it = early_.erase(it), ++next_)
      take_(it->second);
  }
  std::size_t taken() const { return next_ - from_; }

 private:
  std::mutex mutex_;
  std::size_t from_, next_;
  Take& take_;
  std::map<std::size_t, Result> early_;
};

// Runs act(piece) on `jobs` threads for each piece that next() returns, until it returns none.
template <class Next, class Do>
void piece_by_piece(int jobs, Next next, Do act) {
  const tbb::global_control limit(tbb::global_control::max_allowed_parallelism, static_cast<std::size_t>(jobs));
  const auto give = [&](tbb::flow_control& flow) -> std::size_t {
    const std::optional<std::size_t> piece = next();
    if (!piece) flow.stop();
    return piece.value_or(0);
  };
  tbb::parallel_pipeline(static_cast<std::size_t>(jobs),
                         tbb::make_filter<void, std::size_t>(tbb::filter_mode::serial_in_order, give) &
                             tbb::make_filter<std::size_t, void>(tbb::filter_mode::parallel, act));
}

// `make()` returns a worker; `first` is one that exists already, or null. `work(worker, piece)` returns a result that
// can be packed (core/packed.h). `take(result)` is called on rank 0, one at a time, in order of the pieces. Returns the
// number of results that were taken, fewer than all if interrupted; 0 on other ranks. Rethrows what these functions
// throw, and throws as deal_out() does.
template <class Worker, class Make, class Work, class Take>
std::size_t in_order(const Ranks& ranks, const Pieces& pieces, std::shared_ptr<Worker> first, Make make, Work work,
                     Take take) {
  using Result = std::invoke_result_t<Work&, Worker&, std::size_t>;
  Workers<Worker, Make> workers(std::move(first), make);
  const auto compute = [&](std::size_t i) { return workers.with([&](Worker& worker) { return work(worker, i); }); };
  const bool shared = ranks.size() > 1 && pieces.to - pieces.from > 1;  // rank 0 runs a single piece itself
  Fingerprint question;
  for (const std::uint64_t part : {pieces.question, pieces.from, pieces.to}) question.add(part);

  if (!ranks.first()) {
    if (!shared) return 0;
    piece_by_piece(
        pieces.jobs, [&] { return ask_for_piece(ranks, question.value()); },
        [&](std::size_t i) { ranks.send(0, Ranks::About::result, pack(i) + pack(compute(i))); });
    ranks.send(0, Ranks::About::done);
    return 0;
  }

  Deal deal(pieces.from, pieces.to);
  ReorderBuffer<Result, Take> results(pieces.from, take);
  std::exception_ptr failure;  // of the thread `dealer`
  std::jthread dealer;
  if (shared)
    dealer = std::jthread([&] {
      try {
        deal_out(ranks, question.value(), deal,
                 [&](std::size_t i, std::string_view bytes) { results.put(i, unpack<Result>(bytes)); });
      } catch (...) {
        failure = std::current_exception();
        deal.stop();
      }
    });
  try {
    piece_by_piece(
        pieces.jobs, [&] { return deal.next(); }, [&](std::size_t i) { results.put(i, compute(i)); });
  } catch (...) {
    deal.stop();
    throw;
  }
  if (dealer.joinable()) dealer.join();
  if (failure) std::rethrow_exception(failure);
  return results.taken();
}

}  // namespace draftline::cli
