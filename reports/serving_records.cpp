// SPDX-License-Identifier: Apache-2.0
#include "reports/serving_records.h"

#include <charconv>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/errors.h"
#include "core/text_file.h"

namespace draftline {

namespace {

std::string number(double v) {
  char text[32];
  const auto end = std::to_chars(text, text + sizeof text, v).ptr;
  return {text, end};
}
std::string seconds(Ticks t) { return number(to_seconds(t).value); }
std::string microseconds(Ticks t) { return number(to_double(t) / 1e6); }

// A file of rows of named numbers, as CSV or JSON lines.
class RowsFile {
 public:
  explicit RowsFile(const std::filesystem::path& file) : file_(file) {
    const auto ending = file.extension();
    if (ending != ".csv" && ending != ".jsonl") throw InputErrors(file.string() + ": records must be .csv or .jsonl");
    json_ = ending == ".jsonl";
  }
  void row(const std::vector<std::pair<std::string_view, std::string>>& cells) {
    std::ostream& out = file_.stream();
    if (!json_ && !header_) {
      for (std::size_t i = 0; i < cells.size(); ++i) out << (i > 0 ? "," : "") << cells[i].first;
      out << '\n';
      header_ = true;
    }
    for (std::size_t i = 0; i < cells.size(); ++i) {
      if (json_) out << (i > 0 ? ", \"" : "{\"") << cells[i].first << "\": " << cells[i].second;
      else out << (i > 0 ? "," : "") << cells[i].second;
    }
    out << (json_ ? "}\n" : "\n");
  }
  void commit() { file_.commit(); }

 private:
  AtomicFile file_;
  bool json_ = false, header_ = false;
};

// "replica 1, part 0": what has that number in records. Servers that decode come before those of prompts (sim/fleet),
// and each batch of a pipeline is a server (FleetShape).
std::string scheduler_name(int number, const FleetShape& f) {
  const bool decodes = number < f.decode_schedulers();
  const int parts = decodes ? f.parts : f.prefill_parts, server = f.server_of(number), replica = server / f.stages;
  std::string text =
      decodes ? "replica " + std::to_string(replica) : "prefill replica " + std::to_string(replica - f.replicas);
  if (f.stages > 1) text += ", batch " + std::to_string(server % f.stages);
  if (parts > 1) text += ", part " + std::to_string((decodes ? number : number - f.decode_schedulers()) % parts);
  return text;
}

// Whose tokens a step computes. Running sequences emit none while they wait for prompts.
std::string_view kind_of_step(const StepRun& r) {
  if (r.prompt_tokens == 0) return "decode step";
  return r.emitted == 0 ? "prompt step" : "mixed step";
}

// Trace Event Format, in microseconds: complete events ("X"), counters ("C") and names ("M"). Schedulers are processes;
// their steps are a thread, and so is each request.
class Timeline {
 public:
  explicit Timeline(const std::filesystem::path& file) : file_(file) {
    if (file.extension() != ".json") throw InputErrors(file.string() + ": a timeline must be .json");
    file_.stream() << "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  }
  void start(const FleetShape& fleet, const SchedulerLimits& limits) {
    kv_blocks_ = limits.kv_blocks;
    for (int i = 0; i < fleet.schedulers(); ++i) {
      name("process_name", i, kSteps, scheduler_name(i, fleet));
      name("thread_name", i, kSteps, "steps");
    }
  }
  void request(const ServedRequest& r) {
    const Request& q = r.request;
    const std::int64_t thread = q.id + kSteps + 1;
    const std::string sizes = R"("prompt": )" + std::to_string(q.prompt) + R"(, "output": )" + std::to_string(q.output);
    name("thread_name", r.server, thread, "request " + std::to_string(q.id));
    event("queue", r.server, thread, q.arrival, r.started - q.arrival, sizes);
    event("prefill", r.server, thread, r.started, r.first_token - r.started, sizes);
    event("decode", r.server, thread, r.first_token, r.last_token - r.first_token, sizes);
  }
  void step(const StepRun& r, Ticks start, Ticks time) {
    event(kind_of_step(r), r.server, kSteps, start, time,
          R"("sequences": )" + std::to_string(r.sequences) + R"(, "drafts": )" + std::to_string(r.drafts) +
              R"(, "prompt tokens": )" + std::to_string(r.prompt_tokens));
  }
  // What the scheduler has while it runs these steps.
  void load(const StepRun& r) {
    Ticks& until = until_.try_emplace(r.server, r.start).first->second;
    if (until < r.start) idle(r.server, until);
    counter("running", "sequences", r.server, r.start, r.sequences);
    counter("waiting", "requests", r.server, r.start, r.waiting);
    counter("KV", "utilization", r.server, r.start, to_double(r.kv_blocks) / to_double(kv_blocks_));
    until = r.start + r.time();
  }
  void commit() {
    for (const auto& [server, until] : until_) idle(server, until);
    file_.stream() << "\n]}\n";
    file_.commit();
  }

 private:
  static constexpr std::int64_t kSteps = 0;  // the thread of steps; those of requests follow

  void begin(std::string_view kind, std::string_view name, int process) {
    file_.stream() << (first_ ? "\n" : ",\n") << R"({"ph": ")" << kind << R"(", "name": ")" << name << R"(", "pid": )"
                   << process;
    first_ = false;
  }
  void name(std::string_view what, int process, std::int64_t thread, const std::string& name) {
    begin("M", what, process);
    file_.stream() << R"(, "tid": )" << thread << R"(, "args": {"name": ")" << name << "\"}}";
  }
  void event(std::string_view name, int process, std::int64_t thread, Ticks start, Ticks length,
             const std::string& arguments) {
    begin("X", name, process);
    file_.stream() << R"(, "tid": )" << thread << R"(, "ts": )" << microseconds(start) << R"(, "dur": )"
                   << microseconds(length) << R"(, "args": {)" << arguments << "}}";
  }
  // A counter holds its value until the next of its name, so that only changes are written. Perfetto shows both names:
  // "running sequences".
  void counter(const std::string& name, std::string_view of, int process, Ticks at, double value) {
    const auto [last, fresh] = counters_.try_emplace(std::pair(process, name), value);
    if (!fresh && last->second == value) return;
    last->second = value;
    begin("C", name, process);
    file_.stream() << R"(, "ts": )" << microseconds(at) << R"(, "args": {")" << of << R"(": )" << number(value) << "}}";
  }
  // A scheduler runs nothing only if it has no sequences, which hold no blocks then. What waits, a static batch that is
  // being filled, is not recorded.
  void idle(int server, Ticks from) {
    counter("running", "sequences", server, from, 0);
    counter("KV", "utilization", server, from, 0);
  }

