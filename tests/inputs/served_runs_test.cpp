// SPDX-License-Identifier: Apache-2.0
// Benchmarks of servers, as their programs write them, with the keys that matter here.
#include "inputs/served_runs.h"

#include <fstream>

#include "core/errors.h"
#include "core/text_file.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

namespace draftline {

namespace {

class Folder {
 public:
  std::string write(const std::string& name, const std::string& text) const {
    write_text_file(folder_.path() / name, text);
    return (folder_.path() / name).string();
  }
  // The message without the folder.
  std::string mistake(const std::string& argument) const {
    std::string m = mistake_of([&] { read_served_runs((folder_.path() / argument).string()); });
    const std::string prefix = folder_.path().string() + "/";
    for (std::size_t at; (at = m.find(prefix)) != std::string::npos;) m.erase(at, prefix.size());
    return m;
  }

 private:
  FreshFolder folder_;
};

// 100 requests of 500 + 201 tokens: 200 gaps of 10 ms each, 0.1 s before the first token. In 26 s, in flight: 100 x 2.1
// / 26 = 8.08, of which 8 at most; decoding: 100 x 2 / 26 = 7.69.
std::string serving(const std::string& more) {
  return R"({"backend": "vllm", "completed": 100, "failed": 0, "duration": 26.0, "total_input_tokens": 50000,
    "total_output_tokens": 20100, "mean_tpot_ms": 10.0, "median_tpot_ms": 9.9, "mean_ttft_ms": 100.0)" +
         more + "}";
}

}  // namespace

TEST_CASE("a result of vLLM's serving benchmark is its median gap at the requests in flight") {
  const Folder f;
  const auto runs = read_served_runs(f.write("c8.json", serving(R"(, "max_concurrency": 8, "median_itl_ms": 9.5)")));
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].time.value == Approx(9.5e-3));
  CHECK(runs[0].batch_size == 8);
  CHECK(runs[0].context == Approx(500 + 201 / 2.0));
  CHECK(runs[0].steps == 1);
  CHECK_FALSE(runs[0].speculates());
  CHECK(ends_with(runs[0].place, "c8.json"));
  CHECK(runs[0].notes.empty());
}

TEST_CASE("an open load has as many sequences as decode, by Little's law") {
  const Folder f;
  const auto runs = read_served_runs(f.write("open.json", serving(R"(, "max_concurrency": null)")));
  CHECK(runs[0].batch_size == Approx(100 * 2.0 / 26));
  CHECK(runs[0].time.value == Approx(9.9e-3));  // no gaps: the median TPOT
}

TEST_CASE("requests that wait long are told, as the batch isn't known then") {
  const Folder f;
  const std::string text =
      R"({"completed": 100, "duration": 26.0, "total_input_tokens": 50000, "total_output_tokens": 20100,
    "median_tpot_ms": 10.0, "mean_tpot_ms": 10.0, "mean_ttft_ms": 3000.0, "max_concurrency": 64})";
  const std::string file = f.write("late.json", text);
  const auto runs = read_served_runs(file);
  REQUIRE(runs[0].notes.size() == 1);
  CHECK(contains(runs[0].notes[0], "late.json#: requests wait"));
  CHECK(read_served_runs(file + "@batch=9")[0].notes.empty());
  CHECK(read_served_runs(file + "@batch=9")[0].batch_size == 9);
}

