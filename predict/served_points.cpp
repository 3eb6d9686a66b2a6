// SPDX-License-Identifier: Apache-2.0
#include "predict/served_points.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "core/json_parse.h"

namespace draftline {

namespace {

constexpr const char* kAsked = "the command line";  // where mistakes in names are noted
constexpr double kWhole = 0.02;  // a draft length averaged over steps is whole but for the ends of texts

nlohmann::json method_of(const ServedRun& run, const std::string& given) {
  if (!run.speculates()) return {{"name", "autoregressive"}};
  if (given.empty())
    throw InputErrors(
        run.place + ": is a speculative run (" + significant(run.tokens_per_step) +
        " tokens a step): say how it drafts with --method, a name or {\"name\": \"eagle3\", \"draft_length\": 3}");
  nlohmann::json method{{"name", given}};
  if (given.front() == '{') {
    const ParsedJson parsed = parse_json(given);
    if (!parsed.error.empty()) throw InputErrors("--method: " + parsed.error);
    method = parsed.root;
  }
  if (!method.contains("draft_length") && !method.contains("num_speculative_tokens") && run.draft_length) {
    const double drafts = std::round(*run.draft_length);
    if (std::abs(drafts - *run.draft_length) > kWhole * drafts)
      throw InputErrors(run.place + ": drafts " + significant(*run.draft_length) +
                        " tokens a step on average: give the draft length in --method");
    method["draft_length"] = static_cast<int>(drafts);
  }
  method["acceptance"] = {{"mean_length", run.tokens_per_step}};
  return method;
}

}  // namespace

ServedPoints::ServedPoints(std::vector<ServedRun> runs, const ServedSetting& setting,
                           const std::filesystem::path& data) {
  std::map<std::string, Sweep*> known;
  std::vector<std::string> mistakes;
  for (ServedRun& run : runs) try {
      const nlohmann::json scenario{{"device", setting.device},
                                    {"engine", setting.engine},
                                    {"transformer", run.transformer.value_or(setting.transformer)},
                                    {"precision", run.precision.value_or(setting.precision)},
                                    {"tensor_parallel", run.tensor_parallel.value_or(setting.tensor_parallel)},
                                    {"method", method_of(run, setting.method)}};
      Sweep*& sweep = known[scenario.dump()];
      if (!sweep) {
        sweeps_.push_back(std::make_unique<Sweep>(Document::from_text(scenario.dump(), kAsked), data));
        sweeps_.back()->validate();
        sweep = sweeps_.back().get();
      }
      Setup setup = sweep->setup({});
      setup.batch_size = std::max(1, static_cast<int>(std::lround(run.batch_size)));
      points_.push_back({std::move(run), &sweep->predictor(), setup, &sweep->scenario().method(0, 0)});
    } catch (const InputErrors& e) {
      for (const std::string& m : e.messages())
        if (std::find(mistakes.begin(), mistakes.end(), m) == mistakes.end()) mistakes.push_back(m);
      if (known.size() > sweeps_.size())
        std::erase_if(known, [](const auto& entry) { return entry.second == nullptr; });
    }
  if (!mistakes.empty()) throw InputErrors(std::move(mistakes));
}

InputFiles ServedPoints::input_files() const {
  InputFiles all;
  for (const auto& sweep : sweeps_) {
    const InputFiles& some = sweep->scenario().document.root().input_files();
    all.insert(some.begin(), some.end());
  }
  all.erase(kAsked);
  return all;
}

}  // namespace draftline
