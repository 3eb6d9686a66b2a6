// SPDX-License-Identifier: Apache-2.0
#include "cli/ask.h"

#include <iostream>
#include <optional>

#include "api/answer_writer.h"
#include "cli/interruptible.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/rank_executor.h"
#include "reports/point.h"

namespace draftline::cli {

namespace {

const char* doing(const std::string& verb) {
  if (verb == "simulate") return "simulating";
  if (verb == "plan") return "planning";
  return verb == "advise" ? "advising" : "predicting";
}

class Printer : public Listener {
 public:
  Printer(const Question& q, const Printed& how, const Common& common)
      : q_(q), how_(how), first_rank_(common.ranks.first()), writer_(output(common.data), how.all_reasons) {}

  bool on_begin(const Answer& a) override {
    if (how_.dry_run) {
      write_resolved(std::cout, *a.scenario);
      return false;
    }
    if (how_.records.any()) open_records(a);
    writer_.begin(a);
    if (a.points > 1) interruptible_.emplace();  // with one point there would be nothing to keep
    return true;
  }
  void on_note(const std::string& note) override { print_note(note); }
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
    writer_.add(one);
  }
  bool stopped() override { return Interruptible::asked(); }
  ServingObserver* observer() override { return records_.get(); }

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
    writer_.finish();
    if (records_) records_->commit();
    if (!whole) return by_point ? interrupted_after(a.done, a.points) : Interruptible::exit_code();
    if (a.obstacle) throw InputErrors(*a.obstacle);
    return a.missed ? kMissed : kFine;
  }

 private:
  Output output(const std::filesystem::path& data) const {
    Output to = to_standard_output(how_.format, asked_of(q_, data));
    to.timing = how_.timing;
    return to;
  }
  void open_records(const Answer& a) {
    const ServingRecords::Files& files = how_.records;
    if (a.points > 1)
      throw InputErrors(q_.file.string() + ": has " + std::to_string(a.points) +
                        " points; records and the timeline require a scenario with a single point");
    std::vector<std::filesystem::path> inputs;
    for (const auto& [file, fingerprint] : a.input_files) inputs.push_back(file);
    check_outputs({{"--requests", files.requests}, {"--steps", files.steps}, {"--timeline", files.timeline}}, inputs);
    if (first_rank_) records_ = std::make_unique<ServingRecords>(files);
  }
  void write_held() {
    writes_ = true;
    for (const Result& one : held_) writer_.add(one);
    held_.clear();
  }

  const Question& q_;
  const Printed& how_;
  bool first_rank_, writes_ = false;
  AnswerWriter writer_;
  std::vector<Result> held_;
  std::unique_ptr<ServingRecords> records_;
  std::optional<Progress> progress_;
  std::optional<Interruptible> interruptible_;
};

}  // namespace

int ask(const Question& asked, const Printed& how, const Common& common) {
  Question q = asked;
  if (how.format != Format::json) q.options.oracle = false;  // which only JSON contains
  Printer printer(q, how, common);
  RankExecutor executor(common.ranks, how.jobs);
  return printer.finish(answer(q, common.data, executor, printer));
}

}  // namespace draftline::cli
