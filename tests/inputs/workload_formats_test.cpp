// SPDX-License-Identifier: Apache-2.0
// Workloads in files that are not traces: conversations, batches, records of a benchmark and a server's metrics.
#include <algorithm>

#include "core/text_file.h"
#include "inputs/workload.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

namespace draftline {

namespace {

WorkloadTrace trace_of_file(const std::string& name, const std::string& text) {
  const FreshFolder folder;
  write_text_file(folder.path() / name, text);
  return read_workload_trace(folder.path() / name);
}

}  // namespace

TEST_CASE("conversations of ShareGPT are requests of the first message and its answer, whose lengths are estimated") {
  const WorkloadTrace t = trace_of_file("sharegpt.json", R"([
    {"id": "a", "conversations": [{"from": "human", "value": "four and four and 4"}, {"from": "gpt", "value": "12345678"},
                                  {"from": "human", "value": "more"}]},
    {"id": "b", "conversations": [{"from": "human", "value": "without an answer"}]}])");
  REQUIRE(t.requests.size() == 1);
  CHECK(t.requests[0].prompt == 5);  // 19 bytes
  CHECK(t.requests[0].output == 2);
  CHECK_FALSE(t.has_arrivals);
  REQUIRE(t.notes.size() == 1);
  CHECK(contains(t.notes[0], "4 bytes a token"));
}

TEST_CASE("requests of a batch have the most that they may generate, responses what they did") {
  const WorkloadTrace requests = trace_of_file(
      "batch.jsonl",
      R"({"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "m", "max_tokens": 300, "messages": [{"role": "system", "content": "12345678"}, {"role": "user", "content": [{"type": "text", "text": "1234"}]}]}})"
      "\n");
  REQUIRE(requests.requests.size() == 1);
  CHECK(requests.requests[0].prompt == 3);
  CHECK(requests.requests[0].output == 300);
  CHECK_FALSE(requests.has_arrivals);
  CHECK(contains(requests.notes.at(0), "the file of responses counts both"));
  const WorkloadTrace responses = trace_of_file(
      "out.jsonl",
      R"({"custom_id": "1", "response": {"status_code": 200, "body": {"usage": {"prompt_tokens": 22, "completion_tokens": 7}}}, "error": null})"
      "\n"
      R"({"custom_id": "2", "response": {"status_code": 500, "body": {}}, "error": null})"
      "\n");
  REQUIRE(responses.requests.size() == 1);
  CHECK(responses.requests[0].prompt == 22);
  CHECK(responses.requests[0].output == 7);
  CHECK(contains(mistake_of([] { trace_of_file("batch.jsonl", R"({"body": {"prompt": "1234"}})"); }),
                 "its output is unknown"));
}

TEST_CASE("records of AIPerf are a trace, in the order of arrival") {
  const auto record = [](int start, int prompt) {
    return R"({"metadata": {"request_start_ns": )" + std::to_string(start) +
           R"(000000000}, "metrics": {"input_sequence_length": {"value": )" + std::to_string(prompt) +
           R"(}, "output_sequence_length": {"value": 5}}, "error": null})" + "\n";
  };
  const WorkloadTrace t = trace_of_file("profile_export.jsonl", record(9, 90) + record(7, 70));
  REQUIRE(t.requests.size() == 2);
  CHECK(t.requests[0].prompt == 70);
  CHECK(t.requests[1].arrival == Approx(2));
}

TEST_CASE("histograms of a server's metrics are lengths with their shares and means") {
  const auto scrape = [](int n) {
    const auto figure = [&](const std::string& name, double each) {
      return name + "{model_name=\"m\"} " + std::to_string(each * n) + "\n";
    };
    const auto bucket = [&](const std::string& of, const std::string& le, double share) {
      return "vllm:request_" + of + "_tokens_bucket{le=\"" + le + "\",model_name=\"m\"} " + std::to_string(share * n) +
             "\n";
    };
    return "# HELP x\n" + bucket("prompt", "100.0", 0.5) + bucket("prompt", "1000.0", 1) + bucket("prompt", "+Inf", 1) +
           figure("vllm:request_prompt_tokens_sum", 300) + figure("vllm:request_prompt_tokens_count", 1) +
           bucket("generation", "50.0", 1) + bucket("generation", "+Inf", 1) +
           figure("vllm:request_generation_tokens_sum", 25) + figure("vllm:request_generation_tokens_count", 1) +
           figure("vllm:prefix_cache_queries_total", 300) + figure("vllm:prefix_cache_hits_total", 120);
  };
  const auto mean = [](const WorkloadTrace& t, int RecordedRequest::*of) {
    double sum = 0;
    for (const RecordedRequest& r : t.requests) sum += r.*of;
    return sum / static_cast<double>(t.requests.size());
  };
  const WorkloadTrace one = trace_of_file("metrics.txt", scrape(2000));
  CHECK(one.requests.size() == 1000);
  CHECK(mean(one, &RecordedRequest::prompt) == Approx(300).epsilon(0.01));
  CHECK(mean(one, &RecordedRequest::output) == Approx(25).epsilon(0.02));
  CHECK(std::ranges::count_if(one.requests, [](const auto& r) { return r.prompt < 100; }) > 450);
  CHECK_FALSE(std::ranges::is_sorted(one.requests, {}, &RecordedRequest::prompt));
  REQUIRE(one.notes.size() == 3);
  CHECK(contains(one.notes[1], "a scrape has no rate"));
  CHECK(contains(one.notes[2], "40.0 % of the prompts' tokens were found in the prefix cache"));
  CHECK(contains(one.notes[2], "\"shared_prefix\": 120"));
  const WorkloadTrace two = trace_of_file("metrics.txt", "1700000000\n" + scrape(2000) + "1700000100\n" + scrape(2500));
  CHECK(contains(two.notes.at(0), "500 requests in histograms"));
  CHECK(contains(two.notes.at(1), "5.00 requests/s between the scrapes"));
  CHECK(contains(mistake_of([] { trace_of_file("metrics.txt", "vllm:num_requests_running 3\n"); }),
                 "contains no histograms"));
}

TEST_CASE("a Parquet file of requests is answered with a program that converts it") {
  CHECK(contains(mistake_of([] { trace_of_file("a.parquet", "PAR1"); }), "Parquet is not read; convert it"));
}

}  // namespace draftline
