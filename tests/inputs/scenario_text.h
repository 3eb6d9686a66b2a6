// SPDX-License-Identifier: Apache-2.0
// Scenarios from text, in a folder of their own: relative paths in them are relative to that folder.
#pragma once
#include <fstream>
#include <string>

#include "predict/sweep.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"

namespace draftline {

inline const std::filesystem::path kData = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data";

class ScenarioText {
 public:
  explicit ScenarioText(const std::string& json) : file_(folder_.path() / "s.json") { std::ofstream(file_) << json; }

  std::unique_ptr<Sweep> sweep() const {
    auto s = std::make_unique<Sweep>(file_, kData);
    s->validate();
    return s;
  }
  // Every mistake, one a line, each from the scenario's name on: "#/batch_size: ..".
  std::string mistakes() const {
    try {
      const auto s = sweep();
      std::string reason;
      for (std::size_t i = 0; i < s->scenario().points(); ++i) {
        const Outcome o = s->at(i);
        if (std::holds_alternative<Prediction>(o.result)) return "none";
        if (reason.empty()) reason = std::get<std::string>(o.result);
      }
      throw InputErrors(file_.string() + "#: no point can run; the first: " + reason);
    } catch (const InputErrors& e) {
      std::string all;
      for (std::string m : e.messages()) {
        if (m.starts_with(file_.string())) m.erase(0, file_.string().size());
        all += (all.empty() ? "" : "\n") + m;
      }
      return all;
    }
  }
  const std::filesystem::path& folder() const { return folder_.path(); }

 private:
  FreshFolder folder_;
  std::filesystem::path file_;
};

// A scenario that runs, with more keys: with(R"("batch_size": 4)").
inline std::string with(const std::string& more, const std::string& method = R"({"name": "autoregressive"})") {
  return R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "draftline", "method": )" + method +
         (more.empty() ? "" : ", " + more) + "}";
}
inline std::string with_method(const std::string& method) { return with("", method); }

inline Prediction prediction(const std::string& scenario, std::size_t index = 0) {
  const Outcome o = ScenarioText(scenario).sweep()->at(index);
  if (const auto* why = std::get_if<std::string>(&o.result)) FAIL("skipped: " << *why);
  return std::get<Prediction>(o.result);
}

}  // namespace draftline
