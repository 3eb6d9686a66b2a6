// SPDX-License-Identifier: Apache-2.0
#include "api/answer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <nlohmann/json.hpp>
#include <sstream>

#include "api/answer_writer.h"
#include "core/fingerprint.h"
#include "inputs/settings.h"
#include "model/calibration/measured.h"
#include "papers/inferred_paper.h"
#include "sim/advice_sweep.h"
#include "sim/stopping.h"

namespace draftline {

namespace {

// Parses the scenario, whose text is read once, again at each call. Workers share nothing, so nothing is locked.
std::function<Document()> opener(const Question& q, const Data& data) {
  if (!q.settings.empty())
    return [text = with_settings(q.text ? *q.text : data.files->text_once(q.file), q.settings), &q, &data] {
      Document document = Document::from_text(text, q.file, *data.files);
      Fingerprint all;
      all.add(text);
      if (!q.text) document.root().note_input(q.file, all.value());
      return document;
    };
  if (q.text) return [&q, &data] { return Document::from_text(*q.text, q.file, *data.files); };
  return [text = std::make_shared<const DocumentText>(q.file, *data.files)] { return text->document(); };
}

// ---- Sources of results: each thread has its own. `check()` is called on the first alone, where the others need none.

class Runs {
 public:
  using One = Outcome;
  static constexpr std::size_t kBlock = 256;  // points that a thread computes at a time
  Runs(const Question& q, Document scenario, const Data& data, Listener&) : sweep_(std::move(scenario), data), q_(q) {}
  void check() {
    if (scenario().serving)
      throw InputErrors(scenario().document.root().place() + ": has a \"workload\": \"simulate\" answers it" +
                        (q_.verb_place.empty() ? "" : "; \"run\" stands at " + q_.verb_place));
    sweep_.validate();
  }
  const Scenario& scenario() const { return sweep_.scenario(); }
  std::size_t size() const { return scenario().points(); }
  One at(std::size_t i) { return sweep_.at(i, q_.options.kernels); }

 private:
  Sweep sweep_;
  const Question& q_;
};

Stopping stopping_by(Listener& listener) {
  return Stopping([&listener] { return listener.stopped(); });
}

class Simulations {
 public:
  using One = ServingOutcome;
  static constexpr std::size_t kBlock = 1;
  Simulations(const Question& q, Document scenario, const Data& data, Listener& listener)
      : sweep_(std::move(scenario), data), q_(q), listener_(listener), stopping_(stopping_by(listener)) {
    sweep_.validate();
    sweep_.watch(&stopping_);
  }
  void check() const {}
  const Scenario& scenario() const { return sweep_.scenario(); }
  std::size_t size() const { return scenario().points(); }
  One at(std::size_t i) {
    ServingSweep::Options options;
    options.seed = q_.seed;
    options.oracle = q_.options.oracle;
    options.intervals = q_.options.intervals;
    if (size() == 1) {
      options.observer = listener_.observer();
      options.progress = [this](std::int64_t n) { listener_.on_progress(draftline::at(n), requests()); };
    }
    return sweep_.at(i, options);
  }
  std::size_t requests() const { return draftline::at(scenario().serving->choices.front().workload.requests); }

 private:
  ServingSweep sweep_;
  const Question& q_;
  Listener& listener_;
  Stopping stopping_;
};

class Plans {
 public:
  using One = FleetOption;
  static constexpr std::size_t kBlock = 1;
  Plans(const Question& q, Document scenario, const Data& data, Listener& listener)
      : sweep_(std::move(scenario), data), q_(q), stopping_(stopping_by(listener)) {
    sweep_.validate();
    sweep_.watch(&stopping_);
    check_plannable(sweep_.scenario());
    prices_.emplace(sweep_.scenario().serving->prices);
  }
  void check() const {}
  const Scenario& scenario() const { return sweep_.scenario(); }
  std::size_t size() const { return scenario().points(); }
  One at(std::size_t i) {
    return smallest_fleet(sweep_, i, *prices_, q_.options.most_devices, q_.seed, q_.options.headroom);
  }

