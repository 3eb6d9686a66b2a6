// SPDX-License-Identifier: Apache-2.0
#include "cli/print_answer.h"

#include <iostream>
#include <optional>

#include "api/answer_writer.h"
#include "cli/interruptible.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/rank_executor.h"
#include "core/text_file.h"
#include "reports/point.h"

namespace draftline::cli {

namespace {

const char* doing(const std::string& verb) {
  if (verb == "simulate") return "simulating";
  if (verb == "plan") return "planning";
  return verb == "advise" ? "advising" : "predicting";
}

// A file of the answer in one format.
struct AnswerFile {
  AtomicFile file;
  AnswerWriter writer;

  AnswerFile(const Formats::File& f, Asked asked, const Printed& how)
      : file(f.file), writer({file.stream(), f.format, std::move(asked), 0, false, how.timing}, how.reasons) {}
};

// Passes everything on to several observers.
class AllObservers : public ServingObserver {
 public:
  void add(ServingObserver* one) {
    if (one != nullptr) all_.push_back(one);
  }
  bool empty() const { return all_.empty(); }
  void on_start(const FleetShape& fleet, const SchedulerLimits& limits) override {
    for (ServingObserver* one : all_) one->on_start(fleet, limits);
  }
  void on_request(const ServedRequest& r) override {
    for (ServingObserver* one : all_) one->on_request(r);
  }
  void on_step(const StepRun& r) override {
    for (ServingObserver* one : all_) one->on_step(r);
  }

 private:
  std::vector<ServingObserver*> all_;
};

class Printer : public Listener {
 public:
  Printer(const Question& q, const Printed& how, const Common& common)
      : q_(q), how_(how), data_(common.data), first_rank_(common.ranks.first()), writer_(output(), how.reasons) {}

  bool on_begin(const Answer& a) override {
    if (how_.dry_run) {
      write_resolved(std::cout, *a.scenario);
      return false;
    }
    check_files(a);
    if (how_.records.any() && first_rank_) records_ = std::make_unique<ServingRecords>(how_.records);
    if (first_rank_)
      for (const Formats::File& f : how_.formats.files)
        files_.push_back(std::make_unique<AnswerFile>(f, asked_of(q_, data_), how_));
    for_writers([&](AnswerWriter& writer) { writer.begin(a); });
    if (a.points > 1) interruptible_.emplace();  // with one point there would be nothing to keep
    return true;
  }
  void on_note(const std::string& note) override {
    if (how_.notes) print_note(note);
  }
  void on_progress(std::size_t done, std::size_t of) override {
    if (!progress_) progress_.emplace(doing(q_.verb), of);
    progress_->at(done);
  }
  // Nothing is written until one point has run, unless others were written before.
  void on_result(Result&& one) override {
    constexpr std::size_t kMostHeld = 100'000;
    const bool holds = (q_.verb == "run" || q_.verb == "simulate") && q_.options.from == 0 && !writes_;
    if (holds && obstacle_of(one) != nullptr && held_.size() < kMostHeld) {
      held_.push_back(std::move(one));
      return;
    }
    write_held();
    add(one);
  }
  bool stopped() override { return Interruptible::asked(); }
  ServingObserver* observer() override {
    observers_ = {};
    observers_.add(records_.get());
    for_writers([&](AnswerWriter& writer) { observers_.add(writer.observer()); });
    return observers_.empty() ? nullptr : &observers_;
  }

  // Prints what is left and returns the exit code.
  int finish(const Answer& a) {
    if (how_.dry_run || !first_rank_) return kFine;
    progress_.reset();
    const bool whole = a.done == a.points, by_point = q_.verb == "run" || q_.verb == "simulate";
    if (by_point && !writes_ && !whole) return interrupted_after(q_.options.from, a.points);
    if (by_point && a.obstacle && !writes_) throw InputErrors(*a.obstacle);
    if (!by_point && !whole)
      std::cerr << "interrupted: only " << a.done << " of " << a.points << " "
                << (q_.verb == "plan" ? "options" : "methods") << " were evaluated\n";
    for_writers([](AnswerWriter& writer) { writer.finish(); });
    for (const auto& file : files_) file->file.commit();
    if (records_) records_->commit();
    if (!whole) return by_point ? interrupted_after(a.done, a.points) : Interruptible::exit_code();
    if (a.obstacle) throw InputErrors(*a.obstacle);
    return a.missed ? kMissed : kFine;
  }

 private:
  Output output() const {
    Output to = to_standard_output(how_.formats.printed, asked_of(q_, data_));
    to.timing = how_.timing;
    to.plot = how_.plot;
    return to;
  }
  // Refuses files that would overwrite each other or an input, and records of several points.
  void check_files(const Answer& a) const {
    const ServingRecords::Files& records = how_.records;
    if (records.any() && a.points > 1)
      throw InputErrors(q_.file.string() + ": has " + std::to_string(a.points) +
                        " points; records and the timeline require a scenario with a single point");
    std::vector<std::filesystem::path> inputs;
    for (const auto& [file, fingerprint] : a.input_files) inputs.push_back(file);
    std::vector<OutputFile> outputs{
        {"--requests", records.requests}, {"--steps", records.steps}, {"--timeline", records.timeline}};
    for (const Formats::File& f : how_.formats.files) outputs.push_back({f.option, f.file});
    check_outputs(outputs, inputs);
  }
  template <class Act>
  void for_writers(Act act) {
    act(writer_);
    for (const auto& file : files_) act(file->writer);
  }
  void add(const Result& one) {
    for_writers([&](AnswerWriter& writer) { writer.add(one); });
  }
  void write_held() {
    writes_ = true;
    for (const Result& one : held_) add(one);
    held_.clear();
  }

  const Question& q_;
  const Printed& how_;
  std::filesystem::path data_;
  bool first_rank_, writes_ = false;
  AnswerWriter writer_;
  std::vector<std::unique_ptr<AnswerFile>> files_;
  std::vector<Result> held_;
  std::unique_ptr<ServingRecords> records_;
  AllObservers observers_;
  std::optional<Progress> progress_;
  std::optional<Interruptible> interruptible_;
};

// The question with its scenario, if that comes from standard input.
Question with_standard_input(Question q, const Common& common) {
  if (q.file != "-") return q;
  if (common.ranks.size() > 1)
    throw InputErrors("-: only one of several ranks has a standard input: give the file of the scenario");
  q.text = disk().text_once("/dev/stdin");
  q.file = "standard input";
  return q;
}

}  // namespace

int print_answer(const Question& asked, const Printed& how, const Common& common) {
  Question q = with_standard_input(asked, common);
  if (!how.formats.has(Format::json)) q.options.oracle = false;  // which only JSON contains
  if (how.dry_run && !how.formats.files.empty()) throw InputErrors("--dry-run: writes no files");
  Printer printer(q, how, common);
  RankExecutor executor(common.ranks, how.jobs);
  return printer.finish(answer(q, common.data, executor, printer));
}

}  // namespace draftline::cli