TEST_CASE("a speculative run's step emits its acceptance length") {
  const Folder f;
  const auto vllm = read_served_runs(f.write(
      "spec.json", serving(R"(, "max_concurrency": 8, "median_itl_ms": 24.0, "spec_decode_acceptance_length": 2.5,
        "spec_decode_num_drafts": 1000, "spec_decode_draft_tokens": 3000)")));
  CHECK(vllm[0].speculates());
  CHECK(vllm[0].tokens_per_step == 2.5);
  CHECK(vllm[0].draft_length == 3.0);
  CHECK(vllm[0].time.value == Approx(2.5 * 9.9e-3));
  const auto sglang = read_served_runs(f.write(
      "s.jsonl",
      R"({"completed": 10, "duration": 26.0, "total_input_tokens": 5000, "total_output_tokens": 2010, "mean_tpot_ms": 10.0, "max_concurrency": 1, "accept_length": 3.0})"
      "\n\n"
      R"({"completed": 10, "duration": 26.0, "total_input_tokens": 5000, "total_output_tokens": 2010, "mean_tpot_ms": 8.0, "max_concurrency": 1, "accept_length": null})"
      "\n"));
  REQUIRE(sglang.size() == 2);
  CHECK(sglang[0].time.value == Approx(30e-3));
  CHECK(sglang[1].time.value == Approx(8e-3));
  CHECK(ends_with(sglang[1].place, "s.jsonl:3"));
}

TEST_CASE("lists of requests say how many decoded together") {
  // Two requests: tokens from 1 to 3 s and from 2 to 4 s, a gap of 0.5 s each. Of 4 seconds' worth of sequences, one
  // decodes alone for 2 and two for 1: (1 + 4 + 1) / (1 + 2 + 1) on average over tokens.
  const Folder f;
  const std::string lists = R"(, "start_times": [0.5, 1.0], "ttfts": [0.5, 1.0], "input_lens": [100, 300],
      "output_lens": [5, 5], "itls": [[0.5, 0.5, 0.5, 0.5], [0.5, 0.5, 0.5, 0.5]])";
  const auto runs = read_served_runs(f.write("detailed.json", serving(lists)));
  CHECK(runs[0].batch_size == Approx(1.5));
  CHECK(runs[0].context == Approx(200 + 2));
  CHECK(runs[0].time.value == Approx(0.5));
  CHECK(
      f.mistake((f.write("torn.json", serving(R"(, "start_times": [0.5], "ttfts": [0.5, 1.0], "input_lens": [100, 300],
      "itls": [[0.5], [0.5]])")),
                 "torn.json")) ==
      "torn.json#/itls: \"start_times\", \"ttfts\", \"itls\" and \"input_lens\" must have equal lengths");
  f.write("none.json", serving(R"(, "start_times": [0.5], "ttfts": [0.5], "input_lens": [100], "itls": [[]])"));
  CHECK(f.mistake("none.json") == "none.json#/itls: no request has a second token");
}

TEST_CASE("a whole batch's latency needs its size from the user") {
  const Folder f;
  const std::string file = f.write(
      "latency.json", R"({"avg_latency": 0.9, "latencies": [0.8, 1.0], "percentiles": {"10": 0.8, "50": 0.833}})");
  const auto runs = read_served_runs(file + "@batch=8,prompt=32,output=128,tensor_parallel=4,transformer=llama-2-7b");
  CHECK(runs[0].time.value == Approx(0.833));
  CHECK(runs[0].steps == 127);
  CHECK(runs[0].prompt_tokens == 32);
  CHECK(runs[0].batch_size == 8);
  CHECK(runs[0].context == 96);
  CHECK(runs[0].tensor_parallel == 4);
  CHECK(runs[0].transformer == "llama-2-7b");
  CHECK(f.mistake("latency.json") ==
        "latency.json#: contains times of batches without their size: write FILE@batch=8,prompt=32,output=128");
}

TEST_CASE("guidellm's loads are a run each") {
  const Folder f;
  const auto load = [](int concurrency, double gap) {
    return R"({"metrics": {"request_concurrency": {"successful": {"mean": )" + std::to_string(concurrency) +
           R"(}}, "inter_token_latency_ms": {"successful": {"median": )" + std::to_string(gap) +
           R"(}}, "prompt_token_count": {"successful": {"mean": 256}}, "output_token_count": {"successful": {"mean": 128}}}})";
  };
  const auto runs = read_served_runs(
      f.write("benchmarks.json", R"({"metadata": {}, "benchmarks": [)" + load(1, 7) + ", " + load(16, 8) + "]}"));
  REQUIRE(runs.size() == 2);
  CHECK(runs[1].batch_size == 16);
  CHECK(runs[1].time.value == Approx(8e-3));
  CHECK(runs[1].context == 256 + 64);
  CHECK(ends_with(runs[1].place, "benchmarks.json#/benchmarks/1"));
  f.write("torn.json", R"({"benchmarks": [{"metrics": {}}]})");
  CHECK(starts_with(f.mistake("torn.json"), "torn.json#/benchmarks/0/metrics: missing key"));
}

TEST_CASE("a table has a row for each run") {
  const Folder f;
  const auto runs =
      read_served_runs(f.write("steps.csv",
                               "batch,context,tpot_ms,acceptance_length,draft_length,transformer,tensor_parallel\n"
                               "1,512,7.07,,,,\n16,512,8,2.5,3,llama-3-70b,4\n"));
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].time.value == Approx(7.07e-3));
  CHECK_FALSE(runs[0].transformer.has_value());
  CHECK(runs[1].time.value == Approx(20e-3));
  CHECK(runs[1].draft_length == 3.0);
  CHECK(runs[1].tensor_parallel == 4);
  CHECK(ends_with(runs[1].place, "steps.csv:3"));
}