 private:
  ServingSweep sweep_;
  std::optional<Prices> prices_;
  const Question& q_;
  Stopping stopping_;
};

class Advices {
 public:
  using One = Advice;
  static constexpr std::size_t kBlock = 1;
  Advices(const Question& q, Document scenario, const Data& data, Listener& listener)
      : sweep_(std::move(scenario), data, q.options.load), seed_(q.seed), stopping_(stopping_by(listener)) {
    sweep_.watch(&stopping_);
  }
  void check() const {}
  const Scenario& scenario() const { return sweep_.scenario(); }
  std::size_t size() const { return sweep_.size(); }
  One at(std::size_t i) { return sweep_.at(i, seed_); }

 private:
  AdviceSweep sweep_;
  std::uint64_t seed_;
  Stopping stopping_;
};

// What is asked besides the scenario, as one number.
std::uint64_t option_id(const Question& q) {
  Fingerprint all;
  const AskedOptions& o = q.options;
  for (const std::uint64_t one : {q.seed, std::uint64_t{o.from}, std::uint64_t{o.kernels}, std::uint64_t{o.oracle},
                                  std::uint64_t{o.load}, at(o.most_devices), std::bit_cast<std::uint64_t>(o.headroom)})
    all.add(one);
  return all.value();
}

std::string none_can_run(const Question& q, const Answer& a, const std::string& why) {
  if (q.verb == "simulate" && a.points == 1) return why;
  const char* what = q.verb == "plan" ? "option" : q.verb == "advise" ? "method" : "point";
  return a.scenario->document.root().place() + ": no " + what + " can run; the first: " + why;
}

template <class One>
struct Piece {
  std::vector<One> results;
  std::vector<std::string> notes;
  bool stopped = false;  // the results of its last points are missing
};

void add_notes(Answer& a, const std::vector<std::string>& notes, Listener& listener) {
  for (const std::string& note : notes)
    if (std::ranges::find(a.notes, note) == a.notes.end()) {
      a.notes.push_back(note);
      listener.on_note(note);
    }
}

// Calls act(document) with the question's document, and passes its notes on even if that throws.
template <class Act>
auto with_notes_of(const Document& document, Answer& a, Listener& listener, Act act) try {
  auto result = act(document);
  add_notes(a, document.notes(), listener);
  return result;
} catch (const InputErrors&) {
  add_notes(a, document.notes(), listener);
  throw;
}

template <class Source>
Answer answer_by(const Question& q, const Data& data, Executor& executor, Listener& listener) {
  using PieceOfSource = Piece<typename Source::One>;
  const auto open = opener(q, data);
  Answer a;
  const auto first = with_notes_of(open(), a, listener, [&](const Document& scenario) {
    auto source = std::make_shared<Source>(q, scenario, data, listener);
    source->check();
    return source;
  });
  a.scenario = std::shared_ptr<const Scenario>(first, &first->scenario());
  const Reader root = a.scenario->document.root();
  a.points = first->size();
  a.input_files = root.input_files();
  if (!listener.on_begin(a)) return a;
  const std::size_t from = q.options.from, points = a.points;
  if (from >= points) throw InputErrors("--from: the scenario has " + std::to_string(points) + " points");

  std::optional<std::size_t> requests;  // by which progress is counted
  if constexpr (std::is_same_v<Source, Simulations>)
    if (points == 1) requests = first->requests();
  listener.on_progress(0, requests.value_or(points));
  std::string reason;
  bool any = from > 0;
  a.done = from;
  a.missed = q.verb == "plan";
  bool stopped = false;  // a piece lacks results: those of later pieces are left out
  const auto take = [&](PieceOfSource& piece) {
    if (stopped) return;
    stopped = piece.stopped;
    add_notes(a, piece.notes, listener);
    for (auto& one : piece.results) {
      Result result(std::move(one));
      const std::string* why = obstacle_of(result);
      any = any || why == nullptr;
      if (!any && reason.empty()) reason = *why;
      if (const auto* fleet = std::get_if<FleetOption>(&result); fleet && !fleet->obstacle) a.missed = false;
      ++a.done;
      listener.on_result(std::move(result));
      if (!requests) listener.on_progress(a.done, points);
    }
  };
  const auto worker_of = [from, points](std::shared_ptr<Source> source) {
    return [source, from, points](std::size_t piece) {
      PieceOfSource done;
      const std::size_t begin = from + piece * Source::kBlock;
      try {
        for (std::size_t i = begin; i < std::min(begin + Source::kBlock, points); ++i)
          done.results.push_back(source->at(i));
      } catch (const Stopped&) { done.stopped = true; }
      done.notes = source->scenario().document.notes();
      return done;
    };
  };
  OrderedWork work =
      ordered_work((points - from + Source::kBlock - 1) / Source::kBlock, work_id(a.input_files, option_id(q)),
                   [&] { return worker_of(std::make_shared<Source>(q, open(), data, listener)); }, take);
  work.first = erased_worker(worker_of(first));
  executor.run(work);

  a.input_files = root.input_files();
  if (!any && a.done == points) a.obstacle = none_can_run(q, a, reason);
  return a;
}

Answer answer_papers(const Question& q, const Data& data, Executor&, Listener& listener) {
  Answer a;
  a.points = q.papers.size();
  if (!listener.on_begin(a)) return a;
  for (const std::string& name : q.papers) {
    Paper paper = predict_paper(data, name);
    a.input_files.insert(paper.input_files.begin(), paper.input_files.end());
    listener.on_result(std::move(paper));
    listener.on_progress(++a.done, a.points);
  }
  return a;
}

Answer answer_calibrate(const Question& q, const Data& data, Executor&, Listener& listener) {
  CalibrationInput input;
  input.measured = q.file;
  input.data = data.folder;
  input.locator = "pinned";
  Answer a;
  const Document document = opener(q, data)();
  const Measured measured =
      with_notes_of(document, a, listener, [](const Document& file) { return read_whole(file, read_measured); });
  a.points = 1;
  if (!listener.on_begin(a)) return a;
  Calibration c{calibrated_device(input, measured), {}};
  if (knows_host(measured)) c.engine = calibrated_engine(input, measured, c.device);
  listener.on_result(std::move(c));
  a.done = 1;
  a.input_files = document.root().input_files();
  return a;
}

// Keeps all results, and writes the document.
class Collector : public Listener {
 public:
  Collector(const Question& q, const Data& data) : writer_({text_, Format::json, asked_of(q, data)}) {}
  bool on_begin(const Answer& a) override {
    writer_.begin(a);
    return true;
  }
  void on_result(Result&& one) override {
    writer_.add(one);
    results_.push_back(std::move(one));
  }
  Answer whole(Answer a) {
    writer_.finish();
    a.results = std::move(results_);
    a.document = text_.str();
    return a;
  }

