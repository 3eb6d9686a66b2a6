// SPDX-License-Identifier: Apache-2.0
// The timeline of a serving run: what a trace viewer finds in it.
#include "reports/serving_records.h"

#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "core/text_file.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"

namespace draftline {

namespace {

// The events of a timeline of what `record` records of a fleet with pools of 100 KV blocks.
template <class Record>
nlohmann::json timeline_of(const FleetShape& fleet, Record record) {
  const FreshFolder folder;
  ServingRecords::Files files;
  files.timeline = folder.path() / "t.json";
  ServingRecords records(files);
  SchedulerLimits limits;
  limits.kv_blocks = 100;
  records.on_start(fleet, limits);
  record(records);
  records.commit();
  return nlohmann::json::parse(read_text_file(files.timeline)).at("traceEvents");
}

constexpr Ticks kMicrosecond = 1'000'000;

StepRun steps_from(Ticks start, std::int64_t steps, int sequences, int prompt_tokens) {
  StepRun r;
  r.start = start;
  r.first = kMicrosecond;
  r.steps = steps;
  r.sequences = sequences;
  r.prompt_tokens = prompt_tokens;
  r.emitted = sequences * steps;
  return r;
}

}  // namespace

TEST_CASE("a timeline says whose tokens a step computes, and what the scheduler has meanwhile") {
  // in microseconds: 0 [prompt] 1 [prompt and sequence] 2 idle 8 [sequences] 9 [sequences] 10
  const auto events = timeline_of({}, [](ServingRecords& records) {
    StepRun prompt = steps_from(0, 1, 0, 64), mixed = steps_from(kMicrosecond, 1, 1, 64),
            decode = steps_from(8 * kMicrosecond, 2, 3, 0);
    prompt.waiting = 2, mixed.waiting = decode.waiting = 1;
    prompt.kv_blocks = 4, mixed.kv_blocks = 8, decode.kv_blocks = 25;
    for (const StepRun& r : {prompt, mixed, decode}) records.on_step(r);
  });
  std::vector<std::string> steps;
  std::map<std::string, std::vector<std::pair<double, double>>> counters;
  for (const auto& event : events) {
    if (event.at("ph") == "X") steps.push_back(event.at("name").get<std::string>());
    if (event.at("ph") != "C") continue;
    const auto figure = event.at("args").begin();
    counters[event.at("name").get<std::string>() + " " + figure.key()].emplace_back(event.at("ts").get<double>(),
                                                                                    figure.value().get<double>());
  }
  CHECK(steps == std::vector<std::string>{"prompt step", "mixed step", "decode step", "decode step"});
  using Changes = std::vector<std::pair<double, double>>;  // of a counter: when, and to what
  CHECK(counters.size() == 3);
  CHECK(counters["running sequences"] == Changes{{0, 0}, {1, 1}, {2, 0}, {8, 3}, {10, 0}});
  CHECK(counters["waiting requests"] == Changes{{0, 2}, {1, 1}});
  CHECK(counters["KV utilization"] == Changes{{0, 0.04}, {1, 0.08}, {2, 0}, {8, 0.25}, {10, 0}});
}

TEST_CASE("sequences that wait while prompts are computed make no mixed step") {
  const auto events = timeline_of({}, [](ServingRecords& records) {
    StepRun r = steps_from(0, 1, 5, 64);
    r.emitted = 0;  // as without chunked prefill
    records.on_step(r);
  });
  int steps = 0;
  for (const auto& event : events) {
    if (event.at("ph") != "X") continue;
    CHECK(event.at("name") == "prompt step");
    ++steps;
  }
  CHECK(steps == 1);
}

TEST_CASE("a timeline names the parts of a fleet, and requests") {
  const auto names_in = [](const FleetShape& fleet) {
    std::map<std::string, std::string> names;  // "1" of a process, "1/8" of a thread
    const auto events = timeline_of(fleet, [](ServingRecords& records) {
      ServedRequest r;
      r.request.id = 7;
      r.server = 1;
      records.on_request(r);
    });
    for (const auto& event : events) {
      if (event.at("ph") != "M") continue;
      std::string key = std::to_string(event.at("pid").get<int>());
      if (event.at("name") == "thread_name") key += "/" + std::to_string(event.at("tid").get<int>());
      names[key] = event.at("args").at("name").get<std::string>();
    }
    return names;
  };
  using Names = std::map<std::string, std::string>;
  FleetShape disaggregated;
  disaggregated.prefill_replicas = 1;
  CHECK(
      names_in(disaggregated) ==
      Names{{"0", "replica 0"}, {"0/0", "steps"}, {"1", "prefill replica 0"}, {"1/0", "steps"}, {"1/8", "request 7"}});
  FleetShape in_parts;
  in_parts.replicas = 2;
  in_parts.parts = 2;
  Names names = names_in(in_parts);
  CHECK(names["1"] == "replica 0, part 1");
  CHECK(names["2"] == "replica 1, part 0");
  in_parts.prefill_replicas = 2;
  in_parts.prefill_parts = 3;
  names = names_in(in_parts);
  CHECK(names["3"] == "replica 1, part 1");
  CHECK(names["4"] == "prefill replica 0, part 0");
  CHECK(names["9"] == "prefill replica 1, part 2");
  FleetShape pipeline;
  pipeline.stages = 2;
  names = names_in(pipeline);
  CHECK(names["1"] == "replica 0, batch 1");
}

}  // namespace draftline
