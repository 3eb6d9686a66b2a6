// SPDX-License-Identifier: Apache-2.0
// Served runs in the files of other programs, each with the keys that matter here (F25 and F28 of the public reports).
#include "inputs/served_formats.h"

#include "core/text_file.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"
#include "tests/source_folder.h"

namespace draftline {

namespace {

std::vector<ServedRun> runs_of_file(const std::string& name, const std::string& text,
                                    const std::string& arguments = "") {
  const FreshFolder folder;
  write_text_file(folder.path() / name, text);
  return read_served_runs((folder.path() / name).string() + arguments);
}

}  // namespace

TEST_CASE("a profile export of AIPerf is a run, whose batch follows from rate and times") {
  const auto runs = runs_of_file("profile_export_aiperf.json", R"({"schema_version": "1.3", "aiperf_version": "0.11.0",
    "request_throughput": {"unit": "requests/sec", "avg": 6.8},
    "request_latency": {"unit": "ms", "avg": 2334.7, "p50": 2191.4},
    "time_to_first_token": {"unit": "ms", "avg": 28.7, "p50": 26.7},
    "inter_token_latency": {"unit": "ms", "avg": 8.78, "p50": 8.73},
    "output_sequence_length": {"unit": "tokens", "avg": 263.0},
    "input_sequence_length": {"unit": "tokens", "avg": 210.0}, "request_count": {"unit": "requests", "avg": 2044.0}})");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].time.value == Approx(8.73e-3));
  CHECK(runs[0].batch_size == Approx(6.8 * (2.3347 - 0.0287)));
  CHECK(runs[0].context == Approx(210 + 263 / 2.0));
  CHECK(runs[0].ttft->value == Approx(26.7e-3));
  CHECK(contains(mistake_of([] {
                   runs_of_file("a.json",
                                R"({"request_latency": {"unit": "ms", "avg": 3}, "input_sequence_length": {"avg": 9},
                     "output_sequence_length": {"unit": "tokens", "avg": 9}})");
                 }),
                 "run aiperf with --streaming"));
}

TEST_CASE("records of AIPerf are one run of the requests that succeeded") {
  // Two requests that decode together for 1 s, 10 tokens each behind the first; a third failed.
  const auto record = [](const std::string& start, const std::string& error) {
    return R"({"metadata": {"request_start_ns": )" + start +
           R"(000000000, "request_end_ns": 12000000000, "benchmark_phase": "profiling"}, )"
           R"("metrics": {"input_sequence_length": {"value": 100}, "output_sequence_length": {"value": 11}, )"
           R"("time_to_first_token": {"value": 1000, "unit": "ms"}}, "error": )" +
           error + "}\n";
  };
  const std::string lines = record("10", "null") + record("10", "null") + record("3", "{\"code\": 500}");
  const auto runs = runs_of_file("profile_export.jsonl", lines);
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].batch_size == Approx(2));
  CHECK(runs[0].time.value == Approx(0.1));
  CHECK(runs[0].context == Approx(105));
  CHECK(ends_with(runs[0].place, "profile_export.jsonl"));
}

TEST_CASE("a report of trtllm-bench is a run at the requests that decode") {
  const std::string report = R"({"engine": {"model": "Qwen/Qwen3-8B", "version": "1.0"},
    "world_info": {"tp_size": 2, "pp_size": 1},
    "request_info": {"num_requests": 100, "avg_num_concurrent_requests": 20, "avg_input_length": 500,
                     "avg_output_length": 200},
    "performance": {"total_latency_ms": 1000, "avg_request_latency_ms": 1000})";
  const auto runs =
      runs_of_file("report.json", report + R"(, "streaming_metrics": {"avg_ttft_ms": 200, "avg_tpot_ms": 4.1,
    "tpot_percentiles": {"p50": 4.0}}, "decoding_stats": {"acceptance_length_percentiles": {"average": 2.5}}})");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].batch_size == Approx(16));
  CHECK(runs[0].tokens_per_step == 2.5);
  CHECK(runs[0].time.value == Approx(2.5 * 4e-3));
  CHECK(runs[0].tensor_parallel == 2);
  CHECK(runs[0].model_id == "Qwen/Qwen3-8B");
  CHECK(contains(mistake_of([&] { runs_of_file("report.json", report + "}"); }), "run trtllm-bench with --streaming"));
}

TEST_CASE("llama-bench's rows that generate are runs of one sequence") {
  const std::string rows =
      R"({"model_filename": "q.gguf", "n_prompt": 512, "n_gen": 0, "n_depth": 0, "avg_ns": 90000000},
    {"model_filename": "q.gguf", "n_prompt": 0, "n_gen": 128, "n_depth": 4096, "avg_ns": 1280000000})";
  const auto runs = runs_of_file("bench.json", "[" + rows + "]");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].time.value / runs[0].steps == Approx(10e-3));
  CHECK(runs[0].context == 4096 + 64);
  CHECK(ends_with(runs[0].place, "bench.json#/1"));
}

TEST_CASE("llama-batched-bench's rows are runs of as many sequences") {
  const auto runs =
      runs_of_file("batched.jsonl",
                   "{\"n_kv_max\": 4096, \"pp\": 128, \"tg\": 64, \"pl\": 8, \"t_pp\": 0.5, \"t_tg\": 0.64}\n"
                   "{\"n_kv_max\": 4096, \"pp\": 128, \"tg\": 0, \"pl\": 8, \"t_pp\": 0.5, \"t_tg\": 0}\n");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].batch_size == 8);
  CHECK(runs[0].time.value / runs[0].steps == Approx(10e-3));
  CHECK(runs[0].context == 128 + 32);
}

TEST_CASE("an older result of vLLM gets its lengths from the argument") {
  const std::string old = R"({"model_id": "m", "mean_tpot_ms": 20.0, "median_tpot_ms": 19.5, "mean_ttft_ms": 90})";
  const auto runs = runs_of_file("old.json", old, "@batch=16,prompt=256,output=100");
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].batch_size == 16);
  CHECK(runs[0].time.value == Approx(19.5e-3));
  CHECK(runs[0].request_prompt == 256);
  CHECK(runs[0].context == Approx(306));
  CHECK(contains(mistake_of([&] { runs_of_file("old.json", old); }), "write FILE@batch=8,prompt=256,output=512"));
}

TEST_CASE("an unknown column names those that are known") {
  const std::string why = mistake_of([] { runs_of_file("steps.csv", "batch_size,context_len,tpot\n1,512,3.9\n"); });
  CHECK(contains(why, "unknown column \"batch_size\"; did you mean \"batch\"?"));
  CHECK(contains(why, "unknown column \"context_len\"; did you mean \"context\"?"));
  CHECK(contains(why, "unknown column \"tpot\"; the name must include the unit: \"tpot_ms\""));
  CHECK(contains(why, "known columns: batch, context, step_ms, tpot_ms"));
}

TEST_CASE("a Parquet file is answered with a program that converts it") {
  CHECK(contains(mistake_of([] { runs_of_file("steps.parquet", "PAR1"); }),
                 "duckdb -c \"copy 'steps.parquet' to 'steps.csv'\""));
}

TEST_CASE("an unknown result names the known, and docs/recipes/your_server.md lists them") {
  const std::string why = mistake_of([] { runs_of_file("a.json", "{}"); });
  const std::string page = read_text_file(test::source_folder() / "docs" / "recipes" / "your_server.md");
  for (const ServedFormat& format : served_formats()) {
    CHECK(contains(why, format.title));
    CHECK(contains(page, format.title));
  }
}

}  // namespace draftline
