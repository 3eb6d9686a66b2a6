// SPDX-License-Identifier: Apache-2.0
#include "gate/changes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "core/json_parse.h"
#include "core/quantity_text.h"

namespace draftline::gate {

namespace {

constexpr const char* kSkipped = "skipped";

struct Measure {
  double value;
  std::string unit;
};

// The number of a figure: a number, or a text with a number and a unit. A text of digits alone may be a fingerprint.
std::optional<Measure> measure_of(const Json& j) {
  if (j.is_number()) return Measure{j.get<double>(), ""};
  if (!j.is_string()) return std::nullopt;
  const std::string text = j.get<std::string>();
  Measure m{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), m.value);
  if (error != std::errc() || !std::isfinite(m.value)) return std::nullopt;
  m.unit.assign(end, text.data() + text.size());
  if (!m.unit.starts_with(' ')) return std::nullopt;
  return m;
}

// The list in a figure, which holds it as text; null if there is none, or if it is nested deeper than kDeepestJson.
Json list_of(const Json& figure) {
  if (figure.is_array()) return figure;
  if (!figure.is_string() || !figure.get_ref<const std::string&>().starts_with('[')) return {};
  const ParsedJson list = parse_json(figure.get_ref<const std::string&>());
  return list.error.empty() ? Json(list.root) : Json();
}

std::optional<Change> compare(const Json& was, const Json& is, double tolerance) {
  if (was == is) return std::nullopt;
  Change c{Change::Kind::moved, {}, {}, was, is, std::nullopt, tolerance};
  const Json old_list = list_of(was), new_list = list_of(is);
  if (old_list.is_array() && new_list.is_array() && old_list.size() == new_list.size()) {
    bool near = true;
    for (std::size_t i = 0; i < old_list.size(); ++i) near = near && !compare(old_list[i], new_list[i], tolerance);
    return near ? std::nullopt : std::optional(c);
  }
  const auto a = measure_of(was), b = measure_of(is);
  if (a && b && a->unit == b->unit) {
    const double apart = std::abs(b->value - a->value), size = std::max(std::abs(a->value), std::abs(b->value));
    if (apart <= tolerance * size) return std::nullopt;
    if (a->value != 0) c.relative = b->value / a->value - 1;
  }
  return c;
}

double change_size(const Change& c) {
  if (c.kind != Change::Kind::moved || !c.relative) return std::numeric_limits<double>::infinity();
  return std::abs(*c.relative);
}

}  // namespace

bool is_event_stream(const std::string& figure) { return unnumbered(figure) == "event_fingerprint"; }

std::vector<Change> changes_between(const std::vector<PointFigures>& was, const std::vector<PointFigures>& is,
                                    double tolerance) {
  using Figures = std::map<std::string, const Json*>;
  const auto figures_by_name = [](const PointFigures& p) {
    Figures all;
    for (const auto& [name, value] : p.figures) all.emplace(name, &value);
    return all;
  };
  std::map<std::string, const PointFigures*> now;
  for (const PointFigures& p : is) now[identity_of(p.key)] = &p;
  std::vector<Change> all;
  const auto note = [&](Change c, const PointFigures& p, const std::string& name) {
    c.point = p.key;
    c.figure = name;
    c.tolerance = tolerance;
    all.push_back(std::move(c));
  };
  const auto lost = [](Json value) { return Change{Change::Kind::lost, {}, {}, std::move(value), {}, {}, 0}; };
  const auto appeared = [](Json value) { return Change{Change::Kind::appeared, {}, {}, {}, std::move(value), {}, 0}; };
  for (const PointFigures& p : was) {
    const auto found = now.find(identity_of(p.key));
    if (found == now.end()) {
      note(lost({}), p, "");
      continue;
    }
    Figures here = figures_by_name(*found->second);
    const bool was_skipped = figures_by_name(p).contains(kSkipped), is_skipped = here.contains(kSkipped);
    for (const auto& [name, value] : p.figures) {
      if (was_skipped != is_skipped && name != kSkipped) continue;
      const auto other = here.find(name);
      if (other == here.end()) {
        note(lost(value), p, name);
        continue;
      }
      const bool compared = tolerance <= kRounding || !is_event_stream(name);
      if (const auto change = compare(value, *other->second, tolerance); compared && change) note(*change, p, name);
      here.erase(other);
    }
    for (const auto& [name, value] : found->second->figures)
      if (here.contains(name) && (was_skipped == is_skipped || name == kSkipped)) note(appeared(value), p, name);
    now.erase(found);
  }
  for (const PointFigures& p : is)
    if (now.contains(identity_of(p.key))) note(appeared({}), p, "");
  std::ranges::stable_sort(all, [](const Change& a, const Change& b) { return change_size(a) > change_size(b); });
  return all;
}

std::size_t count_figures(const std::vector<PointFigures>& points) {
  std::size_t n = 0;
  for (const PointFigures& p : points) n += p.figures.size();
  return n;
}

std::string shown(const Json& figure) {
  if (figure.is_null()) return "";
  if (figure.is_number_float()) return significant(figure.get<double>(), 6);
  return figure.is_string() ? figure.get<std::string>() : figure.dump();
}

}  // namespace draftline::gate
