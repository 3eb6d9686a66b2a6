// SPDX-License-Identifier: Apache-2.0
#include "gate/figures.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <string_view>
#include <unordered_map>

#include "core/nearest_word.h"
#include "gate/renamed.h"
#include "reports/figure_lists.h"

namespace draftline::gate {

namespace {

constexpr const char* kNumber = " #";

// The members that identify the elements of a list. Elements of other lists are identified by "name" or position.
const std::vector<std::string>& names_of_elements(const std::string& list) {
  static const auto lists = identifying_members();
  static const std::vector<std::string> otherwise{"name"};
  const auto found = std::ranges::find_if(lists, [&](const auto& known) { return known.first == list; });
  return found == lists.end() ? otherwise : found->second;
}

// Members of the document that describe the program and the question.
bool is_heading(std::string_view key) {
  return key == "schema_version" || key == "commit" || key == "model" || key == "input_files" || key == "question" ||
         key == "resolved" || key == "points_done" || key == "ranking";
}
bool is_no_figure(std::string_view key) {
  return key == "locator" || key == "source" || key == "arguments" || key.ends_with("wall_time");
}
bool is_figure(const Json& j) { return j.is_object() && j.contains("value") && j.contains("kind"); }
bool is_list_of_objects(const Json& j) { return j.is_array() && !j.empty() && j.front().is_object(); }
std::string plain_text(const Json& j) { return j.is_string() ? j.get<std::string>() : j.dump(); }

class Flattening {
 public:
  void object(const Json& j, const PointKey& above, const std::string& prefix, const std::vector<std::string>& names) {
    PointKey key = above;
    const auto part = [&](const std::string& printed, const Json& value) {
      if (value.is_null()) return;
      const std::string name = current_name(printed);
      const auto known = std::ranges::find_if(key, [&](const auto& p) { return p.first == name; });
      if (known != key.end()) known->second = plain_text(value);  // an inner value replaces an outer one
      else key.emplace_back(name, plain_text(value));
    };
    const auto name_by = [&](const std::string& member, const Json& value) {
      if (value.is_object())
        for (const auto& [k, v] : value.items()) part(k, v);
      else part(member, value);
    };
    std::vector<std::string> used{"inputs"};
    if (const auto inputs = j.find("inputs"); inputs != j.end()) name_by("inputs", *inputs);
    for (const std::string& name : names)
      if (const auto value = j.find(name); value != j.end() && !value->is_number_float() && !value->is_array())
        name_by(name, *value), used.push_back(name);
    for (const auto& [member, value] : j.items())
      if (!is_no_figure(member) && !(above.empty() && prefix.empty() && is_heading(member)) &&
          std::ranges::find(used, member) == used.end())
        this->member(member, value, key, prefix);
  }

  std::vector<PointFigures> points;

 private:
  void member(const std::string& name, const Json& value, const PointKey& key, const std::string& prefix) {
    if (is_figure(value)) {
      add(key, prefix + name, value.at("value"));
      for (const char* end : {"low", "high"})
        if (value.contains(end)) add(key, prefix + name + "." + end, value.at(end));
    } else if (is_list_of_objects(value)) {
      static constexpr std::array<std::string_view, 4> kHoldResults{"results", "papers", "tables", "cells"};
      const bool results = std::ranges::find(kHoldResults, name) != kHoldResults.end();
      const auto& names = names_of_elements(name);
      for (std::size_t i = 0; i < value.size(); ++i) {
        const Json& item = value[i];
        PointKey of_item = key;
        const bool named =
            item.contains("inputs") || std::ranges::any_of(names, [&](const auto& n) { return item.contains(n); });
        if (!named) of_item.emplace_back(name, std::to_string(i));
        object(item, of_item, results ? prefix : prefix + name + ".", names);
      }
    } else if (value.is_object()) {
      for (const auto& [inner, v] : value.items())
        if (!is_no_figure(inner)) member(inner, v, key, prefix + name + ".");
    } else {
      add(key, prefix + name, value.is_array() ? Json(value.dump()) : value);
    }
  }

  void add(const PointKey& key, const std::string& printed, Json value) {
    std::string name = current_name(printed);
    const auto [it, fresh] = index_.try_emplace(identity_of(key), Known{points.size(), {}});
    if (fresh) points.push_back({key, {}});
    auto& [index, times] = it->second;
    if (const int time = ++times[name]; time > 1)  // points with equal keys are numbered
      name += kNumber + std::to_string(time);
    points[index].figures.emplace_back(std::move(name), std::move(value));
  }