  AtomicFile file_;
  bool first_ = true;
  std::int64_t kv_blocks_ = 1;                              // of each scheduler
  std::map<int, Ticks> until_;                              // the end of the last steps, by server
  std::map<std::pair<int, std::string>, double> counters_;  // their last values
};

}  // namespace

struct ServingRecords::Open {
  std::unique_ptr<RowsFile> requests, steps;
  std::unique_ptr<Timeline> timeline;
};

ServingRecords::ServingRecords(const Files& f) : open_(std::make_unique<Open>()) {
  if (!f.requests.empty()) open_->requests = std::make_unique<RowsFile>(f.requests);
  if (!f.steps.empty()) open_->steps = std::make_unique<RowsFile>(f.steps);
  if (!f.timeline.empty()) open_->timeline = std::make_unique<Timeline>(f.timeline);
}
ServingRecords::~ServingRecords() = default;

void ServingRecords::on_start(const FleetShape& fleet, const SchedulerLimits& limits) {
  if (open_->timeline) open_->timeline->start(fleet, limits);
}

void ServingRecords::on_request(const ServedRequest& r) {
  const Request& q = r.request;
  if (open_->requests)
    open_->requests->row({{"id", std::to_string(q.id)},
                          {"arrival", seconds(q.arrival)},
                          {"prompt_tokens", std::to_string(q.prompt)},
                          {"output_tokens", std::to_string(q.output)},
                          {"started", seconds(r.started)},
                          {"first_token", seconds(r.first_token)},
                          {"last_token", seconds(r.last_token)},
                          {"decode_steps", std::to_string(r.steps)},
                          {"preemptions", std::to_string(r.preemptions)},
                          {"server", std::to_string(r.server)}});
  if (open_->timeline) open_->timeline->request(r);
}

void ServingRecords::on_step(const StepRun& r) {
  if (open_->timeline) open_->timeline->load(r);
  Ticks start = r.start, time = r.first;
  for (std::int64_t i = 0; i < r.steps; ++i) {
    const std::int64_t emitted = r.emitted / r.steps;
    if (open_->steps)
      open_->steps->row({{"start", seconds(start)},
                         {"time", seconds(time)},
                         {"server", std::to_string(r.server)},
                         {"sequences", std::to_string(r.sequences)},
                         {"draft_length", std::to_string(r.drafts)},
                         {"prompt_tokens", std::to_string(r.prompt_tokens)},
                         {"emitted", std::to_string(emitted)},
                         {"waiting", std::to_string(r.waiting)},
                         {"kv_blocks", std::to_string(r.kv_blocks)}});
    if (open_->timeline) open_->timeline->step(r, start, time);
    start += time;
    time += r.rise;
  }
}

void ServingRecords::commit() {
  if (open_->requests) open_->requests->commit();
  if (open_->steps) open_->steps->commit();
  if (open_->timeline) open_->timeline->commit();
}

}  // namespace draftline
