// SPDX-License-Identifier: Apache-2.0
#include "gate/change_table.h"

#include <algorithm>
#include <cmath>

#include "core/quantity_text.h"
#include "core/utf8.h"

namespace draftline::gate {

namespace {

constexpr std::size_t kLongestPlace = 60, kLongestText = 48;

bool is_sized(const Change& c) {
  return c.kind == Change::Kind::moved && (c.relative || (c.was.is_number() && c.is.is_number()));
}
// The absolute relative change; infinite if the number was 0, so that it is listed first.
double size_of(const Change& c) { return c.relative ? std::abs(*c.relative) : HUGE_VAL; }

// The order of `others`: lost points and figures, new ones, changed texts, event streams.
int rank_of(const Change& c) {
  if (is_event_stream(c.figure)) return 3;
  if (c.kind == Change::Kind::moved) return 2;
  return c.kind == Change::Kind::lost ? 0 : 1;
}

std::string numbers_of(const std::vector<Cause>& causes, const Checked* pin) {
  std::string text;
  for (std::size_t i = 0; i < causes.size(); ++i)
    if (std::ranges::find(causes[i].pins, pin) != causes[i].pins.end())
      text += (text.empty() ? "" : ", ") + std::to_string(i + 1);
  return text;
}

// Whether rows have different causes; otherwise the list of causes is enough.
bool causes_differ(const std::vector<ChangeRow>& rows, const std::vector<Cause>& causes) {
  return std::ranges::any_of(
      rows, [&](const ChangeRow& row) { return numbers_of(causes, row.pin) != numbers_of(causes, rows.front().pin); });
}

std::string name_of(const ChangeRow& row) {
  std::string name = row.pin->question;
  if (name.ends_with(".json")) name.resize(name.size() - 5);
  return name;
}

std::string place_of(const ChangeRow& row) {
  return shortened(text_of(distinguishing_parts(row.largest->point, row.pin->keys, kLongestPlace)), kLongestPlace);
}

Cell points_cell(const ChangeRow& row) {
  return {to_double(row.points), std::to_string(row.points) + " of " + std::to_string(row.pin->keys.size())};
}

// The old and the new value as text, as far as they exist.
std::string texts_of(const Change& c) {
  if (is_event_stream(c.figure)) return "different events, or different times";
  const std::string was = shown(c.was), is = shown(c.is);
  if (was.empty() || is.empty()) return shortened(was + is, 2 * kLongestText);
  return shortened(was, kLongestText) + " -> " + shortened(is, kLongestText);
}

}  // namespace

ChangeRows rows_of(const std::vector<Checked>& pins) {
  ChangeRows rows;
  for (const Checked& pin : pins) {
    const std::size_t first_sized = rows.sized.size(), first_other = rows.others.size();
    for (const Change& c : pin.changes) {
      auto& all = is_sized(c) ? rows.sized : rows.others;
      const auto first = all.begin() + to_int64(is_sized(c) ? first_sized : first_other);
      const auto known = std::find_if(first, all.end(), [&](const ChangeRow& row) {
        return row.largest->figure == c.figure && row.largest->kind == c.kind;
      });
      ChangeRow& row = known == all.end() ? all.emplace_back(ChangeRow{&pin, &c}) : *known;
      if (is_sized(c) && size_of(c) > size_of(*row.largest)) row.largest = &c;
      ++row.points;
    }
  }
  std::ranges::stable_sort(
      rows.sized, [](const ChangeRow& a, const ChangeRow& b) { return size_of(*a.largest) > size_of(*b.largest); });
  std::ranges::stable_sort(
      rows.others, [](const ChangeRow& a, const ChangeRow& b) { return rank_of(*a.largest) < rank_of(*b.largest); });
  return rows;
}

std::optional<double> one_tolerance(const std::vector<ChangeRow>& rows) {
  std::optional<double> one;
  for (const ChangeRow& row : rows) {
    if (one && *one != row.largest->tolerance) return std::nullopt;
    one = row.largest->tolerance;
  }
  return one;
}

std::vector<Cause> causes_of(const std::vector<Checked>& pins) {
  std::vector<Cause> causes;
  for (const Checked& pin : pins)
    for (const std::string& cause : pin.causes) {
      auto it = std::ranges::find_if(causes, [&](const Cause& c) { return c.text == cause; });
      if (it == causes.end()) it = causes.insert(causes.end(), {cause, {}});
      it->pins.push_back(&pin);
    }
  return causes;
}

Table sized_table(const std::vector<ChangeRow>& rows, const std::vector<Cause>& causes, std::size_t most,
                  const Safe& safe) {
  const bool why = causes_differ(rows, causes), tolerance = !one_tolerance(rows);
  std::vector<Table::Column> columns{"change", "figure", "was", "is"};
  if (tolerance) columns.push_back("tolerance");
  columns.insert(columns.end(), {"points", "pin"});
  if (why) columns.push_back("why");
  columns.push_back("largest at");
  Table table(std::move(columns));
  for (std::size_t i = 0; i < std::min(rows.size(), most); ++i) {
    const Change& c = *rows[i].largest;
    const auto value = [&](const Json& j) {
      return j.is_number() ? Cell(j.get<double>(), shown(j)) : Cell(safe(shortened(shown(j), kLongestText)));
    };
    std::vector<Cell> cells{Cell(c.relative.value_or(0), change_text(c)), safe(c.figure), value(c.was), value(c.is)};
    if (tolerance) cells.emplace_back(c.tolerance, significant(c.tolerance, 1));
    cells.push_back(points_cell(rows[i]));
    cells.emplace_back(safe(name_of(rows[i])));
    if (why) cells.emplace_back(numbers_of(causes, rows[i].pin));
    cells.emplace_back(safe(place_of(rows[i])));
    table.add(std::move(cells));
  }
  return table;
}

Table others_table(const std::vector<ChangeRow>& rows, const std::vector<Cause>& causes, std::size_t most,
                   const Safe& safe) {
  const bool why = causes_differ(rows, causes);
  std::vector<Table::Column> columns{"what", "figure", "was -> is", "points", "pin"};
  if (why) columns.push_back("why");
  columns.push_back("first at");
  Table table(std::move(columns));
  for (std::size_t i = 0; i < std::min(rows.size(), most); ++i) {
    const Change& c = *rows[i].largest;
    std::vector<Cell> cells{change_text(c), safe(c.figure.empty() ? "the whole point" : c.figure), safe(texts_of(c)),
                            points_cell(rows[i]), safe(name_of(rows[i]))};
    if (why) cells.emplace_back(numbers_of(causes, rows[i].pin));
    cells.emplace_back(safe(place_of(rows[i])));
    table.add(std::move(cells));
  }
  return table;
}

std::string change_text(const Change& c) {
  if (c.kind == Change::Kind::lost) return "lost";
  if (c.kind == Change::Kind::appeared) return "new";
  if (!c.relative) return is_sized(c) ? "from 0" : "changed";
  return (*c.relative > 0 ? "+" : "") + significant(100 * *c.relative, 3) + " %";
}

std::string counted(std::size_t n, const std::string& one) {
  return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

std::string shortened(const std::string& text, std::size_t most) {
  if (display_width(text) <= most) return text;
  std::string_view rest = text;
  std::string kept;
  while (display_width(kept) + 3 < most) {
    const std::string_view c = rest.substr(0, std::max<std::size_t>(1, utf8_length(rest)));
    kept += c;
    rest.remove_prefix(c.size());
  }
  return kept + "...";
}

}  // namespace draftline::gate
