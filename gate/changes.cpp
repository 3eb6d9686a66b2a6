// SPDX-License-Identifier: Apache-2.0
#include "gate/changes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>

#include "core/quantity_text.h"

namespace draftline::gate {

namespace {

struct Measure {
  double value;
  std::string unit;
};

// A number, or the number a text begins with and what stands behind it.
std::optional<Measure> measure_of(const Json& j) {
  if (j.is_number()) return Measure{j.get<double>(), ""};
  if (!j.is_string()) return std::nullopt;
  const std::string text = j.get<std::string>();
  Measure m{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), m.value);
  if (error != std::errc() || !std::isfinite(m.value)) return std::nullopt;
  m.unit.assign(end, text.data() + text.size());
  return m;
}

std::optional<Change> compare(const Json& was, const Json& is, double tolerance) {
  if (was == is) return std::nullopt;
  Change c{Change::Kind::moved, {}, {}, was, is, std::nullopt, tolerance};
  const auto a = measure_of(was), b = measure_of(is);
  if (a && b && a->unit == b->unit) {
    const double apart = std::abs(b->value - a->value), size = std::max(std::abs(a->value), std::abs(b->value));
    if (apart <= tolerance * size) return std::nullopt;
    if (a->value != 0) c.relative = b->value / a->value - 1;
  }
  return c;
}

double size_of(const Change& c) {
  if (c.kind != Change::Kind::moved || !c.relative) return std::numeric_limits<double>::infinity();
  return std::abs(*c.relative);
}

}  // namespace

std::vector<Change> changes_between(const std::vector<PointFigures>& was, const std::vector<PointFigures>& is,
                                    double tolerance) {
  std::map<std::string, const PointFigures*> now;
  for (const PointFigures& p : is) now[identity_of(p.key)] = &p;
  std::vector<Change> all;
  const auto figure = [](const PointFigures* p, const std::string& name) -> const Json* {
    if (p == nullptr) return nullptr;
    for (const auto& [n, value] : p->figures)
      if (n == name) return &value;
    return nullptr;
  };
  const auto note = [&](Change c, const PointFigures& p, const std::string& name) {
    c.point = p.key;
    c.figure = name;
    c.tolerance = tolerance;
    all.push_back(std::move(c));
  };
  for (const PointFigures& p : was) {
    const auto found = now.find(identity_of(p.key));
    const PointFigures* here = found == now.end() ? nullptr : found->second;
    if (here == nullptr) {
      note({Change::Kind::lost, {}, {}, p.figures.empty() ? Json() : p.figures.front().second, {}, {}, 0}, p,
           p.figures.empty() ? "" : p.figures.front().first);
      continue;
    }
    for (const auto& [name, value] : p.figures) {
      const Json* other = figure(here, name);
      if (other == nullptr) note({Change::Kind::lost, {}, {}, value, {}, {}, 0}, p, name);
      else if (const auto change = compare(value, *other, tolerance)) note(*change, p, name);
    }
    for (const auto& [name, value] : here->figures)
      if (figure(&p, name) == nullptr) note({Change::Kind::appeared, {}, {}, {}, value, {}, 0}, p, name);
    now.erase(found);
  }
  for (const PointFigures& p : is)
    if (now.contains(identity_of(p.key)))
      note({Change::Kind::appeared, {}, {}, {}, p.figures.empty() ? Json() : p.figures.front().second, {}, 0}, p,
           p.figures.empty() ? "" : p.figures.front().first);
  std::stable_sort(all.begin(), all.end(), [](const Change& a, const Change& b) { return size_of(a) > size_of(b); });
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
