// SPDX-License-Identifier: Apache-2.0
// Reports as pages of HTML: whole, self-contained, and safe whatever a scenario's names are.
#include "reports/page/page.h"

#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/plan_report.h"
#include "reports/run_report.h"
#include "reports/simulate_report.h"
#include "reports/validation_report.h"
#include "sim/capacity.h"
#include "tests/catch.h"
#include "tests/core/messages.h"
#include "tests/reports/elements.h"

namespace draftline {

namespace {

const std::string kData = std::string(DRAFTLINE_SOURCE_DIR) + "/data";
constexpr const char* kSetup = R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", )";
constexpr const char* kMethods = R"(, "method": [{"name": "autoregressive"},
    {"name": "eagle3", "draft_length": [1, 3], "acceptance": {"rate": 0.7}}]})";
// A scenario with more keys, and methods unless these name some.
std::string scenario_with(const std::string& more) {
  return kSetup + more + (contains(more, "\"method\"") ? "}" : kMethods);
}

constexpr const char* kNamespace = "\"http://www.w3.org/2000/svg\"";  // of drawings that scripts make; a name only

void check_is_a_page(const std::string& html) {
  CHECK(html.starts_with("<!DOCTYPE html>\n"));
  CHECK(html.ends_with("</html>\n"));
  CHECK(badly_nested(without_scripts(html)) == "");
  CHECK(count_of(html, "<script>") == 1);
  for (const char* elsewhere : {"http:", "https:", "<script src", "src=", "@import", "url("})
    CHECK(count_of(html, elsewhere) == (elsewhere == std::string("http:") ? count_of(html, kNamespace) : 0));
  CHECK(contains(html, "default-src 'none'"));
}

std::string ran(const std::string& more, Format format = Format::html) {
  Sweep sweep(Document::from_text(scenario_with(more), "s.json"), kData);
  std::ostringstream out;
  RunReport report({out, format, {"run", kData}, 100}, sweep.scenario());
  for (std::size_t i = 0; i < sweep.scenario().points(); ++i) report.add(sweep.at(i));
  report.finish();
  return out.str();
}

std::string simulated(const std::string& more, Format format = Format::html) {
  ServingSweep sweep(Document::from_text(scenario_with(more), "s.json"), kData);
  std::ostringstream out;
  SimulateReport report({out, format, {"simulate", kData}}, sweep.scenario());
  for (std::size_t i = 0; i < sweep.scenario().points(); ++i) report.add(sweep.at(i, {}));
  report.finish();
  return out.str();
}

}  // namespace

TEST_CASE("a page of run has what the table has, and the speedups as points with intervals") {
  const std::string scenario = R"("question": "Does it pay?", "note": "Perhaps.", "batch_size": [1, 16, 256])",
                    html = ran(scenario);
  check_is_a_page(html);
  CHECK(contains(html, "<p>Does it pay?</p>"));
  CHECK(contains(html, "<p>Perhaps.</p>"));
  CHECK(contains(html, "<p>All points: device h100-sxm, TP 1, transformer llama-3.1-8b, precision bf16, engine vllm-"));
  CHECK(contains(html, "<li>data/devices/h100-sxm.json "));
  CHECK(count_of(html, "<figure>") == 2 + 3);  // speedups, rates, and a step at each batch
  CHECK(count_of(html, "<tr>") == 1 + 9);
  CHECK(count_of(html, "<title>eagle3, k 3\nbatch size: ") == 3);
  CHECK(count_of(html, "<title>autoregressive\nbatch size: ") == 0);  // its speedup is the dashed line
  CHECK(contains(html, ">plain decoding</text>"));
  const auto json = nlohmann::json::parse(ran(scenario, Format::json)).at("results");
  const auto& speedup = json[6].at("speedup");
  REQUIRE(json[6].at("inputs").at("draft_length") == 3);
  CHECK(contains(html, "batch size: 1\nover plain decoding at the same batch size, with 90 % intervals: " +
                           significant(speedup.at("value")) + " (" + significant(speedup.at("low")) + " to " +
                           significant(speedup.at("high")) + ")</title>"));
}

