// SPDX-License-Identifier: Apache-2.0
// The table of methods: how each is built, and its description for `draftline list methods`. A new method is one file,
// its declaration in entries.h, one row in table.cpp and one line of CMake; contract tests include it automatically.
// CONTRIBUTING.md, "A new method", lists the other places.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "core/reader.h"
#include "decoder/method.h"
#include "decoder/transformer.h"
#include "methods/method_spec.h"
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
  // Finds a transformer by the name or file at a reader.
  std::function<TransformerShape(const Reader&)> transformer;
  RankAcceptance accepted = {};  // [levels][ranks] of the scenario's acceptance; empty if unknown
  // Reads the drafter's folder that a reader names; null where none can be read.
  std::function<DrafterConfig(const Reader&, DrafterKind)> drafter = {};
};

// The chains that a method can draft.
struct DraftLengths {
  int most = 0;  // the largest draft length; 0: the method has no parameter "draft_length"
  // Whether the draft length of a spec is compatible with its other parameters and the target; null: always.
  bool (*fit)(const MethodSpec&, const TransformerShape& target) = nullptr;
  bool tree_by_default = false;    // drafts a tree if its parameters do not set the drafts
  bool varies_by_default = false;  // without a draft length, each step has a length of its own
};

struct Entry {
  std::string_view name;
  std::vector<std::string_view> also = {};  // synonyms from other tools
  std::string_view title, source;           // source: a key of data/sources.json
  std::string_view locator;                 // section of the source that describes the method
  Losslessness lossless;
  std::string_view parameters;  // description of the parameters, for people
  // Builds the method. Parameters are read from MethodSpec::in(), where mistakes are noted.
  std::unique_ptr<Method> (*make)(const MethodSpec&, Context&);
  // JSON members of method objects with which contract tests run: small networks, chains and trees.
  std::vector<std::string_view> examples = {""};
  DraftLengths lengths = {};
  bool draft_network = false;  // whether it has the parameters "draft" (a transformer) and "shard_draft"
  std::optional<DrafterKind> checkpoint = {};  // of its trained drafters, if it has the parameter "checkpoint"
  // Parameters of the drafts and their verification, not of the drafter; "tree" is one of every method.
  std::vector<std::string_view> of_drafts = {};
  std::vector<std::string_view> of_prices = {};  // parameters on which prices depend, and no token
};

std::span<const Entry> all();
const Entry* find(std::string_view name);  // by name or synonym; null if it is unknown
const Entry* named(const Reader& name);    // by the text at a reader; null, and a mistake, if it is unknown

// Erases the host state of sequences whose id is not among `ids`, because they have left the batch.
template <class T>
void keep_present(std::map<int, T>& of_sequence, const std::vector<int>& ids) {
  std::erase_if(of_sequence, [&](const auto& e) { return std::find(ids.begin(), ids.end(), e.first) == ids.end(); });
}

}  // namespace draftline::methods
