// SPDX-License-Identifier: Apache-2.0
#include "reports/serving_charts.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "core/quantity_text.h"
#include "reports/simulate_figures.h"

namespace draftline {

namespace {

// "6 /s" -> 6 and "/s".
struct NumberWithUnit {
  double value;
  std::string unit;
};
std::optional<NumberWithUnit> number_in(const std::string& text) {
  NumberWithUnit n{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n.value);
  if (error != std::errc()) return std::nullopt;
  n.unit = text.substr(at(end - text.data()));
  n.unit.erase(0, n.unit.find_first_not_of(' '));
  return n;
}

// The numbers of an axis, one for each choice; empty unless all are numbers of one unit, and not all the same.
std::vector<double> numbers_of(const Serving& s, std::size_t axis) {
  std::vector<double> numbers;
  std::set<std::string> units;
  for (const ServingChoice& c : s.choices) {
    const auto n = number_in(c.varying[axis]);
    if (!n) return {};
    numbers.push_back(n->value);
    units.insert(n->unit);
  }
  const bool same = std::ranges::all_of(numbers, [&](double v) { return v == numbers.front(); });
  return units.size() > 1 || same ? std::vector<double>() : numbers;
}

std::optional<std::size_t> axis_of(const Serving& s) {
  for (std::size_t i = 0; i < s.axes.size(); ++i)
    if (!numbers_of(s, i).empty()) return i;
  return std::nullopt;
}

std::string as_time(double seconds) { return to_text(Seconds{seconds}); }

const auto& figure_at(const Figures<ServingOutcome>& all, const std::string& path) {
  const auto found = std::ranges::find_if(all, [&](const auto& f) { return f.json.text() == path; });
  check(found != all.end(), "a chart shows a figure of simulate");
  return *found;
}

}  // namespace

ServingCharts::ServingCharts(const Scenario& s)
    : scenario_(s), axis_(axis_of(*s.serving)), differing_(s, Format::html), latencies_(s.serving->targets) {
  for (const std::string& axis : s.serving->axes) differing_.leave_out(axis);
  for (const char* of_series : {"", "draft_length", "acceptance", "random_weights"}) differing_.leave_out(of_series);
  add_latency("Time per output token", "tpot", Target::Of::tpot);
  add_latency("Time to first token", "ttft", Target::Of::ttft);
  if (std::ranges::find(s.serving->targets.targets, Target::Of::e2e, &Target::of) != s.serving->targets.targets.end())
    add_latency("End-to-end latency", "e2e", Target::Of::e2e);
  if (has_targets(s)) add_chart("Goodput", "requests/s within the targets", "goodput");
  else if (axis_) add_chart("Throughput", "output tokens/s", "throughput");
}

// What the first target of the latency limits; p99 without a target.
void ServingCharts::add_latency(const std::string& title, const std::string& latency, Target::Of of) {
  const auto& targets = scenario_.serving->targets.targets;
  const auto limit = std::ranges::find(targets, of, &Target::of);
  const std::string statistic = limit == targets.end() ? "p99" : limit->name.substr(limit->name.find('_') + 1);
  std::string name = latency == "e2e" ? "e2e" : latency == "ttft" ? "TTFT" : "TPOT";
  add_chart(title, name + " " + statistic, latency + "/" + statistic, limit == targets.end() ? nullptr : &*limit);
}

void ServingCharts::add_chart(const std::string& title, const std::string& what, const std::string& path,
                              const Target* limit) {
  const Serving& serving = *scenario_.serving;
  Chart c;
  c.title = title;
  c.x = {"output tokens/s", false, to_digits<5>};
  if (axis_) {
    const std::string of_axis = number_in(serving.choices.front().varying[*axis_])->unit;
    c.x = {serving.axes[*axis_] + (of_axis.empty() ? "" : " (" + of_axis + ")"), far_apart(numbers_of(serving, *axis_)),
           to_digits<5>, true};
  }
  const bool is_time = path.find('/') != std::string::npos;
  c.y = {what, path.starts_with("ttft/"), is_time ? as_time : to_digits<5>};
  if (limit) {
    c.level = limit->limit.value;
    c.level_name = limit->name;
  }
  drawn_.push_back({path, ChartSet(std::move(c))});
}

std::string ServingCharts::series_of(const Point& p) const {
  std::string name = method_text(scenario_, p);
  const Serving& s = *scenario_.serving;
  for (std::size_t i = 0; i < s.axes.size(); ++i)
    if (i != axis_) name += ", " + s.axes[i] + " " + s.choices[p.serving].varying[i];
  return name;
}

// The chart of distributions: a setup with each of its loads.
std::string ServingCharts::setup_of(const Point& p) const {
  std::string setup = differing_.text(p);
  const Serving& s = *scenario_.serving;
  for (std::size_t i = 0; i < s.axes.size(); ++i)
    setup += (setup.empty() ? "" : ", ") + s.axes[i] + " " + s.choices[p.serving].varying[i];
  return setup;
}

void ServingCharts::add(const ServingOutcome& o) {
  if (!std::holds_alternative<ServingResult>(o.result)) return;
  const Figures<ServingOutcome> figures = simulate_figures(scenario_.serving->targets);
  const auto reading = [&](const std::string& path) { return figure_at(figures, path).get(o); };
  const auto value = [](const Reading& r) {
    const double* v = std::get_if<double>(&r.value);
    return v ? *v : NAN;
  };
  const double x = axis_ ? number_in(scenario_.serving->choices[o.point.serving].varying[*axis_])->value
                         : value(reading("throughput"));
  latencies_.add(setup_of(o.point), method_text(scenario_, o.point),
                 std::get<ServingResult>(o.result).runs.front().figures);
  const bool grows = std::get<ServingResult>(o.result).runs.front().diverges;
  for (Drawn& d : drawn_) {
    const Reading y = reading(d.path);
    d.charts.add(differing_.text(o.point), series_of(o.point),
                 {x, value(y), y.interval, grows ? "the queue grows" : ""});
  }
}

void ServingCharts::show_on(Page& page) const {
  for (const Drawn& d : drawn_)
    for (const Chart& c : d.charts.charts()) page.show(c);
  page.say(drawn_.front().charts.left_out());
  latencies_.show_on(page);
  history_.show_on(page);
}

}  // namespace draftline