TEST_CASE("mistakes have their file, line and key") {
  struct Case {
    std::string name, text, settings, message;
  };
  const Case c = GENERATE(
      Case{"a.csv", "batch,context,step_ms\n1,512,-7\n", "", "a.csv:2: step_ms must be from "},
      Case{"a.csv", "batch,context,step_ms\n0,512,7\n", "", "a.csv:2: batch must be from 1 to 65536"},
      Case{"a.csv", "batch,context,step_ms\n1,nan,7\n", "", "a.csv:2: context must be a number"},
      Case{"a.csv", "batch,context,step\n1,512,7\n", "", "a.csv:1: unknown column \"step\""},
      Case{"a.csv", "batch,context\n1,512\n", "", "a.csv: no column \"step_ms\""},
      Case{"a.csv", "batch,context,step_ms,tpot_ms\n1,512,7,7\n", "", "a.csv:1: more than one column of times"},
      Case{"a.csv", "batch,context,step_ms\n", "", "a.csv: contains no runs"},
      Case{"a.txt", "x", "", "a.txt: must be a .json, .jsonl or .csv file"},
      Case{"a.json", "{}", "", "a.json#: is not a known benchmark result"}, Case{"a.json", "[]", "", "a.json#: "},
      Case{"a.json", R"({"completed": 0, "total_output_tokens": 5, "total_input_tokens": 5})", "",
           "a.json#/completed: must be at least 1, got 0"},
      Case{"a.json",
           R"({"completed": 5, "total_output_tokens": 5, "total_input_tokens": 5, "median_tpot_ms": 1, "duration": 1})",
           "", "a.json#/total_output_tokens: requests of one token have no steps"},
      Case{"a.json", R"({"completed": 1, "total_output_tokens": 50, "total_input_tokens": 5, "duration": 1})", "",
           "a.json#: missing key \"median_tpot_ms\""},
      Case{"a.json",
           R"({"completed": 4, "total_input_tokens": 400, "total_output_tokens": 8, "median_itl_ms": 0,
             "median_tpot_ms": 0, "mean_tpot_ms": 0, "duration": 1})",
           "", "a.json#: contains no step time: \"median_tpot_ms\" or \"mean_tpot_ms\" must be above 0"},
      Case{"a.json",
           R"({"completed": 4, "total_input_tokens": 400, "total_output_tokens": 8, "mean_tpot_ms": 1e-300,
             "duration": 1})",
           "", "a.json#: contains no step time"},
      Case{"a.json", R"({"completed": 1, "total_output_tokens": 50, "total_input_tokens": 5, "median_tpot_ms": 1})", "",
           "a.json#: has neither \"duration\" nor \"max_concurrency\""},
      Case{"a.jsonl", "\n{\"completed\": true}\n", "", "a.jsonl:2#/completed: "},
      Case{"a.json", "{\"completed\": 1, ", "", "a.json#"},
      Case{"a.csv", "batch,context,step_ms\n1,512,7\n", "@batc=3",
           "a.csv@batc=3: unknown key \"batc\"; did you mean \"batch\"?"},
      Case{"a.csv", "batch,context,step_ms\n1,512,7\n", "@batch=3,batch=4", "batch is given twice"},
      Case{"a.csv", "batch,context,step_ms\n1,512,7\n", "@batch=-3", "batch must be a number from 1 to 65536, got "},
      Case{"a.csv", "batch,context,step_ms\n1,512,7\n", "@batch=3,context", "\"context\" has no value"});
  const Folder f;
  f.write(c.name, c.text);
  CHECK(contains(f.mistake(c.name + c.settings), c.message));
  CHECK(contains(f.mistake("missing.json"), "missing.json: no such file"));
}

TEST_CASE("steps of llama_cpp_steps.py have several rows of one sequence; those of a draft network are left out") {
  const Folder f;
  const std::string steps = R"({"engine": "llama.cpp", "steps": [
    {"network": "target", "rows": 4, "context": 128, "step_ms": 20.5, "sample_ms": 0.5},
    {"network": "draft", "rows": 1, "context": 128, "step_ms": 1.5, "sample_ms": 0.5}], "serving": []})";
  const auto runs = read_served_runs(f.write("steps.json", steps));
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].rows == 4);
  CHECK(runs[0].batch_size == 1);
  CHECK(runs[0].context == 128);
  CHECK(runs[0].time.value == Approx(21e-3));
  CHECK_FALSE(runs[0].speculates());
}

TEST_CASE("a table may have the rows of a step, but not of one that drafts") {
  const Folder f;
  CHECK(read_served_runs(f.write("rows.csv", "batch,context,step_ms,rows\n1,128,5,3\n"))[0].rows == 3);
  f.write("both.csv", "batch,context,step_ms,rows,acceptance_length\n1,128,5,3,2.5\n");
  CHECK(f.mistake("both.csv").find("\"rows\" is of a step without drafting") != std::string::npos);
}

}  // namespace draftline
