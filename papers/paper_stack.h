// SPDX-License-Identifier: Apache-2.0
// The hardware and software of a paper's measurements. The "settings" of a file of data/papers give, for tables and
// rows, the device, target, engine and method parameters that represent them, with origins. From these the predictor
// gives the time and work of a step.
#pragma once
#include <filesystem>
#include <map>
#include <optional>
#include <tuple>

#include "core/files.h"
#include "papers/paper_table.h"
#include "predict/prediction.h"

namespace draftline {

// The value of a key that is written with its origin: {"value": .., "kind": .., ...}.
inline Reader value_of(const Reader& in, std::string_view key) { return in.at(key).at("value"); }

struct PaperSetting {
  Reader in;
  std::vector<std::string> tables;                         // to which it applies
  std::vector<std::pair<std::string, std::string>> where;  // (key, value) that a row must have
  std::shared_ptr<const Device> device;                    // null: named by the table
  Engine engine;
  std::shared_ptr<const TransformerShape> transformer;  // null: named by the row or table
  Precision precision = {};
  int ranks = 1, prompt_tokens = 0, output_tokens = 0;  // ranks: tensor-parallel devices
  std::optional<int> inferred_at = {};                  // batch size of the cells from which acceptance is inferred
  std::optional<std::string> inferred_in =
      {};  // table from which acceptance is inferred; none: the row's, at inferred_at
  std::optional<std::string> calibrated_in = {};  // table with the baseline; none: the row's
  std::string baseline = "baseline";              // the method name of its rows
  bool calibrated = true;                         // on the printed baseline; otherwise the profile is used unchanged
  bool slope_is_of_rows = false;     // the calibrated time per sequence is mostly per verified row, not per token
  bool issue_is_calibrated = false;  // the issue time is calibrated, per task, instead of a line over the batch
  bool issue_by_batch = false;       // it is calibrated for each transformer and batch size of a table
};

// A step of the whole batch, without the engine's cost per emitted token.
struct PaperStepSpec {
  std::string method;
  int draft_length = 0, batch_size = 1;
  std::optional<Seconds> issue = {};  // instead of the profile's
};
struct PaperStep {
  Seconds time;          // mean over the output, with the cost that is paid
  Work work;             // in the middle of the output
  Seconds verification;  // there, without drafts
  int rows = 1;          // verified rows per sequence
};

class PaperStack {
 public:
  // `file`: of data/papers; mistakes are noted in it. `data`: the folder data/.
  PaperStack(const Data& data, const Document& file);

  const PaperSetting* setting_of(const PaperTable&, const PaperCell&) const;  // null if no setting applies
  const Device& device(const PaperSetting&, const PaperTable&);               // throws InputErrors if it is unknown
  // The target of a row; null if neither setting, row nor table names one. InputErrors if it is unknown.
  const TransformerShape* transformer(const PaperSetting&, const PaperTable&, const PaperCell&);
  std::shared_ptr<const TransformerShape> transformer_named(const std::string&);  // throws InputErrors if it is unknown

  // The setting's parameters for a method name of the paper; none if it does not list the method. "draft_length" in an
  // object of them, as a tree, is the draft length of the row.
  std::optional<Reader> entry(const PaperSetting&, const std::string& method) const;
  bool is_plain(const PaperSetting&, const std::string& method) const;  // whether this is plain decoding

  // InputErrors if the method can't draft that many tokens. The result stays valid.
  const PaperStep& step(const PaperSetting&, const PaperTable&, const TransformerShape&, const PaperStepSpec&);
  void pay(std::optional<PaidCost> cost) { paid_ = cost; }  // from now on, in each step that drafts
  const InputFiles& input_files() const { return catalogue_.input_files(); }
  Decoder::FindTransformer finder() {
    return [this](const NamedNetwork& draft) { return *catalogue_.transformer(draft); };
  }

  static constexpr const char* kPlain = "autoregressive";

 private:
  PaperSetting read(const Reader&);
  Engine engine_for(const PaperSetting&, const std::string& method, std::optional<Seconds> issue) const;
  const MethodChoice& method(const PaperSetting&, const std::string& name, int draft_length,
                             const TransformerShape& target);

  Reader root_;
  Catalogue catalogue_;
  Recordings recordings_;
  std::vector<PaperSetting> settings_;
  std::optional<PaidCost> paid_;
  std::map<std::tuple<const void*, std::string, int>, std::unique_ptr<MethodChoice>> methods_;
  using StepKey = std::tuple<const void*, const void*, const void*, std::string, int, int, std::optional<Seconds>,
                             std::optional<Seconds>>;
  std::map<StepKey, PaperStep> steps_;
};

}  // namespace draftline
