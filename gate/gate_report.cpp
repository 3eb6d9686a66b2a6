// SPDX-License-Identifier: Apache-2.0
#include "gate/gate_report.h"

#include <algorithm>
#include <cmath>

#include "core/json_writer.h"
#include "core/quantity_text.h"
#include "reports/point.h"
#include "reports/table.h"

namespace draftline::gate {

namespace {

constexpr std::size_t kMostRows = 40;
constexpr std::size_t kPage = 120;  // columns, where no terminal says otherwise

double size_of(const Change& c) {
  return c.kind == Change::Kind::moved && c.relative ? std::abs(*c.relative) : HUGE_VAL;
}

// The changes of one figure of one pin: the largest of them, and how many points have one.
struct Row {
  const Checked* pin;
  const Change* largest;
  std::size_t points = 0;
};

// Of all pins, largest first; ties in the order of the pins.
std::vector<Row> rows_of(const GateReport& r) {
  std::vector<Row> rows;
  for (const Checked& pin : r.pins) {
    const auto first = static_cast<std::ptrdiff_t>(rows.size());
    for (const Change& c : pin.changes) {
      const auto known = std::find_if(rows.begin() + first, rows.end(), [&](const Row& row) {
        return row.largest->figure == c.figure && row.largest->kind == c.kind;
      });
      Row& row = known == rows.end() ? rows.emplace_back(Row{&pin, &c}) : *known;
      if (size_of(c) > size_of(*row.largest)) row.largest = &c;
      ++row.points;
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return size_of(*a.largest) > size_of(*b.largest); });
  return rows;
}

std::string change_text(const Change& c) {
  if (c.kind == Change::Kind::lost) return "lost";
  if (c.kind == Change::Kind::appeared) return "new";
  if (!c.relative) return "changed";
  return (*c.relative > 0 ? "+" : "") + significant(100 * *c.relative, 3) + " %";
}

// Points of one pin share most of their key: what they share is not said.
PointKey telling(const Row& row) {
  PointKey shared;
  if (row.pin->changes.size() > 1) {
    shared = row.pin->changes.front().point;
    for (const Change& c : row.pin->changes)
      std::erase_if(shared,
                    [&](const auto& part) { return std::find(c.point.begin(), c.point.end(), part) == c.point.end(); });
  }
  return without(row.largest->point, shared);
}

// Each cause once, with the pins that it stands behind; rows refer to it by its number.
struct Cause {
  std::string text;
  std::vector<const Checked*> pins;
};
std::vector<Cause> causes_of(const GateReport& r) {
  std::vector<Cause> causes;
  for (const Checked& pin : r.pins)
    for (const std::string& cause : pin.causes) {
      auto it = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) { return c.text == cause; });
      if (it == causes.end()) it = causes.insert(causes.end(), {cause, {}});
      it->pins.push_back(&pin);
    }
  return causes;
}
std::string numbers_of(const std::vector<Cause>& causes, const Checked* pin) {
  std::string text;
  for (std::size_t i = 0; i < causes.size(); ++i)
    if (std::find(causes[i].pins.begin(), causes[i].pins.end(), pin) != causes[i].pins.end())
      text += (text.empty() ? "" : ", ") + std::to_string(i + 1);
  return text;
}

Table changes_table(const std::vector<Row>& rows, const std::vector<Cause>& causes) {
  Table table({"pin", "figure", "points", "was", "is", "change", "tolerance", "why", "largest at"});
  for (std::size_t i = 0; i < std::min(rows.size(), kMostRows); ++i) {
    const Change& c = *rows[i].largest;
    table.add({rows[i].pin->question, c.figure.empty() ? "point" : c.figure, rows[i].points, shown(c.was), shown(c.is),
               change_text(c), Cell(c.tolerance, 2), numbers_of(causes, rows[i].pin), text_of(telling(rows[i]))});
  }
  return table;
}

std::string more_than_shown(const std::vector<Row>& rows) {
  return rows.size() > kMostRows ? "... and " + std::to_string(rows.size() - kMostRows) + " more figures; --json has them all\n"
                                 : "";
}

std::string counted(std::size_t n, const std::string& one) {
  return std::to_string(n) + " " + one + (n == 1 ? "" : "s");
}

std::string headline(const GateReport& r) {
  std::size_t figures = 0, changes = 0, pins = 0;
  for (const Checked& pin : r.pins) {
    figures += pin.figures;
    changes += pin.changes.size();
    pins += pin.fine() ? 0 : 1;
  }
  if (pins == 0) return counted(figures, "figure") + " of " + counted(r.pins.size(), "pin") + " are as approved.";
  return counted(changes, "change") + " in " + std::to_string(pins) + " of " + counted(r.pins.size(), "pin") + " (" +
         counted(figures, "approved figure") + ").";
}

Table anchors_table(const std::vector<Anchored>& anchors) {
  Table table({"anchor", "cells", "median error", "at the pin", "largest", "note"});
  const auto percent = [](const std::optional<double>& x) {
    return x ? Cell(*x, significant(100 * *x, 3) + " %") : Cell();
  };
  for (const Anchored& a : anchors)
    table.add({a.group, a.errors.cells, percent(a.errors.median), percent(a.pinned_median), percent(a.errors.largest),
               !a.left_out.empty() ? a.left_out
               : a.alert()         ? std::string("ALERT: further from what was measured")
                                   : std::string()});
  return table;
}

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&': out += "&amp;"; break;
      case '<': out += "&lt;"; break;
      case '>': out += "&gt;"; break;
      case '"': out += "&quot;"; break;
      default:
        if (static_cast<unsigned char>(c) >= ' ' || c == '\n' || c == '\t') out += c;  // XML 1.0 has no other controls
    }
  return out;
}

}  // namespace