TEST_CASE("a method has one colour on a page, though the first chart leaves plain decoding out") {
  const std::string html = ran(R"("batch_size": [1, 16])");
  const std::size_t second = html.find("<figure>", html.find("<figure>") + 1);
  const std::string speedups = html.substr(0, second), rates = html.substr(second);
  REQUIRE(look_of(speedups, "autoregressive").empty());
  const std::string plain = look_of(rates, "autoregressive");
  CHECK(!plain.empty());
  for (const char* method : {"eagle3, k 1", "eagle3, k 3"}) {
    CHECK(!look_of(speedups, method).empty());
    CHECK(look_of(speedups, method) == look_of(rates, method));
    CHECK(look_of(speedups, method) != plain);
  }
}

TEST_CASE("charts of run are along the first list with several values, one for each setup") {
  const std::string lengths = ran(R"("batch_size": 4, "prompt_tokens": [512, 8192], "tensor_parallel": [1, 2])");
  CHECK(count_of(lengths, "<figure>") == 2 + 1);  // of both setups, though an explorer has them; and a step
  CHECK(contains(lengths, "aria-label=\"Decode speedup: TP 1\""));
  CHECK(contains(lengths, "aria-label=\"Decode speedup: TP 2\""));
  CHECK(count_of(lengths, "<div class=\"charts replaced\">") == 1);
  CHECK(count_of(lengths, ">prompt tokens</text>") == 2);
  const std::string devices = ran(R"("batch_size": 4, "tensor_parallel": [1, 2], "method": {"name": "eagle3",
      "draft_length": 3, "acceptance": {"rate": 0.7}})");
  CHECK(contains(devices, "aria-label=\"Decode speedup: TP 2\""));
  const std::string drafts = ran(R"("batch_size": 4)");
  CHECK(count_of(drafts, "<figure>") == 1 + 1);
  CHECK(count_of(drafts, "<title>eagle3\ndraft length k: ") == 2);  // one series, over k
  const std::string block = ran(R"("batch_size": 4, "method": {"name": "p_eagle", "acceptance": {"rate": 0.7}})");
  CHECK(count_of(block, "<circle") == 0);  // without a draft length it has no place
}

TEST_CASE("a page of simulate shows latencies over the load, and the targets") {
  const std::string workload =
      R"("slo": {"tpot_p99": "20 ms"}, "workload": {"requests": 50, "arrivals": {"process": "poisson", "rate": )";
  const std::string html = simulated(workload + R"(["2 /s", "8 /s"]}})");
  check_is_a_page(html);
  CHECK(count_of(html, "<figure>") == 3 + 2 * 3);  // figures over the rate; three distributions for each rate
  CHECK(count_of(html, ">rate (/s)</text>") == 3);
  CHECK(count_of(html, ">tpot_p99</text>") == 1 + 2);
  CHECK(contains(html, "aria-label=\"Time to first token: rate 8 /s\""));
  CHECK(count_of(html, "<title>autoregressive\nrate (/s): 8\nrequests/s within the targets: ") == 1);
  const std::string single = simulated(workload + R"("2 /s"}})");  // no load to draw over
  CHECK(count_of(single, ">output tokens/s</text>") == 3);
  CHECK(contains(html, "<title>draftline simulate</title>"));  // of a scenario without a name
}

TEST_CASE("requests with one token have a time to first token, and none per output token") {
  for (const int output : {1, 2}) {
    INFO(output << " tokens");
    const std::string lengths = R"("lengths": {"prompt": 500, "output": )" + std::to_string(output) + "}";
    const auto json = nlohmann::json::parse(simulated(
        R"("policy": "goodput", "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}},
           "workload": {"requests": 20, "arrivals": {"process": "closed", "concurrency": 2}, )" +
            lengths + "}",
        Format::json));
    CHECK(json.contains("ttft"));
    for (const char* figure : {"tpot", "inter_token_latency"}) CHECK(json.contains(figure) == (output > 1));
    for (const char* figure : {"tpot_mean", "gap"}) CHECK(json.at("oracle").contains(figure) == (output > 1));
    CHECK(json.at("oracle").contains("throughput"));
  }
}

TEST_CASE("replications that agree but for rounding are drawn, too") {
  const std::string html = simulated(R"("prompt_tokens": 500, "output_tokens": 100, "replications": 6,
      "workload": {"requests": 3, "arrivals": {"process": "closed", "concurrency": 1}})");
  check_is_a_page(html);
  CHECK(count_of(html, "<title>autoregressive\noutput tokens/s: ") == 2);
}

