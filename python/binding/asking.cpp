// SPDX-License-Identifier: Apache-2.0
#include "python/binding/asking.h"

#include "api/threads.h"

namespace draftline::python {

Answered::Answered(Question q, Data data, Answer a, LoadHistory load)
    : question_(std::move(q)), data_(std::move(data)), answer_(std::move(a)), load_(std::move(load)) {}

std::string Answered::render(Format format, std::size_t width) const {
  if (format == Format::json) return answer_.document;
  std::ostringstream text;
  AnswerWriter writer({text, format, asked_of(question_, data_), width});
  writer.begin(answer_);
  if (format == Format::html) writer.show_load(load_);
  for (const Result& one : answer_.results) writer.add(one);
  writer.finish();
  return text.str();
}

bool Collecting::on_begin(const Answer& a) {
  writer_.begin(a);
  return true;
}

void Collecting::on_note(const std::string& note) {
  const std::lock_guard lock(mutex_);
  notes_.push_back(note);
}

void Collecting::on_progress(std::size_t done, std::size_t of) {
  if (stops_) throw Abandoned();
  const std::lock_guard lock(mutex_);
  progress_ = {done, of};
}

void Collecting::on_result(Result&& one) {
  writer_.add(one);
  results_.push_back(std::move(one));
}

Collecting::Progress Collecting::progress() const {
  const std::lock_guard lock(mutex_);
  return progress_;
}

std::vector<std::string> Collecting::notes() const {
  const std::lock_guard lock(mutex_);
  return notes_;
}

Answer Collecting::whole(Answer a) {
  writer_.finish();
  a.results = std::move(results_);
  a.document = text_.str();
  return a;
}

Answered ask(const Question& q, const Data& data, int threads, Collecting& collecting) {
  ThreadExecutor executor(threads, [&collecting] { return collecting.stopped(); });
  Answer a = answer(q, data, executor, collecting);
  if (collecting.stopped()) throw Abandoned();
  return {q, data, collecting.whole(std::move(a)), collecting.load()};
}

}  // namespace draftline::python
