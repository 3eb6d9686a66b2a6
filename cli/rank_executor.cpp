// SPDX-License-Identifier: Apache-2.0
#include "cli/rank_executor.h"

#include <exception>
#include <thread>
#include <vector>

#include "api/threads.h"
#include "cli/interruptible.h"
#include "core/errors.h"
#include "core/fingerprint.h"
#include "core/packed.h"

namespace draftline::cli {

namespace {

struct Asking {
  std::uint64_t question;
  bool interrupted;
};

// Sends pieces to the other ranks and puts their results, until every rank is done or the queue is stopped.
void serve_ranks(const Ranks& ranks, std::uint64_t question, WorkQueue& queue,
                 const std::function<void(std::size_t piece, std::string_view result)>& put) {
  using About = Ranks::About;
  std::vector<bool> is_done(ranks.size());
  for (std::size_t done = 0; done + 1 < ranks.size();) {
    const auto message = ranks.receive_unless([&] { return queue.stopped(); });
    if (!message) return;
    const Ranks::Message& m = *message;
    switch (m.about) {
      case About::ask: {
        const auto asking = unpack<Asking>(m.bytes);
        if (asking.question != question)
          throw InputErrors("rank " + std::to_string(m.from) +
                            " has different input files, options or program than rank 0");
        if (asking.interrupted) Interruptible::ask_too();
        ranks.send(m.from, About::piece, pack(queue.next()));
        break;
      }
      case About::result: {
        packed::Source result(m.bytes);
        const auto piece = result.taken<std::size_t>();
        put(piece, std::string_view(m.bytes).substr(sizeof piece));
        break;
      }
      case About::done:
        is_done[m.from] = true;
        ++done;
        break;
      case About::ended:
        if (auto ending = unpack<Ending>(m.bytes); !ending.messages.empty()) throw RankFailed(std::move(ending));
        if (!is_done[m.from])
          throw InputErrors("rank " + std::to_string(m.from) + " was started with a different command line");
        break;
      default: check(false, "a message that rank 0 sends");
    }
  }
}

// The next piece from rank 0; none after the last.
std::optional<std::size_t> ask_for_piece(const Ranks& ranks, std::uint64_t question) {
  ranks.send(0, Ranks::About::ask, pack(Asking{question, Interruptible::asked()}));
  const Ranks::Message answer = ranks.receive();
  if (answer.about == Ranks::About::stop) throw InputErrors("rank 0 was started with a different command line");
  return unpack<std::optional<std::size_t>>(answer.bytes);
}

}  // namespace

void RankExecutor::run(const OrderedWork& work) {
  const bool shared = ranks_.size() > 1 && work.size > 1;  // rank 0 runs a single piece itself
  Fingerprint question;
  question.add(work.question);
  question.add(std::uint64_t{work.size});
  if (shared && ranks_.first()) run_on_first_rank(work, question.value());
  else if (shared) run_on_other_rank(work, question.value());
  else if (ranks_.first()) ThreadExecutor(threads_, Interruptible::asked).run(work);
}

void RankExecutor::run_on_first_rank(const OrderedWork& work, std::uint64_t question) {
  WorkQueue queue(work.size, Interruptible::asked);
  WorkerPool workers(work);
  ReorderBuffer results(work);
  std::exception_ptr failure;  // of the thread `server`
  std::jthread server([&] {
    try {
      serve_ranks(ranks_, question, queue,
                  [&](std::size_t piece, std::string_view bytes) { results.put(piece, work.unpack(bytes)); });
    } catch (...) {
      failure = std::current_exception();
      queue.stop();
    }
  });
  try {
    on_threads(
        threads_, [&] { return queue.next(); }, [&](std::size_t piece) { results.put(piece, workers.run(piece)); });
  } catch (...) {
    queue.stop();
    throw;
  }
  server.join();
  if (failure) std::rethrow_exception(failure);
}

void RankExecutor::run_on_other_rank(const OrderedWork& work, std::uint64_t question) {
  WorkerPool workers(work);
  on_threads(
      threads_, [&] { return ask_for_piece(ranks_, question); },
      [&](std::size_t piece) { ranks_.send(0, Ranks::About::result, pack(piece) + work.pack(workers.run(piece))); });
  ranks_.send(0, Ranks::About::done);
}

}  // namespace draftline::cli
