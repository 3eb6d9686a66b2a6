// SPDX-License-Identifier: Apache-2.0
// Independent pieces of work and their executors: this thread, several threads (api/threads.h) or several processes
// (cli/rank_executor.h). Results are taken in order, so that an answer does not depend on the executor.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/input_files.h"
#include "core/packed.h"

namespace draftline {

// The pieces [0, size) of one question.
struct OrderedWork {
  using Result = std::shared_ptr<void>;
  using Worker = std::function<Result(std::size_t piece)>;  // used by one thread at a time

  std::size_t size = 0;
  std::uint64_t question = 0;           // work_id(), which is equal in all processes that share the work
  std::function<Worker()> make_worker;  // called by any thread
  Worker first;                         // a worker for the thread that takes the results; may be empty
  std::function<void(Result)> take;     // called in order of the pieces, by one thread at a time
  std::function<std::string(const Result&)> pack;
  std::function<Result(std::string_view)> unpack;
};

class Executor {
 public:
  virtual ~Executor() = default;
  // Returns when all results have been taken, or earlier if it was stopped. Rethrows exceptions of the work's
  // functions.
  virtual void run(const OrderedWork&) = 0;
};

// Runs one piece after another on the calling thread until `stopped()`.
class SerialExecutor : public Executor {
 public:
  explicit SerialExecutor(std::function<bool()> stopped = {}) : stopped_(std::move(stopped)) {}
  void run(const OrderedWork&) override;

 private:
  std::function<bool()> stopped_;
};

template <class Worker>
OrderedWork::Worker erased_worker(Worker worker) {
  using Result = std::decay_t<std::invoke_result_t<Worker&, std::size_t>>;
  return [worker](std::size_t piece) { return std::make_shared<Result>(worker(piece)); };
}

// The work of a typed worker, `Result worker(std::size_t)`, whose results can be packed (core/packed.h). make() returns
// a worker; take(Result&) receives a result.
template <class Make, class Take>
OrderedWork ordered_work(std::size_t size, std::uint64_t question, Make make, Take take) {
  using Result = std::decay_t<std::invoke_result_t<std::invoke_result_t<Make&>, std::size_t>>;
  OrderedWork work;
  work.size = size;
  work.question = question;
  work.make_worker = [make] { return erased_worker(make()); };
  work.take = [take](const OrderedWork::Result& result) { take(*static_cast<Result*>(result.get())); };
  work.pack = [](const OrderedWork::Result& result) { return pack(*static_cast<const Result*>(result.get())); };
  work.unpack = [](std::string_view bytes) { return std::make_shared<Result>(unpack<Result>(bytes)); };
  return work;
}

// A hash of the program, the content of the input files and an option (a seed, a first point). It detects processes
// that were started with other files, options or programs.
std::uint64_t work_id(const InputFiles&, std::uint64_t option);

}  // namespace draftline
