// SPDX-License-Identifier: Apache-2.0
// llama.cpp on a CPU (data/measured/llama-cpp): a profile is fitted to steps by rows, and predicts speculative serving.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "core/text_file.h"
#include "model/calibration/error_summary.h"
#include "predict/row_fit.h"
#include "predict/served_points.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

const std::string kLab = std::string(DRAFTLINE_SOURCE_DIR) + "/data/measured/llama-cpp/";

struct Network {
  std::string file, transformer, precision;
};

ServerSetup setting(const Network& n, const nlohmann::json& cell) {
  const bool drafts = cell.value("method", "") == "draft";
  nlohmann::json method{{"name", drafts ? "draft_model" : "prompt_lookup"}, {"draft_length", cell.value("k", 1)}};
  if (drafts) method["draft"] = kLab + cell.at("draft").get<std::string>();
  else if (cell.contains("drafted_per_step"))
    method["acceptance"] = {
        {"hit_share", std::min(1.0, cell.at("drafted_per_step").get<double>() / cell.at("k").get<double>())}};
  return {.device = kLab + "device.json",
          .engine = "llama.cpp-cpu",
          .transformer = kLab + n.transformer,
          .precision = n.precision,
          .method = method.dump()};
}

Seconds step(const Network& n, const nlohmann::json& cell, double tokens, const Engine& fitted) {
  ServedRun run;
  run.place = n.file;
  run.context = cell.at("context").get<double>() + 32;  // half of an answer of 64 tokens
  run.time = Seconds{1};
  run.tokens_per_step = tokens;
  const ServedPoints points({run}, setting(n, cell), kData);
  return predicted_time(points.points()[0], fitted);
}

}  // namespace

TEST_CASE("llama.cpp on a CPU: speculative serving from the steps by rows of the same run") {
  std::vector<double> errors;
  int wrong = 0;
  for (const Network& n :
       {Network{"smollm2-135m-f16", "smollm2-135m", "fp16"}, Network{"smollm2-135m-q8_0", "smollm2-135m", "q8_0"},
        Network{"smollm2-135m-q4_1", "smollm2-135m", "q4_1"}, Network{"half-b-q8_0", "half-b", "q8_0"},
        Network{"half-b-q8_0-k4", "half-b", "q8_0"}}) {
    const std::string file = kLab + n.file + ".json";
    const auto measured = nlohmann::json::parse(read_text_file(file));
    const std::string draft = measured.at("draft");  // "draft-q8_0.gguf"
    for (nlohmann::json cell : measured.at("serving")) {
      if (cell.at("drafted_per_step") < 0.5) continue;  // the look-up drafts nothing
      std::vector<ServedRun> runs = read_served_runs(file);
      std::erase_if(runs, [&](const ServedRun& r) { return r.context != cell.at("context").get<double>(); });
      const ServedPoints steps(std::move(runs), setting(n, nlohmann::json::object()), kData);
      const Engine fitted = fitted_to_rows(steps.points(), steps.engine());
      cell["draft"] = draft.substr(0, draft.rfind('-'));
      const double tokens = cell.at("tokens_per_step"), seen = cell.at("speedup");
      const double speedup = tokens * (step(n, cell, 1, fitted) / step(n, cell, tokens, fitted));
      errors.push_back(speedup / seen - 1);
      wrong += std::abs(seen - 1) > 0.1 && (seen > 1) != (speedup > 1);
      std::printf("%-20s %-6s k %d behind %4d: %.2f, measured %.2f\n", n.file.c_str(),
                  cell.at("method").get<std::string>().c_str(), cell.at("k").get<int>(), cell.at("context").get<int>(),
                  speedup, seen);
    }
  }
  const auto summary = summarize(errors);
  std::printf("%zu speedups: median %.1f %%, P90 %.1f %%, %d on the wrong side of 1\n", errors.size(),
              100 * *summary.median, 100 * *summary.p90, wrong);
  CHECK(errors.size() >= 19);
  CHECK(wrong == 0);
  CHECK(*summary.median < 0.08);
  CHECK(*summary.p90 < 0.2);
}

}  // namespace draftline
