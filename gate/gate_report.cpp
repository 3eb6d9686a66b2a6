// SPDX-License-Identifier: Apache-2.0
#include "gate/gate_report.h"

#include <algorithm>

#include "core/int_indexed.h"
#include "core/json_writer.h"
#include "core/printable.h"
#include "core/quantity_text.h"
#include "core/utf8.h"
#include "gate/change_table.h"
#include "reports/point.h"

namespace draftline::gate {

namespace {

constexpr std::size_t kMostRows = 40, kMostCauses = 20;
constexpr std::size_t kPage = 120;  // columns, without a terminal

std::string more_than_shown(std::size_t rows, const std::string& what) {
  return rows > kMostRows ? "... and " + std::to_string(rows - kMostRows) + " more " + what + "; --json has them all\n"
                          : "";
}

std::string tolerance_text(const std::vector<ChangeRow>& rows) {
  const auto one = one_tolerance(rows);
  return one ? "The tolerance is " + significant(*one, 1) + " of the value.\n" : "";
}

// "  1: data/devices/h100-sxm.json: ... (20 pins)", a line each.
std::string causes_text(const std::vector<Cause>& causes, const std::string& before, const std::string& after,
                        const Safe& safe) {
  std::string text;
  for (std::size_t i = 0; i < std::min(causes.size(), kMostCauses); ++i)
    text += before + std::to_string(i + 1) + after + safe(causes[i].text) + " (" +
            counted(causes[i].pins.size(), "pin") + ")\n";
  if (causes.size() > kMostCauses)
    text += before + "... and " + std::to_string(causes.size() - kMostCauses) + " more; --json has them all\n";
  return text;
}

// A text as one line, with Markdown's special characters escaped.
std::string in_markdown(const std::string& text) {
  std::string out;
  for (const char c : printable_lines(text)) switch (c) {
      case '<': out += "&lt;"; break;
      case '&': out += "&amp;"; break;
      case '*':
      case '`':
      case '[':
      case '\\': out += '\\', out += c; break;
      default: out += byte_of(c) < ' ' ? ' ' : c;
    }
  return out;
}

// A text escaped for XML 1.0, without control characters and ill-formed UTF-8.
std::string escaped(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    const std::string_view c = text.substr(0, std::max<std::size_t>(1, length));
    text.remove_prefix(c.size());
    if (length == 0 || c == "\uFFFE" || c == "\uFFFF") out += "\uFFFD";
    else if (c == "&") out += "&amp;";
    else if (c == "<") out += "&lt;";
    else if (c == ">") out += "&gt;";
    else if (c == "\"") out += "&quot;";
    else if (unprintable_length(c) == 0 || c == "\n" || c == "\t") out += c;
  }
  return out;
}

}  // namespace

std::string headline_of(const GateReport& r) {
  std::size_t figures = 0, changes = 0, pins = 0;
  for (const Checked& pin : r.pins) {
    figures += pin.figures;
    changes += pin.changes.size();
    pins += pin.fine() ? 0 : 1;
  }
  if (pins == 0)
    return counted(figures, "figure") + " of " + counted(r.pins.size(), "pin") + (figures == 1 ? " is" : " are") +
           " as approved.";
  return counted(changes, "change") + " in " + std::to_string(pins) + " of " + counted(r.pins.size(), "pin") + " (" +
         counted(figures, "approved figure") + ").";
}

Table anchors_table(const std::vector<Anchored>& anchors, const Safe& safe) {
  Table table({"anchor", "cells", "median error", "at the pin", "largest", {"in 90 %", "", false, true}, "note"});
  const auto inside = [](const Coverage& c) {  // their interval
    return c.known == 0 ? "" : std::to_string(c.inside) + " of " + std::to_string(c.known);
  };
  for (const Anchored& a : anchors)
    table.add({safe(a.group), a.errors.cells, percent_cell(a.errors.median), percent_cell(a.pinned_median),
               percent_cell(a.errors.largest), inside(a.coverage),
               a.left_out  ? safe(*a.left_out)
               : a.alert() ? std::string("ALERT: further from the measurement")
                           : std::string()});
  return table;
}

bool GateReport::fine() const {
  return std::ranges::all_of(pins, [](const Checked& c) { return c.fine(); });
}

bool GateReport::wrong_input() const {
  return std::ranges::any_of(pins, [](const Checked& c) { return c.wrong_input; });
}

