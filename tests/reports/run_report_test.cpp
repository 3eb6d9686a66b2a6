// SPDX-License-Identifier: Apache-2.0
// What `run` prints of a scenario's outcomes.
#include "reports/run_report.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

namespace draftline {

static std::string report(Format format, const std::string& more, const std::string& device = "h100-sxm") {
  const FreshFolder folder;
  std::ofstream(folder.path() / "s.json") << R"({"device": [")" + device +
                                                 R"("], "transformer": "llama-3.1-8b", "engine": "draftline",
    "method": {"name": "eagle3", "tree": {"top_k": 4, "passes": 2, "nodes": 8}, "acceptance": {"mean_length": 2}})" +
                                                 more + "}";
  Sweep sweep(folder.path() / "s.json", std::string(DRAFTLINE_SOURCE_DIR) + "/data");
  sweep.validate();
  std::ostringstream out;
  RunReport r({out, format, {"run", std::string(DRAFTLINE_SOURCE_DIR) + "/data"}}, sweep.scenario());
  for (std::size_t i = 0; i < sweep.scenario().points(); ++i) r.add(sweep.at(i));
  r.finish();
  return out.str();
}
static long lines(const std::string& text) { return std::count(text.begin(), text.end(), '\n'); }

TEST_CASE("a table has a column for what varies, the question above and the note below") {
  const std::string one = report(Format::table, R"(, "question": "Why?", "note": "Because.")");
  CHECK(starts_with(one, "Why?\nmethod "));
  CHECK(contains(one, "decode speedup  request speedup"));
  CHECK(ends_with(one, "Because.\n"));
  CHECK(contains(one, "eagle3 tree:{nodes:8,passes:2,top_k:4}"));
  CHECK(!contains(one, "precision"));
  CHECK(!contains(one, "prompt"));
  const std::string two = report(Format::table, R"(, "precision": ["bf16", "fp16"], "prompt_tokens": [8, 16])");
  CHECK(contains(two, "precision"));
  CHECK(contains(two, "prompt"));
  CHECK(lines(two) == 2 + 4 + 2);  // the intervals; whose attention was not measured
  CHECK(contains(two, "\nwarning: the engine's attention library was not measured on the device"));
}

TEST_CASE("a table says how many rows trees verify, and how far kernels' errors move it") {
  const std::string tree = report(Format::table, "");
  CHECK(contains(tree, " rows  decode tokens/s"));
  CHECK(contains(tree, "    9  "));  // the nodes, and the token they grow from
  CHECK(contains(tree, "\n90 % intervals (median point): step -"));
  CHECK(contains(tree, " %, speedup -"));
  CHECK(contains(report(Format::table, "", "rtx-4090"), "\nNo 90 % intervals: "));  // of attention
  CHECK(contains(report(Format::table, "", R"(rtx-4090", "h100-sxm)"), "(median point of the 1 with known errors)"));
  CHECK(nlohmann::json::parse(report(Format::json, "")).at("results")[0].at("verified_rows").at("value") == 9);
}

TEST_CASE("a table says where a request sees less than decoding gains, and where that is answered") {
  const std::string long_prompts = report(Format::table, R"(, "batch_size": [1, 16], "prompt_tokens": 8000)");
  CHECK(contains(long_prompts, "\nWith prompts included, a decode speedup of "));
  CHECK(contains(long_prompts, ", batch 16, 8000 + 256 tokens)"));
  CHECK(contains(long_prompts, "`draftline simulate`"));
  CHECK(!contains(report(Format::table, R"(, "prompt_tokens": 16)"), "With prompts included"));
  const auto known = nlohmann::json::parse(report(Format::json, R"(, "prompt_tokens": 8000)")).at("results")[0];
  for (const char* figure : {"speedup_with_prefill", "ttft", "e2e", "throughput_with_prefill"})
    CHECK(known.at(figure).at("value").get<double>() > 0);
  CHECK(contains(report(Format::csv, ""), ",speedup_with_prefill,ttft_s,e2e_s,"));
}

TEST_CASE("skipped points leave the table, with their number and the first reason") {
  const std::string one = report(Format::table, R"(, "batch_size": [1, 60000])");
  CHECK(contains(one, "\n1 point skipped (method "));
  CHECK(contains(one, ", batch 60000): needs "));
  CHECK(contains(report(Format::table, R"(, "batch_size": [1, 60000, 60001])"),
                 "\n2 points skipped; the first (method "));
  CHECK(lines(one) == 2 + 1 + 2 + 1);
}

TEST_CASE("a long CSV has one header, and says of each point why it was skipped") {
  std::string batches = "60000";
  for (int i = 1; i <= 200; ++i) batches += ", " + std::to_string(i);
  std::string prompts = "1";
  for (int i = 2; i <= 25; ++i) prompts += ", " + std::to_string(i);
  const std::string csv =
      report(Format::csv, ", \"batch_size\": [" + batches + "], \"prompt_tokens\": [" + prompts + "]");
  CHECK(lines(csv) == 1 + 201 * 25);
  CHECK(csv.rfind("device,tensor_parallel") == 0);
  std::istringstream in(csv);
  std::string line;
  std::getline(in, line);
  std::getline(in, line);
  CHECK(contains(line, ",60000,"));
  CHECK(contains(line, "needs "));
  std::getline(in, line);
  CHECK(contains(line, ",,"));  // not skipped
  CHECK(contains(csv,
                 ",skipped,step_time_low_s,step_time_high_s,throughput_low_per_s,throughput_high_per_s,speedup_low,"
                 "speedup_high,interval_covers,no_interval\n"));
}

TEST_CASE("JSON gives step time, throughput and speedup an interval where the device knows its errors") {
  const auto known = nlohmann::json::parse(report(Format::json, "")).at("results")[0];
  for (const char* figure : {"step_time", "throughput", "speedup"}) {
    const auto& f = known.at(figure);
    CHECK(f.at("low").get<double>() < f.at("value").get<double>());
    CHECK(f.at("high").get<double>() > f.at("value").get<double>());
  }
  CHECK(known.at("interval_covers").at("value").get<double>() > 0.5);
  CHECK(!known.at("prefill_time").contains("low"));
  const auto unknown = nlohmann::json::parse(report(Format::json, "", "rtx-4090")).at("results")[0];  // attention's
  for (const char* figure : {"step_time", "throughput", "speedup"}) CHECK(!unknown.at(figure).contains("low"));
  CHECK(!unknown.contains("interval_covers"));
}

TEST_CASE("JSON tells a method's parameters as they were chosen") {
  const auto d = nlohmann::json::parse(report(Format::json, ""));
  CHECK(d.at("results")[0].at("inputs").at("parameters").at("tree").at("nodes") == 8);
  CHECK(d.at("results")[0].at("inputs").at("draft_length").is_null());
  CHECK(d.at("results")[0].at("acceptance_length").at("kind") == "input");
  CHECK(d.at("resolved").at("method")[0].at("acceptance").at("mean_length") == 2);
}

}  // namespace draftline
