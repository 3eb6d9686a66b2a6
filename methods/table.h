// SPDX-License-Identifier: Apache-2.0
// The table of methods: how each is built, and its description for `draftline list methods`. A new method is one file,
// its name in entries.h and one line of CMake (docs/recipes/new_method.md).
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/mistake.h"
#include "core/reader.h"
#include "decoder/method.h"
#include "decoder/token_tree.h"
#include "decoder/transformer.h"
#include "methods/method_spec.h"
#include "methods/named_file.h"
#include "methods/parameter.h"
#include "model/acceptance/tree_search.h"
#include "model/transformers/drafter_config.h"

namespace draftline::methods {

// lossless: the text, or its distribution, is the target's. own_target: the same of a target trained for the method.
// lossy: it may differ.
enum class Losslessness { lossless, own_target, lossy };

// The environment in which a method is built.
struct Context {
  Ops& ops;
  WeightStore& weights;
  const Transformer& target;
  int capacity;  // KV cache entries per sequence
  const MethodSpec& spec;
  RankAcceptance accepted = {};                // [levels][ranks] of the scenario's acceptance; empty if unknown
  std::optional<TransformerShape> draft = {};  // the draft network, of one of `draft_ranks` ranks
  int draft_ranks = 1;
  std::optional<DrafterConfig> published = {};  // of the folder "checkpoint", for one rank of the target

  Target limits() const { return {target.shape, target.vocabulary()}; }
  int drafts() const { return spec.drafts(); }
  template <class P>
  const P& own() const {  // the parameters that the method's file declares
    return spec.own<P>();
  }
};

// What a method drafts.
struct DraftLengths {
  int most = 0;   // the largest draft length; 0: the method has no parameter "draft_length"
  int usual = 0;  // the default; 0: it depends on other parameters, or a tree is drafted
  // A mistake that the draft length of a spec makes with the target; null: there is none.
  std::optional<Mistake> (*fit)(const MethodSpec&, const TransformerShape& target) = nullptr;
  TreeKind trees = TreeKind::none;   // that the parameter "tree" can give
  RankTree (*official)() = nullptr;  // the tree of ranks of the authors' code
  int passes = 0;                    // of the grown tree of the authors' code
  bool tree_by_default = false;      // drafts a tree if its parameters do not set the drafts
  bool varies_by_default = false;    // without a draft length, each step has a length of its own
  std::string_view meaning = {};     // of the draft length, for people
};

// What serving engines call a method; "" where an engine has none.
struct EngineNames {
  std::string_view vllm = {}, sglang = {}, tensorrt_llm = {}, llama_cpp = {};
  bool parallel = false;   // vLLM: by "parallel_drafting"
  bool in_target = false;  // the target's files hold its weights
};

struct Entry {
  std::string_view name = {};
  std::vector<std::string_view> also = {};   // synonyms from other tools
  std::string_view title = {}, source = {};  // source: a key of data/sources.json
  std::string_view locator = {};             // section of the source that describes the method
  Losslessness lossless = Losslessness::lossless;
  ParameterList parameters = {};  // its own, besides those that the members below say it has
  // Builds the method, whose parameters have no mistakes.
  std::function<std::unique_ptr<Method>(Context&)> make = {};
  // JSON members of method objects with which contract tests run: small networks, chains and trees.
  std::vector<std::string_view> examples = {""};
  DraftLengths lengths = {};
  bool draft_network = false;  // whether it has the parameters "draft" (a transformer) and "shard_draft"
  std::optional<DrafterKind> checkpoint = {};  // of its trained drafters, if it has the parameter "checkpoint"
  EngineNames engines = {};
  // A mistake that parameters make together; and one that they make with the target or the drafter. Null: there is
  // none.
  std::optional<Mistake> (*consistent)(const MethodSpec&) = nullptr;
  std::optional<Mistake> (*fits)(const Context&) = nullptr;
};

// Entry::make of a method whose constructor takes the context, and these values.
template <class M, auto... values>
std::unique_ptr<Method> make(Context& c) {
  return std::make_unique<M>(c, values...);
}

std::span<const Entry> all();
const Entry* find(std::string_view name);   // by name or synonym; null if it is unknown
const Entry* named(const Reader& name);     // by the text at a reader; null, and a mistake, if it is unknown
std::string parameters_text(const Entry&);  // for people
// Finds the networks that a spec names. InputErrors where one can't be read, MethodMistake where one does not fit.
using FindTransformer = std::function<TransformerShape(const NamedNetwork&)>;
using FindDrafter = std::function<DrafterConfig(const NamedFile&, DrafterKind)>;  // null: none can be read
void resolve(Context&, const FindTransformer&, const FindDrafter&);
void refuse_mistakes(const Context&);  // throws MethodMistake with the first, once the networks are found

// Erases the host state of sequences whose id is not among `ids`, because they have left the batch.
template <class T>
void keep_present(std::map<int, T>& of_sequence, const std::vector<int>& ids) {
  std::erase_if(of_sequence, [&](const auto& e) { return std::find(ids.begin(), ids.end(), e.first) == ids.end(); });
}

}  // namespace draftline::methods