bool GateReport::fine() const {
  return std::all_of(pins.begin(), pins.end(), [](const Checked& c) { return c.fine(); });
}

std::string gate_text(const GateReport& r, std::size_t width) {
  const std::size_t columns = width > 0 ? width : kPage;
  std::string text;
  if (!r.pins.empty()) text += headline(r) + "\n";
  const auto rows = rows_of(r);
  const auto causes = causes_of(r);
  if (!rows.empty()) text += "\n" + changes_table(rows, causes).to_text(columns) + more_than_shown(rows);
  for (const Checked& pin : r.pins)
    if (!pin.failure.empty()) text += pin.question + ": " + pin.failure + "\n";
  if (!causes.empty()) text += "\nWhy:\n";
  for (std::size_t i = 0; i < causes.size(); ++i)
    text += "  " + std::to_string(i + 1) + ": " + causes[i].text + " (" + counted(causes[i].pins.size(), "pin") + ")\n";
  if (!r.anchors.empty()) {
    text += std::string(text.empty() ? "" : "\n") + "Anchors: predicted beside measured, for information\n";
    text += anchors_table(r.anchors).to_text(columns);
  }
  return text;
}

std::string gate_markdown(const GateReport& r) {
  std::string text = "## draftline check: " + std::string(r.fine() ? "nothing moved" : "predictions moved") + "\n\n";
  if (!r.pins.empty()) text += headline(r) + "\n\n";
  const auto rows = rows_of(r);
  const auto causes = causes_of(r);
  if (!rows.empty()) text += changes_table(rows, causes).to_markdown() + "\n" + more_than_shown(rows);
  for (const Checked& pin : r.pins)
    if (!pin.failure.empty()) text += "- " + pin.question + ": " + pin.failure + "\n";
  if (!causes.empty()) text += "\n### Why\n\n";
  for (std::size_t i = 0; i < causes.size(); ++i)
    text += std::to_string(i + 1) + ". " + causes[i].text + " (" + counted(causes[i].pins.size(), "pin") + ")\n";
  if (!r.anchors.empty()) text += "\n### Predicted beside measured\n\n" + anchors_table(r.anchors).to_markdown();
  return text;
}

std::string gate_junit(const GateReport& r) {
  const auto failed = static_cast<std::size_t>(
      std::count_if(r.pins.begin(), r.pins.end(), [](const Checked& c) { return !c.fine(); }));
  std::string text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"draftline check\" tests=\"" +
                     std::to_string(r.pins.size()) + "\" failures=\"" + std::to_string(failed) +
                     "\" errors=\"0\" skipped=\"0\">\n";
  for (const Checked& pin : r.pins) {
    text += "    <testcase classname=\"" + escaped(pin.file.empty() ? "against" : pin.file) + "\" name=\"" +
            escaped(pin.question) + "\"";
    if (pin.fine()) {
      text += "/>\n";
      continue;
    }
    const std::string message = pin.failure.empty() ? counted(pin.changes.size(), "change") : pin.failure;
    text += ">\n      <failure message=\"" + escaped(message) + "\">";
    for (std::size_t i = 0; i < std::min(pin.changes.size(), kMostRows); ++i) {
      const Change& c = pin.changes[i];
      text += escaped(text_of(c.point) + ": " + c.figure + " " + shown(c.was) + " -> " + shown(c.is) + " (" +
                      change_text(c) + ")\n");
    }
    for (const std::string& cause : pin.causes) text += escaped(cause + "\n");
    text += "</failure>\n    </testcase>\n";
  }
  return text + "  </testsuite>\n</testsuites>\n";
}

void write_gate_json(std::ostream& out, const GateReport& r) {
  constexpr std::array<const char*, 3> kKinds{"moved", "appeared", "lost"};
  JsonWriter w(out, 4);
  const auto scalar = [&](const char* key, const Json& v) {
    w.key(key);
    if (v.is_number_integer()) w.value(v.get<std::int64_t>());
    else if (v.is_number()) w.value(v.get<double>());
    else if (v.is_boolean()) w.value(v.get<bool>());
    else if (v.is_string()) w.value(v.get<std::string>());
    else w.value(nullptr);
  };
  w.begin_object();
  write_program(w, 1);
  w.member("fine", r.fine());
  w.objects("pins", r.pins, [&](const Checked& pin) {
    w.member("file", pin.file);
    w.member("question", pin.question);
    w.member("points", pin.points);
    w.member("figures", pin.figures);
    if (!pin.failure.empty()) w.member("failure", pin.failure);
    w.list("causes", pin.causes);
    w.objects("changes", pin.changes, [&](const Change& c) {
      w.member("kind", kKinds[static_cast<std::size_t>(c.kind)]);
      w.object("at", [&] {
        for (const auto& [name, value] : c.point) w.member(name, value);
      });
      w.member("figure", c.figure);
      scalar("was", c.was);
      scalar("is", c.is);
      w.member("relative", c.relative);
      w.member("tolerance", c.tolerance);
    });
  });
  w.objects("anchors", r.anchors, [&](const Anchored& a) {
    w.member("group", a.group);
    w.member("cells", a.errors.cells);
    w.member("median_abs_error", a.errors.median);
    w.member("max_abs_error", a.errors.largest);
    w.member("pinned_median_abs_error", a.pinned_median);
    w.member("alert", a.alert());
    if (!a.left_out.empty()) w.member("left_out", a.left_out);
  });
  w.end_object();
  w.finish();
}

}  // namespace draftline::gate
