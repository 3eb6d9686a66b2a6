// SPDX-License-Identifier: Apache-2.0
#include "gate/gate_page.h"

#include <limits>

#include "gate/change_table.h"
#include "reports/page/chart_set.h"
#include "reports/page/page.h"

namespace draftline::gate {

namespace {

std::string unchanged(const std::string& text) { return text; }  // a page escapes what it shows

// Each changed number over the approved one, a series for each figure.
ChartSet moved(const std::vector<Checked>& pins) {
  Chart common;
  common.title = "What moved";
  common.x = {"approved figure, in its base unit", true};
  common.y = {"current figure over the approved one"};
  common.level = 1;
  common.level_name = "as approved";
  ChartSet charts(std::move(common));
  for (const Checked& pin : pins)
    for (const Change& c : pin.changes)
      if (c.relative && c.was.is_number())
        charts.add("", unnumbered(c.figure),
                   {c.was.get<double>(), 1 + *c.relative, {}, pin.question + "\n" + text_of(c.point)}, false);
  return charts;
}

}  // namespace

void write_gate_page(const Output& to, const GateReport& r) {
  constexpr std::size_t kAllRows = std::numeric_limits<std::size_t>::max();  // the page shows the first of them
  const InputFiles none;
  const auto page = new_page(to, "draftline check", none);
  std::vector<std::string> failures;
  for (const Checked& pin : r.pins)
    if (pin.failure) failures.push_back("warning: " + pin.question + ": " + *pin.failure);
  if (!r.pins.empty())
    page->verdict(r.fine() ? "No predictions changed." : "Predictions changed.", {headline_of(r)}, failures);
  const ChartSet charts = moved(r.pins);
  for (const Chart& chart : charts.charts(false)) page->show(chart);
  page->say(charts.left_out());
  const ChangeRows rows = rows_of(r.pins);
  const auto causes = causes_of(r.pins);
  if (!rows.sized.empty()) page->heading("Numbers, the largest change of each figure");
  if (!rows.sized.empty()) page->show(sized_table(rows.sized, causes, kAllRows, unchanged));
  if (!rows.others.empty()) page->heading("Texts, points and event streams");
  if (!rows.others.empty()) page->show(others_table(rows.others, causes, kAllRows, unchanged));
  if (!causes.empty()) page->heading("Why");
  for (std::size_t i = 0; i < causes.size(); ++i) page->say(std::to_string(i + 1) + ": " + causes[i].text);
  if (!r.anchors.empty()) {
    page->heading("Predictions compared with measurements");
    page->show(anchors_table(r.anchors, unchanged));
  }
  page->finish();
}

}  // namespace draftline::gate
