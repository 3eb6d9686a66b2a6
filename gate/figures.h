// SPDX-License-Identifier: Apache-2.0
// Converts the answer of any verb (a JSON document) to figures by point, so that answers can be compared.
#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace draftline::gate {

using Json = nlohmann::ordered_json;

// The identity of a point within its answer: {"method", "eagle3"}, {"batch_size", "16"}, in the document's order.
using PointKey = std::vector<std::pair<std::string, std::string>>;

struct PointFigures {
  PointKey key;
  std::vector<std::pair<std::string, Json>> figures;  // "ttft.p99" and a number, text, boolean or null
};

// The figures of a document. Objects in a result are flattened with dots; {"value", "unit", "kind"} becomes its value.
// Elements of lists of objects become separate points. The acceptance is part of a key only if the key is not unique
// without it. Wall times and descriptions of the program and the question are excluded.
std::vector<PointFigures> figures_of(const Json& document);

std::string text_of(const PointKey&);                           // "method eagle3, batch_size 16"
std::string identity_of(const PointKey&);                       // does not depend on the order of the parts
PointKey shared_by(const std::vector<PointFigures>&);           // the parts that all points have in common
PointKey without(const PointKey& key, const PointKey& shared);  // the parts that are not in `shared`

// The parts of a key that distinguish it from all other keys of `all`. Parts that all keys share are omitted, and long
// texts (parameters, an acceptance) if shorter parts suffice; a result of more than `most` bytes is reduced to the
// necessary parts.
PointKey distinguishing_parts(const PointKey& key, const std::vector<PointKey>& all, std::size_t most);

// A figure's name without the number that distinguishes points with equal keys: "ttft.p99 #2" -> "ttft.p99".
std::string unnumbered(const std::string& figure);
// The usual form of a figure's name that a user gave with dots or slashes: "ttft/p99" -> "ttft.p99".
std::string dotted(std::string asked);
// Points with only the figures whose names match: "ttft.p99" matches itself and "ttft.p99 #2", "breakdown." all names
// with this beginning, "all" every name.
std::vector<PointFigures> selected(std::vector<PointFigures>, const std::vector<std::string>& names);
// Whether any point has a figure whose name matches; "all" matches every figure.
bool has_figure(const std::vector<PointFigures>&, const std::string& name);
// `no figure "tpot.meen" at rate 2 /s; did you mean "tpot.mean"?`. The last argument: the points without the figure.
std::string no_figure(const std::string& name, const std::string& where, const std::vector<PointFigures>&);

}  // namespace draftline::gate
