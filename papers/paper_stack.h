// SPDX-License-Identifier: Apache-2.0
// What a paper's rows ran on: a file's "settings" say for which tables and rows, with kinds and reasons, which device,
// target, engine and parameters of methods stand for the stack; the priced programs give a step's time and work.
#pragma once
#include <filesystem>
#include <map>
#include <tuple>

#include "papers/paper_table.h"
#include "predict/prediction.h"

namespace draftline {

// A value with its origin: {"value": .., "kind": .., ...}.
inline Reader value_of(const Reader& in, std::string_view key) { return in.at(key).at("value"); }

struct PaperSetting {
  Reader in;
  std::vector<std::string> tables;
  std::vector<std::pair<std::string, std::string>> where;
  std::shared_ptr<const Device> device;  // null: the table names its own
  Engine engine;
  std::shared_ptr<const TransformerShape> transformer;  // null: each row or table names its own
  PrecisionChoice precision{"bf16", DType::bf16, DType::bf16};
  int ranks = 1, prompt_tokens = 0, output_tokens = 0;
  int inferred_at = 0;                // the batch size whose cells give acceptance away; 0: it is printed
  std::string inferred_in = {};       // the table that gives acceptance away; "": the one at hand
  std::string calibrated_in = {};     // the table with the plain baseline; "": the one at hand
  std::string baseline = "baseline";  // its row
  bool calibrated = true;             // on a printed baseline; else the profile stands as it is
  bool slope_is_of_rows = false;
  bool issue_is_calibrated = false;  // per task, on the printed baseline, instead of a line through it
};

struct PaperStep {
  Seconds time;
  Work work;
  int rows = 1;  // verified per sequence
};

class PaperStack {
 public:
  PaperStack(const std::filesystem::path& data, const Document& file);

  const PaperSetting* setting_of(const PaperTable&, const PaperCell&) const;
  const Device& device(const PaperSetting&, const PaperTable&);
  const TransformerShape* transformer(const PaperSetting&, const PaperTable&, const PaperCell&);
  std::shared_ptr<const TransformerShape> transformer_named(const std::string&);

  // The paper's own name of a method, as the setting spells it out; none: not known there.
  std::optional<Reader> entry(const PaperSetting&, const std::string& method) const;
  bool is_plain(const PaperSetting&, const std::string& method) const;

  // One step of the whole batch; `issue`: instead of the profile's. What a token costs is not in it.
  const PaperStep& step(const PaperSetting&, const PaperTable&, const TransformerShape&, const std::string& method,
                        int draft_length, int batch_size, std::optional<Seconds> issue);
  const InputFiles& input_files() const { return catalogue_.input_files(); }
  Decoder::FindTransformer finder() {
    return [this](const Reader& in) { return shape_of(in); };
  }

  static constexpr const char* kPlain = "autoregressive";

 private:
  PaperSetting read(const Reader&);
  TransformerShape shape_of(const Reader&);
  const MethodChoice& method(const PaperSetting&, const std::string& name, int draft_length,
                             const TransformerShape& target);

  Reader root_;
  Catalogue catalogue_;
  Predictor predictor_;
  std::vector<PaperSetting> settings_;
  std::map<std::tuple<const void*, std::string, int>, std::unique_ptr<MethodChoice>> methods_;
  std::map<std::tuple<const void*, const void*, const void*, std::string, int, int, double>, PaperStep> steps_;
};

}  // namespace draftline
