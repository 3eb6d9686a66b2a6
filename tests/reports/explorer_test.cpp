// SPDX-License-Identifier: Apache-2.0
// The explorer of a page of `run`, its bars and its kernels.
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/quantity_text.h"
#include "reports/run_report.h"
#include "tests/catch.h"
#include "tests/core/messages.h"
#include "tests/reports/elements.h"

namespace draftline {

namespace {

constexpr const char* kGrid = R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
    "batch_size": [1, 64, 256], "prompt_tokens": [512, 8192], "output_tokens": 128,
    "method": [{"name": "autoregressive"}, {"name": "eagle3", "draft_length": [1, 3, 8], "acceptance": {"rate": 0.7}}]})";

std::string run_page(const std::string& scenario, Format format, bool kernels = false, std::size_t from = 0) {
  Sweep sweep(Document::from_text(scenario, "s.json"), std::string(DRAFTLINE_SOURCE_DIR) + "/data");
  std::ostringstream out;
  Asked asked{"run", std::string(DRAFTLINE_SOURCE_DIR) + "/data"};
  asked.options.from = from;
  RunReport report({out, format, asked, 100}, sweep.scenario());
  for (std::size_t i = from; i < sweep.scenario().points(); ++i) report.add(sweep.at(i, kernels));
  report.finish();
  return out.str();
}

std::string with(const std::string& members) {
  return R"({"transformer": "llama-3.1-8b", "engine": "vllm", )" + members + "}";
}

// A grid with inline drafters of these names, which differ in their layers.
std::string with_drafters(const std::vector<std::string>& names) {
  nlohmann::json methods = nlohmann::json::array();
  for (const std::string& name : names) {
    const nlohmann::json draft{{"name", name},         {"layers", 2 + 2 * methods.size()},
                               {"hidden", 1024},       {"heads", 16},
                               {"kv_heads", 8},        {"intermediate", 4096},
                               {"vocabulary", 128'256}};
    methods.push_back(
        {{"name", "draft_model"}, {"draft", draft}, {"draft_length", {1, 3}}, {"acceptance", {{"rate", 0.9}}}});
  }
  return with(R"("device": "h100-sxm", "batch_size": [1, 8], "method": )" + methods.dump());
}

nlohmann::json grid_of(const std::string& page) {
  constexpr std::string_view kBegin = "<script type=\"application/json\" id=\"grid\">";
  const std::size_t from = page.find(kBegin);
  if (from == std::string::npos) return nullptr;
  return nlohmann::json::parse(page.substr(from + kBegin.size(), page.find("</script>", from) - from - kBegin.size()));
}

bool explores(const std::string& members) { return !grid_of(run_page(with(members), Format::html)).is_null(); }

}  // namespace

TEST_CASE("an explorer has the figures of JSON with the digits of the table, and the best length of each cell") {
  const auto grid = grid_of(run_page(kGrid, Format::html));
  const auto results = nlohmann::json::parse(run_page(kGrid, Format::json)).at("results");
  const auto& figures = grid.at("figures");
  REQUIRE(figures.at("decode speedup").at("values").size() == results.size());
  std::map<std::string, std::pair<double, std::size_t>> best;  // by prompt and batch
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto& r = results[i];
    if (!r.contains("speedup")) {
      CHECK(figures.at("decode speedup").at("values")[i].is_null());
      continue;
    }
    const double speedup = r.at("speedup").at("value"), request = r.at("speedup_with_prefill").at("value");
    CHECK(figures.at("decode speedup").at("values")[i] == std::stod(significant(speedup)));
    CHECK(figures.at("request speedup").at("values")[i] == std::stod(significant(request)));
    CHECK(figures.at("needed to break even").at("values")[i] ==
          std::stod(significant(r.at("acceptance_length").at("value").get<double>() / speedup)));
    const std::string cell = r.at("inputs").at("prompt_tokens").dump() + " " + r.at("inputs").at("batch_size").dump();
    if (r.at("inputs").at("method") == "autoregressive" || request <= 1) continue;
    if (!best.contains(cell) || request > best[cell].first) best[cell] = {request, i};
  }
  CHECK(grid.at("best").size() == best.size());
  for (const auto& [cell, one] : best) CHECK(grid.at("best").contains(std::to_string(one.second)));
  CHECK(grid.at("points_per_method") == 6);
  CHECK(grid.at("line")[0] == -1);  // plain decoding has no speculation to set
  CHECK(contains(grid.at("lines")[grid.at("line")[2].get<std::size_t>()].get<std::string>(),
                 "vllm serve MODEL --speculative-config '{\"method\":\"eagle3\",\"num_speculative_tokens\":3"));
}

TEST_CASE("an explorer's data end only at the end of its element, and a list of one axis has none") {
  const std::string page = run_page(with_drafters({"</script><b>"}), Format::html);
  CHECK(count_of(page, "</script>") == 2);
  CHECK(badly_nested(without_scripts(page)) == "");
  CHECK(contains(grid_of(page).at("methods")[0].at("label").get<std::string>(), "</script><b>"));
  CHECK(!explores(R"("device": "h100-sxm", "batch_size": [1, 64], "method": {"name": "autoregressive"})"));
}

