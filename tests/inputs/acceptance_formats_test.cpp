// SPDX-License-Identifier: Apache-2.0
// Acceptance in files as engines write them, each with the lines and keys that matter here (F24 of the public reports).
#include "inputs/formats/acceptance_formats.h"

#include <fstream>

#include "core/text_file.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"
#include "tests/source_folder.h"

namespace draftline {

namespace {

ServedAcceptance read_acceptance_of(const std::string& text) {
  const FreshFolder folder;
  const auto file = folder.path() / "served";
  std::ofstream(file) << text;
  return ServedAcceptance::read(file);
}

const std::string kVllm = "(APIServer pid=101) INFO 01-02 12:36:16 [metrics.py:96] SpecDecoding metrics: ";

}  // namespace

TEST_CASE("lines of vLLM's log are pooled by their steps") {
  // 203 and 173 steps: 1 + (206 + 226) / 376; the first draft is accepted in 0.601 x 203 + 0.68 x 173 of them.
  const ServedAcceptance a = read_acceptance_of(
      kVllm +
      "Mean acceptance length: 2.01, Accepted throughput: 20.60 tokens/s, Drafted throughput: 60.90 tokens/s, "
      "Accepted: 206 tokens, Drafted: 609 tokens, Per-position acceptance rate: 0.601, 0.286, 0.128, Avg Draft "
      "acceptance rate: 33.8%\nINFO Engine 000: Avg prompt throughput: 0.0 tokens/s\n" +
      kVllm +
      "Mean acceptance length: 2.31, Accepted throughput: 22.60 tokens/s, Drafted throughput: 51.90 tokens/s, "
      "Accepted: 226 tokens, Drafted: 519 tokens, Per-position acceptance rate: 0.680, 0.410, 0.218, Avg Draft "
      "acceptance rate: 43.5%\n");
  CHECK(a.mean_length == Approx(1 + 432 / 376.0));
  CHECK(a.draft_length() == 3);
  REQUIRE(a.per_position.size() == 3);
  CHECK(a.per_position[0] == Approx((0.601 * 203 + 0.680 * 173) / 376));
  CHECK(a.per_position[2] == Approx((0.128 * 203 + 0.218 * 173) / 376));
}

TEST_CASE("where drafts vary in length, vLLM's mean counts the steps") {
  // 100 accepted at a mean of 1.5: 200 steps, not 300 / 3.
  const ServedAcceptance a =
      read_acceptance_of(kVllm +
                         "Mean acceptance length: 1.50, Accepted: 100 tokens, Drafted: 300 tokens, "
                         "Per-position acceptance rate: 0.400, 0.080, 0.020, Avg Draft acceptance rate: 33.3%");
  CHECK(a.mean_length == Approx(1.5));
  CHECK_FALSE(a.draft_length());
}

TEST_CASE("vLLM's first engine logged sums, of which the last are the run's") {
  const auto line = [](const char* drafted, const char* emitted) {
    return "INFO metrics.py:361] Speculative metrics: Draft acceptance rate: 0.607, System efficiency: 0.510, Number "
           "of "
           "speculative tokens: 4, Number of accepted tokens: 9, Number of draft tokens: " +
           std::string(drafted) + ", Number of emitted tokens: " + emitted + ".\n";
  };
  const ServedAcceptance a = read_acceptance_of(line("40", "20") + line("400", "255"));  // 100 steps
  CHECK(a.mean_length == Approx(2.55));
  CHECK(a.draft_length() == 4);
}

TEST_CASE("lines of SGLang's log count as many steps as sequences run") {
  const ServedAcceptance a = read_acceptance_of(
      "[2026-01-02 10:27:57 TP0] Decode batch. #running-req: 1, #token: 108, token usage: 0.00, accept len: 2.17, "
      "accept rate: 0.54, cuda graph: True, gen throughput (token/s): 170.39, #queue-req: 0,\n"
      "[2026-01-02 10:27:58 TP0] Prefill batch. #new-seq: 2\n"
      "[2026-01-02 10:27:58 TP0] Decode batch. #running-req: 3, #token: 186, accept len: 1.95, accept rate: 0.49\n");
  CHECK(a.mean_length == Approx((2.17 + 3 * 1.95) / 4));
  CHECK(a.per_position.empty());
}

TEST_CASE("llama-server's lines are those of requests, whose first token comes from the prompt") {
  // 400 tokens, of which 399 come from 189 steps that accept 210 drafts.
  const ServedAcceptance a = read_acceptance_of(
      "slot print_timing: id  0 | task 0 | prompt eval time =     212.11 ms /    60 tokens (    3.54 ms per token)\n"
      "       eval time =    6482.91 ms /   400 tokens (   16.21 ms per token,    61.70 tokens per second)\n"
      "slot print_timing: id  0 | task 0 | draft acceptance rate = 0.78652 (  210 accepted /   267 generated)\n");
  CHECK(a.mean_length == Approx(399 / 189.0));
  CHECK_FALSE(a.draft_length());  // 1.4 a step
  const ServedAcceptance later = read_acceptance_of(
      "0.06 I slot print_timing: id  1 | task 0 |        eval time =    2296.72 ms /   256 tokens (8.97 ms)\n"
      "0.06 I slot print_timing: id  1 | task 0 | draft acceptance = 0.64479 (  167 accepted /   259 generated), "
      "mean acceptance length =  2.92, acceptance rate per position = (0.805, 0.632, 0.483)\n");
  CHECK(later.mean_length == Approx(2.92));
  REQUIRE(later.per_position.size() == 3);
  CHECK(later.per_position[0] == Approx(0.805));
  CHECK(later.per_position[1] == Approx(0.632));
  CHECK(later.per_position[2] == Approx(0.483));
  CHECK(later.draft_length() == 3);
}

TEST_CASE("vLLM's metrics of requests are pooled from their histograms") {
  const std::string one = R"({"choices": [], "usage": {}, "metrics": {"speculative_decoding": {
    "mean_acceptance_length": 1.23, "acceptance_histogram": [39, 1, 0, 3], "num_spec_steps": 43,
    "num_draft_tokens": 129, "num_spec_tokens": 3}}})";
  const ServedAcceptance a = read_acceptance_of(one);
  CHECK(a.mean_length == Approx(1 + 10 / 43.0));
  CHECK(a.draft_length() == 3);
  REQUIRE(a.per_position.size() == 3);
  CHECK(a.per_position[0] == Approx(4 / 43.0));
  CHECK(a.per_position[1] == Approx(3 / 43.0));
  // Another request of 7 steps that accept all: a mean of means would be (1.23 + 4) / 2.
  const auto line = [](const std::string& histogram, int drafted) {
    return "{\"metrics\": {\"speculative_decoding\": {\"acceptance_histogram\": " + histogram +
           ", \"num_draft_tokens\": " + std::to_string(drafted) + "}}}";
  };
  const ServedAcceptance both = read_acceptance_of(line("[39, 1, 0, 3]", 129) + "\n" + line("[0, 0, 0, 7]", 21) + "\n");
  CHECK(both.mean_length == Approx(1 + 31 / 50.0));
  const ServedAcceptance array =
      read_acceptance_of("[" + line("[39, 1, 0, 3]", 129) + ", " + line("[0, 0, 0, 7]", 21) + "]");
  CHECK(array.mean_length == both.mean_length);
  const ServedAcceptance events =
      read_acceptance_of("data: {\"choices\": [1]}\n\ndata: " + line("[39, 1, 0, 3]", 129) + "\n\ndata: [DONE]\n");
  CHECK(events.mean_length == Approx(1 + 10 / 43.0));
}

