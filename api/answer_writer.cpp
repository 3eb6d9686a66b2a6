// SPDX-License-Identifier: Apache-2.0
#include "api/answer_writer.h"

#include <nlohmann/json.hpp>
#include <vector>

#include "reports/advise_report.h"
#include "reports/paper_report.h"
#include "reports/plan_report.h"
#include "reports/run_report.h"
#include "reports/simulate_report.h"

namespace draftline {

class AnswerWriter::Report {
 public:
  virtual ~Report() = default;
  virtual void add(const Result&) = 0;
  virtual void finish() = 0;
  virtual ServingObserver* observer() { return nullptr; }
  virtual void show_load(const LoadHistory&) {}
};

namespace {

template <class ReportOfPoints, class T>
class ByPoint : public AnswerWriter::Report {
 public:
  ByPoint(const Output& to, const Scenario& s) : report_(to, s) {}
  void add(const Result& one) override { report_.add(std::get<T>(one)); }
  void finish() override { report_.finish(); }
  ServingObserver* observer() override {
    if constexpr (requires { report_.observer(); }) return report_.observer();
    else return nullptr;
  }
  void show_load(const LoadHistory& load) override {
    if constexpr (requires { report_.show_load(load); }) report_.show_load(load);
  }

 private:
  ReportOfPoints report_;
};

template <class T, class Write>
class AtOnce : public AnswerWriter::Report {
 public:
  explicit AtOnce(Write write) : write_(write) {}
  void add(const Result& one) override { all_.push_back(std::get<T>(one)); }
  void finish() override { write_(all_); }

 private:
  std::vector<T> all_;
  Write write_;
};
template <class T>
std::vector<T> typed(const std::vector<Result>& results) {
  std::vector<T> all;
  for (const Result& one : results) all.push_back(std::get<T>(one));
  return all;
}
template <class T, class Write>
std::unique_ptr<AnswerWriter::Report> at_once(Write write) {
  return std::make_unique<AtOnce<T, Write>>(write);
}

void write_calibration(const Output& to, const Calibration& c) {
  OrderedJson all{{"device_file", c.device.device}};
  if (c.engine) all["engine_file"] = *c.engine;
  for (const FitQuality& quality : c.device.quality)
    all["held_out"][quality.op] = {{"points", quality.points}, {"median", quality.median}, {"p90", quality.p90}};
  to.stream << all.dump();
}

}  // namespace

AnswerWriter::AnswerWriter(Output to, Reasons reasons) : to_(std::move(to)), reasons_(reasons) {}
AnswerWriter::~AnswerWriter() = default;

void AnswerWriter::begin(const Answer& a) { scenario_ = a.scenario; }

AnswerWriter::Report& AnswerWriter::report() {
  if (report_) return *report_;
  const std::string& verb = to_.asked.verb;
  if (verb == "run") report_ = std::make_unique<ByPoint<RunReport, Outcome>>(to_, *scenario_);
  else if (verb == "simulate") report_ = std::make_unique<ByPoint<SimulateReport, ServingOutcome>>(to_, *scenario_);
  else if (verb == "plan")
    report_ = at_once<FleetOption>([this](const auto& all) { write_plan(to_, *scenario_, all); });
  else if (verb == "advise")
    report_ = at_once<Advice>([this](const auto& all) { write_advice(to_, *scenario_, all, reasons_); });
  else if (verb == "papers") report_ = at_once<Paper>([this](const auto& all) { write_papers(to_, all); });
  else report_ = at_once<Calibration>([this](const auto& all) { write_calibration(to_, all.front()); });
  return *report_;
}

void AnswerWriter::add(const Result& one) { report().add(one); }
void AnswerWriter::finish() { report().finish(); }
ServingObserver* AnswerWriter::observer() { return to_.format == Format::html ? report().observer() : nullptr; }

void AnswerWriter::show_load(const LoadHistory& load) { report().show_load(load); }

std::vector<std::string> verdicts_of(const Answer& a) {
  if (a.results.empty()) return {};
  if (std::holds_alternative<FleetOption>(a.results.front()))
    return plan_verdicts(*a.scenario, typed<FleetOption>(a.results));
  if (std::holds_alternative<Advice>(a.results.front())) return advise_verdicts(*a.scenario, typed<Advice>(a.results));
  return {};
}

Asked asked_of(const Question& q, const Data& data) { return {q.verb, data.folder, q.seed, q.options}; }

}  // namespace draftline