  struct Known {
    std::size_t index;                           // of points
    std::unordered_map<std::string, int> times;  // occurrences of each figure's name
  };
  std::unordered_map<std::string, Known> index_;
};

// Removes a part from all keys if these are unique without it. It is an input that people change to see its effect, and
// points with another value should be compared.
void drop_where_needless(std::vector<PointFigures>& points, const std::string& part) {
  std::set<std::string> identities;
  std::vector<PointKey> keys;
  for (const PointFigures& p : points) {
    PointKey& key = keys.emplace_back(p.key);
    std::erase_if(key, [&](const auto& named) { return named.first == part; });
    if (!identities.insert(identity_of(key)).second) return;
  }
  for (std::size_t i = 0; i < points.size(); ++i) points[i].key = std::move(keys[i]);
}

// Whether a figure is asked for by a current name.
bool matches_name(const std::string& figure, const std::string& asked) {
  return figure == asked || unnumbered(figure) == asked || (asked.ends_with('.') && figure.starts_with(asked));
}

}  // namespace

std::vector<PointFigures> figures_of(const Json& document) {
  Flattening all;
  if (document.is_array()) {
    all.object(Json{{"results", document}}, {}, "", {});
  } else {
    all.object(document, {}, "", {});
  }
  drop_where_needless(all.points, "acceptance");
  return std::move(all.points);
}

std::string text_of(const PointKey& key) {
  std::string text;
  for (const auto& [name, value] : key) text += (text.empty() ? "" : ", ") + name + " " + value;
  return text;
}

std::string identity_of(const PointKey& key) {
  PointKey sorted = key;
  std::ranges::sort(sorted);
  std::string text;
  for (const auto& [name, value] : sorted) text += name + "\n" + value + "\n";
  return text;
}

PointKey shared_by(const std::vector<PointFigures>& points) {
  if (points.size() < 2) return {};
  PointKey shared = points.front().key;
  for (const PointFigures& p : points)
    std::erase_if(shared, [&](const auto& part) { return std::ranges::find(p.key, part) == p.key.end(); });
  return shared;
}

PointKey without(const PointKey& key, const PointKey& shared) {
  PointKey rest = key;
  std::erase_if(rest, [&](const auto& part) { return std::ranges::find(shared, part) != shared.end(); });
  return rest;
}

PointKey distinguishing_parts(const PointKey& key, const std::vector<PointKey>& all, std::size_t most) {
  constexpr std::size_t kLongText = 24;
  enum class Part { same, absent, other };
  using Parts = std::vector<Part>;  // how another point's key compares, for each part of `key`
  std::set<Parts> others;
  for (const PointKey& other : all) {
    Parts parts(key.size(), Part::absent);
    for (std::size_t i = 0; i < key.size(); ++i)
      for (const auto& [name, value] : other)
        if (name == key[i].first) parts[i] = value == key[i].second ? Part::same : Part::other;
    others.insert(std::move(parts));
  }
  others.erase(Parts(key.size(), Part::same));  // the key itself
  std::vector<bool> said(key.size());
  for (std::size_t i = 0; i < key.size(); ++i)
    said[i] = std::ranges::any_of(others, [&](const Parts& p) { return p[i] == Part::other; });
  const auto tells = [&] {
    return std::ranges::none_of(others, [&](const Parts& parts) {
      for (std::size_t i = 0; i < key.size(); ++i)
        if (said[i] && parts[i] != Part::same) return false;
      return true;
    });
  };
  for (std::size_t i = 0; i < key.size() && !tells(); ++i) said[i] = true;
  const auto parts = [&] {
    PointKey some;
    for (std::size_t i = 0; i < key.size(); ++i)
      if (said[i]) some.push_back(key[i]);
    return some;
  };
  std::vector<std::size_t> longest_first(key.size());
  std::iota(longest_first.begin(), longest_first.end(), std::size_t{0});
  std::ranges::stable_sort(longest_first, [&](std::size_t a, std::size_t b) {
    return key[a].first.size() + key[a].second.size() > key[b].first.size() + key[b].second.size();
  });
  for (const std::size_t i : longest_first)
    if (said[i] && (key[i].second.size() > kLongText || text_of(parts()).size() > most)) {
      said[i] = false;
      if (!tells()) said[i] = true;
    }
  return parts();
}

std::string unnumbered(const std::string& figure) { return figure.substr(0, figure.rfind(kNumber)); }

std::vector<PointFigures> selected(std::vector<PointFigures> points, const std::vector<std::string>& asked) {
  if (std::ranges::find(asked, "all") != asked.end()) return points;
  std::vector<std::string> names;
  for (const std::string& name : asked) names.push_back(current_name(name));
  const auto wanted = [&](const std::string& figure) {
    return std::ranges::any_of(names, [&](const std::string& name) { return matches_name(figure, name); });
  };
  for (PointFigures& p : points) std::erase_if(p.figures, [&](const auto& f) { return !wanted(f.first); });
  std::erase_if(points, [](const PointFigures& p) { return p.figures.empty(); });
  return points;
}

std::string dotted(std::string asked) {
  std::ranges::replace(asked, '/', '.');
  return asked;
}

bool has_figure(const std::vector<PointFigures>& points, const std::string& asked) {
  if (asked == "all") return true;
  const std::string name = current_name(asked);
  return std::ranges::any_of(points, [&](const PointFigures& p) {
    return std::ranges::any_of(p.figures, [&](const auto& f) { return matches_name(f.first, name); });
  });
}

std::string no_figure(const std::string& name, const std::string& where, const std::vector<PointFigures>& points) {
  std::set<std::string> known;
  for (const PointFigures& p : points)
    for (const auto& [figure, value] : p.figures) known.insert(unnumbered(figure));
  const auto near = nearest_word(name, std::vector<std::string>(known.begin(), known.end()));
  return "no figure \"" + name + "\" " + where + (near ? "; did you mean \"" + *near + "\"?" : "");
}

}  // namespace draftline::gate