TEST_CASE("an answer of Prometheus has counters, or their increase over a range") {
  const auto answer = [](const std::string& type, const std::string& series) {
    return R"({"status": "success", "data": {"resultType": ")" + type + R"(", "result": [)" + series + "]}}";
  };
  const auto counter = [](const std::string& name, const std::string& values, const std::string& more = "") {
    return R"({"metric": {"__name__": "vllm:)" + name + R"(", "job": "x")" + more + "}, " + values + "}";
  };
  const ServedAcceptance a = read_acceptance_of(
      answer("vector", counter("spec_decode_num_drafts_total", R"("value": [1700000000.1, "100"])") + "," +
                           counter("spec_decode_num_draft_tokens_total", R"("value": [1700000000.1, "200"])") + "," +
                           counter("spec_decode_num_accepted_tokens_total", R"("value": [1700000000.1, "120"])") + "," +
                           counter("spec_decode_num_accepted_tokens_per_pos_total", R"("value": [1700000000.1, "80"])",
                                   R"(, "position": "0")") +
                           "," +
                           counter("spec_decode_num_accepted_tokens_per_pos_total", R"("value": [1700000000.1, "40"])",
                                   R"(, "position": "1")")));
  CHECK(a.mean_length == Approx(2.2));
  CHECK(a.draft_length() == 2);
  CHECK(a.per_position == std::vector{0.8, 0.4});
  // From 1000 to 1100 drafts, then a restart and 50 more: 150 drafts, of which 90 accepted.
  const ServedAcceptance range = read_acceptance_of(
      answer("matrix",
             counter("spec_decode_num_drafts_total", R"("values": [[1, "1000"], [2, "1100"], [3, "50"]])") + "," +
                 counter("spec_decode_num_accepted_tokens_total", R"("values": [[1, "700"], [2, "760"], [3, "30"]])")));
  CHECK(range.mean_length == Approx(1 + 90 / 150.0));
  CHECK(contains(mistake_of([&] { read_acceptance_of(answer("vector", R"({"metric": {}, "value": [1, "2"]})")); }),
                 "query the counters themselves"));
}

TEST_CASE("a report of trtllm-bench has the mean length of requests") {
  CHECK(read_acceptance_of(
            R"({"decoding_stats": {"mode": "Eagle3", "acceptance_length_percentiles": {"average": 2.5, "p50": 2.4}}})")
            .mean_length == 2.5);
}

TEST_CASE("a file without acceptance is answered with the kinds that have it") {
  const std::string why = mistake_of([] { read_acceptance_of("INFO: the server has started\n"); });
  for (const AcceptanceFormat& format : acceptance_formats()) CHECK(contains(why, format.title));
}

TEST_CASE("docs/reference/acceptance.md lists every kind of file with acceptance") {
  const std::string page = read_text_file(test::source_folder() / "docs" / "reference" / "acceptance.md");
  for (const AcceptanceFormat& format : acceptance_formats()) CHECK(contains(page, format.title));
}

}  // namespace draftline