std::string gate_text(const GateReport& r, std::size_t width) {
  const std::size_t columns = width > 0 ? width : kPage;
  const Safe safe = printable_lines;
  std::string text;
  if (!r.pins.empty()) text += headline_of(r) + "\n";
  for (const Checked& pin : r.pins)
    if (pin.failure) text += safe(pin.question + ": " + *pin.failure) + "\n";
  const ChangeRows rows = rows_of(r.pins);
  const auto causes = causes_of(r.pins);
  if (!rows.sized.empty())
    text += "\n" + sized_table(rows.sized, causes, kMostRows, safe).to_text(columns) +
            more_than_shown(rows.sized.size(), "figures") + tolerance_text(rows.sized);
  if (!rows.others.empty())
    text += "\n" + others_table(rows.others, causes, kMostRows, safe).to_text(columns) +
            more_than_shown(rows.others.size(), "texts and points");
  if (!causes.empty()) text += "\nWhy:\n" + causes_text(causes, "  ", ": ", safe);
  if (!r.anchors.empty()) {
    text +=
        std::string(text.empty() ? "" : "\n") + "Anchors: predictions compared with measurements, for information\n";
    text += anchors_table(r.anchors, safe).to_text(columns);
  }
  return text;
}

std::string gate_markdown(const GateReport& r) {
  std::string text = "## draftline check: " + std::string(r.fine() ? "no changes" : "predictions changed") + "\n\n";
  if (!r.pins.empty()) text += headline_of(r) + "\n\n";
  for (const Checked& pin : r.pins)
    if (pin.failure) text += "- " + in_markdown(pin.question + ": " + *pin.failure) + "\n";
  const ChangeRows rows = rows_of(r.pins);
  const auto causes = causes_of(r.pins);
  if (!rows.sized.empty())
    text += "\n" + sized_table(rows.sized, causes, kMostRows, in_markdown).to_markdown() + "\n" +
            more_than_shown(rows.sized.size(), "figures") + tolerance_text(rows.sized);
  if (!rows.others.empty())
    text += "\n" + others_table(rows.others, causes, kMostRows, in_markdown).to_markdown() + "\n" +
            more_than_shown(rows.others.size(), "texts and points");
  if (!causes.empty()) text += "\n### Why\n\n" + causes_text(causes, "", ". ", in_markdown);
  if (!r.anchors.empty())
    text += "\n### Predictions compared with measurements\n\n" + anchors_table(r.anchors, in_markdown).to_markdown();
  return text;
}

std::string gate_junit(const GateReport& r) {
  const auto failed = std::ranges::count_if(r.pins, [](const Checked& c) { return !c.fine(); });
  std::string text =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n  <testsuite name=\"draftline check\" tests=\"" +
      std::to_string(r.pins.size()) + "\" failures=\"" + std::to_string(failed) + "\" errors=\"0\" skipped=\"0\">\n";
  for (const Checked& pin : r.pins) {
    text += "    <testcase classname=\"" + escaped(pin.file.empty() ? "against" : pin.file) + "\" name=\"" +
            escaped(pin.question) + "\"";
    if (pin.fine()) {
      text += "/>\n";
      continue;
    }
    const std::string message = pin.failure.value_or(counted(pin.changes.size(), "change"));
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
  w.begin_object();
  write_program(w, 1);
  w.member("fine", r.fine());
  w.objects("pins", r.pins, [&](const Checked& pin) {
    w.member("file", pin.file);
    w.member("question", pin.question);
    w.member("points", pin.points);
    w.member("figures", pin.figures);
    if (pin.failure) w.member("failure", *pin.failure);
    w.list("causes", pin.causes);
    w.objects("changes", pin.changes, [&](const Change& c) {
      w.member("kind", kKinds[at(c.kind)]);
      w.object("at", [&] {
        for (const auto& [name, value] : c.point) w.member(name, value);
      });
      w.member("figure", c.figure);
      w.member("was", nlohmann::json(c.was));
      w.member("is", nlohmann::json(c.is));
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
    w.member("with_interval", a.coverage.known);
    w.member("inside_interval", a.coverage.inside);
    if (a.left_out) w.member("left_out", *a.left_out);
  });
  w.end_object();
  w.finish();
}

}  // namespace draftline::gate
