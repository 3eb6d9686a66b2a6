// SPDX-License-Identifier: Apache-2.0
// An answer of any verb (a JSON document) as figures by point, so that two answers can be joined point by point.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace draftline::gate {

using Json = nlohmann::ordered_json;

// What tells a point from the others of its answer: {"method", "eagle3"}, {"batch_size", "16"}, in the document's
// order.
using PointKey = std::vector<std::pair<std::string, std::string>>;

struct PointFigures {
  PointKey key;
  std::vector<std::pair<std::string, Json>> figures;  // "ttft.p99" and a number, text, boolean or null

  static auto members(auto& s) { return std::tie(s.key, s.figures); }
};

// Objects below a result are flattened with dots, {"value", "unit", "kind"} is its value. Lists of objects are points
// of their own; an acceptance names a point only where nothing else tells it from another. What differs from run to run
// (wall times), and what says who answered which question, is left out.
std::vector<PointFigures> figures_of(const Json& document);

std::string text_of(const PointKey&);                  // method eagle3, batch_size 16
std::string identity_of(const PointKey&);              // equal for equal points, whatever the order of their keys
PointKey shared_by(const std::vector<PointFigures>&);  // what all points have in common
PointKey without(const PointKey& key, const PointKey& shared);

// What tells a point from the others of its answer: not what all of them share, nor long texts (parameters, an
// acceptance) where the rest tells it already; of what is longer than `most` bytes only as much as is needed.
PointKey telling(const PointKey& key, const std::vector<PointKey>& all, std::size_t most);

// Only the figures that are listed: "ttft.p99", "breakdown." for all that begin so, "all" for every one.
std::vector<PointFigures> selected(std::vector<PointFigures>, const std::vector<std::string>& names);

}  // namespace draftline::gate
