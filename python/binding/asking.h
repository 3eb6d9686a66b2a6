// SPDX-License-Identifier: Apache-2.0
// An answer that Python can render in every format, and the listener that collects it.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <vector>

#include "api/answer.h"
#include "api/answer_writer.h"

namespace draftline::python {

class Answered {
 public:
  Answered(Question, Data, Answer, LoadHistory);
  Answered(Answered&&) = default;  // results are not copied
  Answered(const Answered&) = delete;
  const Answer& answer() const { return answer_; }
  std::vector<std::string> verdicts() const { return verdicts_of(answer_); }
  // As `draftline VERB --html`, --csv and without an option print it; `width`: of a table, 0: no limit.
  std::string render(Format, std::size_t width) const;

 private:
  Question question_;
  Data data_;
  Answer answer_;
  LoadHistory load_;  // of the first run of "simulate" with a single point; else empty
};

// Shared by the thread that computes an answer and the thread that waits for it.
class Collecting : public Listener {
 public:
  Collecting(const Question& q, const Data& data) : writer_({text_, Format::json, asked_of(q, data)}) {}

  bool on_begin(const Answer&) override;
  void on_note(const std::string&) override;
  void on_progress(std::size_t done, std::size_t of) override;
  void on_result(Result&&) override;
  bool stopped() override { return stops_; }
  ServingObserver* observer() override { return &load_; }

  void stop() { stops_ = true; }
  struct Progress {
    std::size_t done = 0, of = 0;
    bool operator==(const Progress&) const = default;
  };
  Progress progress() const;
  std::vector<std::string> notes() const;
  Answer whole(Answer);  // with results and document, once all are collected
  const LoadHistory& load() const { return load_; }

 private:
  mutable std::mutex mutex_;
  Progress progress_;
  std::vector<std::string> notes_;
  std::atomic<bool> stops_ = false;
  std::ostringstream text_;
  AnswerWriter writer_;
  std::vector<Result> results_;
  LoadHistory load_;
};

// Thrown in the computing thread after stop(), by verbs that do not poll stopped().
struct Abandoned {};

Answered ask(const Question&, const Data&, int threads, Collecting&);

}  // namespace draftline::python