 private:
  std::ostringstream text_;
  AnswerWriter writer_;
  std::vector<Result> results_;
};

}  // namespace

const std::string* obstacle_of(const Result& result) {
  if (const auto* o = std::get_if<Outcome>(&result)) return std::get_if<std::string>(&o->result);
  if (const auto* o = std::get_if<ServingOutcome>(&result)) return std::get_if<std::string>(&o->result);
  if (const auto* o = std::get_if<FleetOption>(&result)) return o->can_run ? nullptr : &*o->obstacle;
  if (const auto* o = std::get_if<Advice>(&result)) return o->obstacle ? &*o->obstacle : nullptr;
  return nullptr;
}

Answer answer(const Question& q, const Data& data, Executor& executor, Listener& listener) {
  using Answerer = Answer (*)(const Question&, const Data&, Executor&, Listener&);
  static constexpr std::array<std::pair<std::string_view, Answerer>, 6> kAnswerers{
      {{"run", answer_by<Runs>},
       {"simulate", answer_by<Simulations>},
       {"plan", answer_by<Plans>},
       {"advise", answer_by<Advices>},
       {"papers", answer_papers},
       {"calibrate", answer_calibrate}}};
  const auto found = std::ranges::find_if(kAnswerers, [&](const auto& a) { return a.first == q.verb; });
  if (found == kAnswerers.end()) throw InputErrors("\"" + q.verb + "\" is no verb whose answers can be asked for");
  try {
    return found->second(q, data, executor, listener);
  } catch (const InputErrors& e) {
    if (q.settings.empty()) throw;
    throw InputErrors(naming_settings(e.messages(), q.settings));
  }
}

Answer answer(const Question& q, const Data& data, Executor& executor) {
  Collector collector(q, data);
  Answer a = answer(q, data, executor, collector);
  return collector.whole(std::move(a));
}

Answer answer(const Question& q, const Data& data) {
  SerialExecutor executor;
  return answer(q, data, executor);
}

}  // namespace draftline