TEST_CASE("a page of plan shows fleets by price and latency, and joins those that no other beats") {
  ServingSweep sweep(Document::from_text(scenario_with(R"("slo": {"ttft_p99": "1 s"}, "prices": {"h100-sxm": 2},
      "workload": {"requests": 60, "arrivals": {"process": "poisson", "rate": "4 /s"}})"),
                                         "s.json"),
                     kData);
  std::vector<FleetOption> options;
  for (std::size_t i = 0; i < sweep.scenario().points(); ++i)
    options.push_back(smallest_fleet(sweep, i, sweep.scenario().serving->prices, 8, 0));
  std::ostringstream out;
  write_plan({out, Format::html, {"plan", kData}}, sweep.scenario(), options);
  const std::string html = out.str();
  check_is_a_page(html);
  CHECK(contains(html, "<p class=\"answer\">Recommended: 1 x h100-sxm, eagle3 with "));
  CHECK(count_of(html, "<figure>") == 1);
  CHECK(count_of(html, "\nprice per hour: 2\nend-to-end latency, mean: ") == 3);
  CHECK(contains(html, "\n1 x h100-sxm, eagle3 with 1 draft</title>"));
  CHECK(count_of(html, "<text class=\"name\"") == 1);  // of three fleets at one price, the fastest
  CHECK(contains(html, ">1 x h100-sxm, k "));
}

TEST_CASE("a page of validate shows predicted over measured, with intervals; Markdown has the same tables") {
  Sweep sweep(Document::from_text(scenario_with(R"("batch_size": 1)"), "s.json"), kData);
  std::vector<MeasuredCell> measured;
  for (const int batch : {1, 8}) measured.push_back({"a <network>", sweep.scenario().methods[1].spec, batch, 16});
  ValidationReport r;
  r.device = "cpu";
  r.title = "a machine";
  for (const MeasuredCell& m : measured) {
    ValidationCell c;
    c.measured = &m;
    c.speedup = {.predicted = 1.9, .measured = 2, .interval = Interval{1.8, 2.1}};
    c.step = c.plain = {.predicted = 0.011, .measured = 0.01, .interval = {}};
    r.cells.push_back(c);
  }
  const auto written = [&](Format format) {
    std::ostringstream out;
    write_validation({out, format, {"validate", kData}, 100}, r);
    return out.str();
  };
  const std::string html = written(Format::html), markdown = written(Format::markdown), text = written(Format::table);
  check_is_a_page(html);
  CHECK(count_of(html, "<figure>") == 2);
  CHECK(contains(html, "<h1>a machine</h1>"));
  CHECK(contains(html, "<title>a &lt;network&gt;\nmeasured speedup: 2\n"));
  CHECK(contains(html, ": 0.950 (0.900 to 1.05)\neagle3 k=1, batch 8, context 16</title>"));
  CHECK(contains(html, ">All cells</h2>"));
  CHECK(starts_with(markdown, "## a machine\n\nCommit "));
  CHECK(contains(markdown, "\n\n### All cells\n\n| network |"));
  CHECK(starts_with(text, "a machine, commit "));
  CHECK(contains(text, "\n\nAll cells\n"));  // as there are fewer than the worst would be
}

TEST_CASE("names from a scenario can't leave their place in a page") {
  const std::string html = ran(R"("name": "</title><script>alert(1)</script>", "note": "a < b & \"c\"")");
  check_is_a_page(html);
  CHECK(contains(html, "<h1>&lt;/title&gt;&lt;script&gt;alert(1)&lt;/script&gt;</h1>"));
  CHECK(contains(html, "<p>a &lt; b &amp; &quot;c&quot;</p>"));
}

TEST_CASE("a table of HTML has numbers of a class of their own, and rules as a row's class") {
  Table t({"method", "batch", {"late", "late", false, true}});
  t.add({"a<b", 8, Cell()});
  t.add_rule();
  t.add({"c", Cell(), Cell()});
  CHECK(t.to_html() ==
        "<table>\n<thead><tr><th>method</th><th class=\"number\">batch</th></tr></thead>\n<tbody>\n"
        "<tr><td>a&lt;b</td><td class=\"number\">8</td></tr>\n"
        "<tr class=\"rule\"><td>c</td><td class=\"number\"></td></tr>\n</tbody>\n</table>\n");
}

}  // namespace draftline
