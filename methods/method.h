// SPDX-License-Identifier: Apache-2.0
// The table of methods: what each needs to be built, and what `draftline list methods` says of it. A new method is one
// file, one row in table.cpp and one line of CMake; contract tests pick it up by themselves.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>

#include "core/reader.h"
#include "decoder/method.h"
#include "decoder/transformer.h"
#include "methods/method_spec.h"
#include "model/tree_search.h"

namespace draftline::methods {

// own_target: lossless against a target that was trained for the method. lossy: the text may differ.
enum class Losslessness { lossless, own_target, lossy };

// What a method may use while it is built.
struct Context {
  Ops& ops;
  WeightStore& weights;
  const Transformer& target;
  int capacity;  // cache entries per sequence
  // Reads a transformer given by name or file at that place of a scenario.
  std::function<TransformerShape(const Reader&)> transformer;
  RankAcceptance accepted = {};  // what the scenario's acceptance knows of ranks, however it says it; empty: nothing
};

// The chains that a method can draft.
struct DraftLengths {
  int most = 0;  // 0: "draft_length" is no parameter of it
  // Whether such a draft length goes with its other parameters and the target; null: each does.
  bool (*fit)(const MethodSpec&, const TransformerShape& target) = nullptr;
};

struct Entry {
  std::string_view name;
  std::string_view also = {};      // another name that is read, as other tools have it
  std::string_view title, source;  // source: a key of data/sources.json
  std::string_view locator;        // where in the source the method is described
  Losslessness lossless;
  std::string_view parameters;  // of the scenario, for people
  // Reads its own parameters where the spec says; mistakes are noted there.
  std::unique_ptr<Method> (*make)(const MethodSpec&, Context&);
  // Parameters, as members of the method's object, that every contract is tested with: small ones, chains and trees.
  std::vector<std::string_view> examples = {""};
  DraftLengths lengths = {};
  bool draft_network = false;  // "draft" names a network, which "shard_draft" divides among the target's ranks
};

std::span<const Entry> all();
const Entry* find(std::string_view name);  // or its other name; null: unknown
const Entry* named(const Reader& name);    // null and a mistake: unknown

// What a method remembers of sequences on the host: those that have left are forgotten.
template <class T>
void keep_present(std::map<int, T>& of_sequence, const std::vector<int>& ids) {
  std::erase_if(of_sequence, [&](const auto& e) { return std::find(ids.begin(), ids.end(), e.first) == ids.end(); });
}

}  // namespace draftline::methods