TEST_CASE("an explorer needs a method that speculates and a number to draw along; else each setup has its charts") {
  const std::string devices = R"("device": ["h100-sxm", "h200"], )", eagle3 = R"({"name": "eagle3", "draft_length": )",
                    rate = R"(, "acceptance": {"rate": 0.7}})", plain = R"({"name": "autoregressive"})";
  const std::string one_length = devices + R"("batch_size": 4, "method": [)" + plain + ", " + eagle3 + "3" + rate + "]";
  CHECK(!explores(one_length));
  for (const char* device : {"h100-sxm", "h200"})
    CHECK(contains(run_page(with(one_length), Format::html), std::string("\"Decode speedup: device ") + device));
  const std::string no_drafts = devices + R"("batch_size": [1, 64], "method": )" + plain;
  CHECK(!explores(no_drafts));
  CHECK(contains(run_page(with(no_drafts), Format::html), "of a sequence: device h200\""));
  CHECK(explores(devices + R"("batch_size": 4, "method": )" + eagle3 + "[1, 3]" + rate));
  CHECK(explores(devices + R"("batch_size": [1, 64], "method": )" + eagle3 + "3" + rate));
}

TEST_CASE("drafters that share a name are groups of their own, each with its best lengths") {
  const auto grid = grid_of(run_page(with_drafters({"mine", "mine"}), Format::html));
  const auto& methods = grid.at("methods");
  REQUIRE(methods.size() == 4);
  CHECK(methods[0].at("label") == methods[2].at("label"));
  CHECK(methods[0].at("group") == methods[1].at("group"));
  CHECK(methods[0].at("group") != methods[2].at("group"));
  CHECK(grid.at("best").size() == 4);                                                    // of two groups at two batches
  CHECK(grid_of(run_page(kGrid, Format::html)).at("methods")[0].at("group").is_null());  // plain decoding has none
}

TEST_CASE("a report that begins at a later point has no explorer") {
  CHECK(!grid_of(run_page(kGrid, Format::html)).is_null());
  const std::string later = run_page(kGrid, Format::html, false, 6);
  CHECK(grid_of(later).is_null());
  CHECK(contains(later, "aria-label=\"Decode speedup"));
}

TEST_CASE("a grid of 20,000 points is a page below 3 MB") {
  std::string batches, rates;
  for (int i = 0; i < 50; ++i) batches += (i ? "," : "") + std::to_string(1 + 4 * i);
  for (int i = 0; i < 10; ++i) rates += (i ? "," : "") + significant(0.5 + 0.04 * i, 3);
  const std::string grid = R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm",
      "batch_size": [)" + batches +
                           R"(], "prompt_tokens": [256, 512, 1024, 2048, 4096], "output_tokens": 128,
      "method": {"name": "eagle3", "draft_length": [1, 2, 3, 4, 5, 6, 7, 8], "acceptance": {"rate": [)" +
                           rates + R"(]}}})";
  const std::string page = run_page(grid, Format::html);
  CHECK(grid_of(page).at("figures").at("step").at("values").size() == 20'000);
  CHECK(page.size() < 3'000'000);
  CHECK(contains(page, "These charts show the first setup"));
}

TEST_CASE("a page of run has the best lengths without scripts, and the parts of a step as bars that add up to it") {
  const std::string page = run_page(kGrid, Format::html);
  CHECK(contains(page, "aria-label=\"Best k of eagle3\""));
  for (const char* prompt : {"512", "8192"})
    CHECK(contains(page, std::string("aria-label=\"Decode speedup: prompt ") + prompt));
  CHECK(contains(page, "aria-label=\"Time of a step, batch 1\""));
  CHECK(contains(page, "aria-label=\"Time of a step, batch 256\""));
  const auto results = nlohmann::json::parse(run_page(kGrid, Format::json)).at("results");
  const auto& r = results[12];
  REQUIRE(r.at("inputs").at("draft_length") == 3);
  const auto part = [&](const char* name) { return r.at("breakdown").at(name).at("value").get<double>(); };
  CHECK(part("draft") + part("verify") + part("commit") + part("communication") + part("cpu") ==
        Approx(r.at("step_time").at("value").get<double>()));
  CHECK(contains(page, "<title>eagle3, k 3\ndraft: " + to_text(Seconds{part("draft")})));
}

TEST_CASE(
    "--explain lists the kernels of a step, whose work and time are those of the step, and draws their roofline") {
  const std::string one = R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "batch_size": 8,
      "prompt_tokens": 512, "output_tokens": 128,
      "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}}})";
  const std::string text = run_page(one, Format::table, true), page = run_page(one, Format::html, true);
  CHECK(contains(text, "Kernels of a step: "));
  CHECK(contains(text, "TFLOP/s"));
  CHECK(contains(page, "aria-label=\"Roofline: "));
  CHECK(contains(page, "limits of h100-sxm</li>"));
  const auto r = nlohmann::json::parse(run_page(one, Format::json, true)).at("results")[0];
  double flops = 0, bytes = 0, products = 0;
  for (const auto& k : r.at("kernels")) {
    flops += k.at("flops").at("value").get<double>();
    bytes += k.at("bytes").at("value").get<double>();
    products += k.at("flops").at("value").get<double>() > 0 ? 1 : 0;
  }
  CHECK(flops / bytes == Approx(r.at("arithmetic_intensity").at("value").get<double>()).epsilon(1e-3));
  CHECK(count_of(page, " of them: ") == static_cast<int>(products));
}

TEST_CASE("the roof of a card without BF16 is that of FP16") {
  const std::string page =
      run_page(R"({"device": "t4", "transformer": "llama-3.2-1b", "engine": "vllm", "batch_size": 8,
      "prompt_tokens": 512, "output_tokens": 128, "method": {"name": "autoregressive"}})",
               Format::html, true);
  CHECK(contains(page, "<title>limits of t4\n"));
  CHECK(contains(page, ": 65.0 TFLOP/s</title>"));
}

}  // namespace draftline
