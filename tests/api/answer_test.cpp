// SPDX-License-Identifier: Apache-2.0
#include "api/answer.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "api/threads.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

namespace draftline {

namespace {

using Json = nlohmann::json;

const std::filesystem::path kShipped = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data";

std::string scenario(const std::string& more) {
  return R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "prompt_tokens": 200,
    "output_tokens": 60, "method": [{"name": "autoregressive"},
    {"name": "eagle3", "draft_length": [1, 3], "acceptance": {"rate": 0.7}}])" +
         more + "}";
}
Question question(const std::string& verb, const std::string& more = "") {
  return {.verb = verb, .file = "s.json", .text = scenario(more)};
}
const std::string kServed = R"(, "workload": {"arrivals": {"process": "poisson", "rate": "4 /s"}, "requests": 30},
  "slo": {"ttft_p99": "10 s"})";

// All of a folder, in memory below /elsewhere/data.
FilesInMemory in_memory(const std::filesystem::path& folder) {
  std::map<std::filesystem::path, std::string> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || entry.path().extension() != ".json") continue;
    std::ifstream in(entry.path());
    files["/elsewhere/data" / entry.path().lexically_relative(folder)] =
        std::string(std::istreambuf_iterator<char>(in), {});
  }
  return FilesInMemory(std::move(files));
}

}  // namespace

TEST_CASE("an answer holds typed results, and the same figures in its document") {
  const Answer a = answer(question("run", R"(, "batch_size": [1, 2000])"), kShipped);
  CHECK(a.points == 6);
  CHECK(a.done == 6);
  CHECK(!a.obstacle);
  REQUIRE(a.results.size() == 6);
  const auto& plain = std::get<Outcome>(a.results.front());
  CHECK(a.scenario->method(plain.point).spec.is_plain());
  CHECK(obstacle_of(a.results[1])->starts_with("needs "));
  const Json document = Json::parse(a.document);
  CHECK(document.at("question").at("verb") == "run");
  CHECK(document.at("results").at(0).at("step_time").at("value").get<double>() ==
        Approx(std::get<Prediction>(plain.result).step_time.value));
  CHECK(std::any_of(a.input_files.begin(), a.input_files.end(),
                    [](const auto& file) { return file.first.filename() == "h100-sxm.json"; }));
}

TEST_CASE("an answer depends neither on threads nor on where its files are") {
  const std::string verb = GENERATE("run", "simulate", "plan", "advise");
  const Question q = question(verb, verb == "run" || verb == "advise" ? R"(, "batch_size": [1, 4])" : kServed);
  const Json usual = Json::parse(answer(q, kShipped).document);
  ThreadExecutor threads(3);
  CHECK((Json::parse(answer(q, kShipped, threads).document) == usual));
  const FilesInMemory files = in_memory(kShipped);
  CHECK((Json::parse(answer(q, Data("/elsewhere/data", files)).document) == usual));
}

TEST_CASE("a document's question is answered again") {
  const Question first = question("advise", R"(, "batch_size": 4)");
  const Answer a = answer(first, kShipped);
  const Question again = question_of(Document::from_text(a.document, "answer.json"));
  CHECK(again.verb == "advise");
  CHECK(again.file == "s.json");
  CHECK((answer(again, kShipped).document == a.document));
}

TEST_CASE("a listener receives notes and results as they come, and may stop before the first") {
  struct Counting : Listener {
    bool on_begin(const Answer& a) override {
      points = a.points;
      return goes_on;
    }
    void on_note(const std::string& note) override { notes.push_back(note); }
    void on_progress(std::size_t done, std::size_t of) override { progress.emplace_back(done, of); }
    void on_result(Result&& one) override { results.push_back(std::move(one)); }
    bool goes_on = true;
    std::size_t points = 0;
    std::vector<std::string> notes;
    std::vector<std::pair<std::size_t, std::size_t>> progress;
    std::vector<Result> results;
  };
  Question q = question("run");
  const auto at = q.text->find("\"vllm\"");
  q.text->replace(at, 6, "\"vllm-0.12\"");
  SerialExecutor executor;
  Counting all, none;
  const Answer a = answer(q, kShipped, executor, all);
  CHECK(a.results.empty());
  CHECK(all.results.size() == 3);
  CHECK(all.progress == std::vector<std::pair<std::size_t, std::size_t>>{{0, 3}, {1, 3}, {2, 3}, {3, 3}});
  REQUIRE(all.notes.size() == 1);
  CHECK(contains(all.notes.front(), "there is no profile vllm-0.12"));
  CHECK(a.notes == all.notes);
  none.goes_on = false;
  CHECK(answer(q, kShipped, executor, none).done == 0);
  CHECK(none.points == 3);
  CHECK(none.results.empty());
}

TEST_CASE("an answer in which nothing can run says why, and a wrong question is refused") {
  const Answer a = answer(question("run", R"(, "batch_size": 60000)"), kShipped);
  CHECK(starts_with(a.obstacle.value_or(""), "s.json#: no point can run; the first: needs "));
  CHECK(a.results.size() == 3);
  Question q = question("run");
  q.options.from = 2;
  CHECK(answer(q, kShipped).results.size() == 1);
  q.options.from = 3;
  CHECK(mistake_of([&] { answer(q, kShipped); }) == "--from: the scenario has 3 points");
  CHECK(mistake_of([&] { answer(question("run", kServed), kShipped); }) ==
        "s.json#: has a \"workload\": \"simulate\" answers it");
  CHECK(contains(mistake_of([&] { answer(question("walk"), kShipped); }), "\"walk\" is no verb"));
  CHECK(starts_with(mistake_of([&] { answer(question("run", R"(, "batch_size": 0)"), kShipped); }),
                    "s.json#/batch_size: must be at least 1"));
}

TEST_CASE("a paper's tables are an answer, too") {
  const Answer a = answer({.verb = "papers", .papers = {"clover"}}, kShipped);
  REQUIRE(a.results.size() == 1);
  CHECK(std::get<Paper>(a.results.front()).paper == "clover");
  CHECK(Json::parse(a.document).at("papers").at(0).at("paper") == "clover");
  CHECK(!a.input_files.empty());
}

}  // namespace draftline
