// SPDX-License-Identifier: Apache-2.0
#include "reports/serving_records.h"

#include <charconv>
#include <string>
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

// A file of rows of named numbers, as CSV or JSON lines.
class RowsFile {
 public:
  explicit RowsFile(const std::filesystem::path& file) : file_(file) {
    const auto ending = file.extension();
    if (ending != ".csv" && ending != ".jsonl")
      throw InputErrors(file.string() + ": records are written as .csv or .jsonl");
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

// Trace Event Format: complete events ("X") in microseconds; servers are processes, requests are threads.
class Timeline {
 public:
  explicit Timeline(const std::filesystem::path& file) : file_(file) {
    if (file.extension() != ".json") throw InputErrors(file.string() + ": a timeline is written as .json");
    file_.stream() << "{\"displayTimeUnit\": \"ms\", \"traceEvents\": [";
  }
  void event(const std::string& name, int process, std::int64_t thread, Ticks start, Ticks length,
             const std::string& arguments) {
    file_.stream() << (first_ ? "\n" : ",\n") << R"({"ph": "X", "name": ")" << name << R"(", "pid": )" << process
                   << R"(, "tid": )" << thread << R"(, "ts": )" << number(static_cast<double>(start) / 1e6)
                   << R"(, "dur": )" << number(static_cast<double>(length) / 1e6) << R"(, "args": {)" << arguments
                   << "}}";
    first_ = false;
  }
  void commit() {
    file_.stream() << "\n]}\n";
    file_.commit();
  }

 private:
  AtomicFile file_;
  bool first_ = true;
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
  if (open_->timeline) {
    const std::string sizes = R"("prompt": )" + std::to_string(q.prompt) + R"(, "output": )" + std::to_string(q.output);
    constexpr std::int64_t kLanes = 1;  // lane 0 is the server itself
    open_->timeline->event("queue", r.server, q.id + kLanes, q.arrival, r.started - q.arrival, sizes);
    open_->timeline->event("prefill", r.server, q.id + kLanes, r.started, r.first_token - r.started, sizes);
    open_->timeline->event("decode", r.server, q.id + kLanes, r.first_token, r.last_token - r.first_token, sizes);
  }
}

void ServingRecords::on_step(const StepRun& r) {
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
    if (open_->timeline)
      open_->timeline->event(r.prompt_tokens > 0 ? "mixed step" : "decode step", r.server, 0, start, time,
                             R"("sequences": )" + std::to_string(r.sequences) + R"(, "drafts": )" +
                                 std::to_string(r.drafts) + R"(, "prompt tokens": )" + std::to_string(r.prompt_tokens));
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
