// SPDX-License-Identifier: Apache-2.0
#include "reports/run_explorer.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "reports/run_figures.h"
#include "reports/setting_text.h"

namespace draftline {

namespace {

constexpr std::size_t kMostExplored = 40'000;  // points, for a page of a few MB

struct ExplorerFigure {
  const char *name, *unit;
  double (*get)(const Prediction&);
  bool whole = false, hidden = false;  // whether it is shown without decimals; whether only charts have it
};

std::optional<double> end_of_speedup(const Prediction& p, double Interval::*end) {
  const auto i = speedup_interval(p);
  return i ? std::optional((*i).*end) : std::nullopt;
}

constexpr ExplorerFigure kExplorerFigures[] = {
    {"decode speedup", "", [](const Prediction& p) { return p.speedup; }},
    {"decode speedup, low", "", [](const Prediction& p) { return end_of_speedup(p, &Interval::low).value_or(NAN); },
     false, true},
    {"decode speedup, high", "", [](const Prediction& p) { return end_of_speedup(p, &Interval::high).value_or(NAN); },
     false, true},
    {"request speedup", "", [](const Prediction& p) { return p.speedup_with_prefill; }},
    {"decode tokens/s", "", [](const Prediction& p) { return p.throughput.value; }, true},
    {"TTFT", "ms", [](const Prediction& p) { return 1e3 * p.request.ttft.value; }},
    {"step", "ms", [](const Prediction& p) { return 1e3 * p.step_time.value; }},
    {"tokens per step", "", [](const Prediction& p) { return p.acceptance_length; }},
    {"needed to break even", "", [](const Prediction& p) { return p.acceptance_length / p.speedup; }},
    {"memory", "GiB", [](const Prediction& p) { return p.memory.total().value / (1 << 30); }},
};

// A number of JSON with the digits that tables show; null if it is unknown.
std::string json_of(const ExplorerFigure& f, double v) {
  if (!std::isfinite(v)) return "null";
  if (f.whole && v >= 9.995) return std::to_string(std::lround(v));
  return nlohmann::json(std::stod(significant(v))).dump();
}

template <class List, class Name>
nlohmann::json names_in(const List& list, Name name) {
  std::vector<std::string> words;
  for (const auto& one : list) words.push_back(name(one));
  return words;
}

// "TP 2", "TP 8, DP 8, EP"
std::string parallelism_text(const Parallelism& one) {
  return "TP " + std::to_string(one.devices) +
         (one.attention_replicas > 1 ? ", DP " + std::to_string(one.attention_replicas) : "") +
         (one.expert_parallel ? ", EP" : "");
}

// JSON inside an element <script>, which "</script>" would end.
std::string inside_script(std::string json) {
  for (std::size_t at = 0; (at = json.find('<', at)) != std::string::npos;) json.replace(at, 1, "\\u003c");
  return json;
}

bool same_but_for_drafts(const MethodSpec& a, const MethodSpec& b) {
  return a.name() == b.name() && a.parameters() == b.parameters();
}

// For each method the first one that differs in nothing but the acceptance and the number of drafts.
std::vector<std::size_t> groups_of(const std::vector<MethodChoice>& methods) {
  std::vector<std::size_t> groups;
  for (const MethodChoice& m : methods)
    groups.push_back(
        at(std::ranges::find_if(methods,
                                [&](const MethodChoice& other) { return same_but_for_drafts(other.spec, m.spec); }) -
           methods.begin()));
  return groups;
}

// Whether methods of a group, with the same acceptance, have several draft lengths.
bool has_several_lengths(const std::vector<MethodChoice>& methods, const std::vector<std::size_t>& groups) {
  std::map<std::pair<std::size_t, std::string>, std::set<int>> lengths;
  for (std::size_t i = 0; i < methods.size(); ++i)
    if (const auto k = methods[i].spec.draft_length()) lengths[{groups[i], methods[i].acceptance.text()}].insert(*k);
  return std::ranges::any_of(lengths, [](const auto& one) { return one.second.size() > 1; });
}

// Whether the explorer has something to draw, and several lists to choose from.
bool is_grid(const Scenario& s, const std::vector<std::size_t>& groups) {
  const std::size_t numbers[] = {s.prompt_tokens.size(), s.output_tokens.size(), s.batch_sizes.size()},
                    others[] = {s.devices.size(),    s.parallel.size(), s.transformers.size(),
                                s.precisions.size(), s.engines.size(),  s.methods.size()};
  const auto several = [](std::size_t n) { return n > 1; };
  const auto varied = std::ranges::count_if(numbers, several);
  return s.points() <= kMostExplored && varied + std::ranges::count_if(others, several) > 1 &&
         std::ranges::any_of(s.methods, [](const MethodChoice& m) { return !m.spec.is_plain(); }) &&
         (varied > 0 || has_several_lengths(s.methods, groups));
}

}  // namespace

RunExplorer::RunExplorer(const Scenario& s) : scenario_(s), groups_(groups_of(s.methods)) {
  if (is_grid(s, groups_)) figures_.resize(std::size(kExplorerFigures), std::vector<std::string>(s.points(), "null"));
}

std::size_t RunExplorer::number_of(const Point& p) const {
  const Scenario& s = scenario_;
  std::size_t n = p.device;
  n = n * s.parallel.size() + p.parallel;
  n = n * s.transformers.size() + p.transformer;
  n = n * s.precisions.size() + p.precision;
  n = n * s.engines.size() + p.engine;
  n = n * s.methods.size() + p.method;
  n = n * s.prompt_tokens.size() + p.prompt;
  n = n * s.output_tokens.size() + p.output;
  return n * s.batch_sizes.size() + p.batch;
}

std::string RunExplorer::key_of(const Point& p) const {
  std::string key = std::to_string(groups_[p.method]) + "\n" + scenario_.methods[p.method].acceptance.text();
  for (const std::size_t i : {p.device, p.parallel, p.transformer, p.precision, p.engine, p.prompt, p.output, p.batch})
    key += "\n" + std::to_string(i);
  return key;
}

void RunExplorer::add(const Outcome& o) {
  const auto* p = std::get_if<Prediction>(&o.result);
  if (p == nullptr || figures_.empty()) return;
  const std::size_t number = number_of(o.point);
  for (std::size_t i = 0; i < figures_.size(); ++i)
    figures_[i][number] = json_of(kExplorerFigures[i], kExplorerFigures[i].get(*p));
  if (scenario_.method(o.point).spec.is_plain()) return;
  const std::size_t lengths =
      scenario_.prompt_tokens.size() * scenario_.output_tokens.size() * scenario_.batch_sizes.size();
  if (!lines_.contains(number / lengths)) lines_[number / lengths] = launch_line(scenario_, o.point);
  if (p->speedup_with_prefill <= 1) return;
  const auto [best, first] = best_.try_emplace(key_of(o.point), Best{number, p->speedup_with_prefill});
  if (!first && p->speedup_with_prefill > best->second.speedup) best->second = {number, p->speedup_with_prefill};
}

std::string RunExplorer::data() const {
  using Json = nlohmann::json;
  const Scenario& s = scenario_;
  const auto named = [](const auto& one) { return one->name; };
  const Json axes = {
      {{"name", "device"}, {"values", names_in(s.devices, named)}},
      {{"name", "parallelism"}, {"values", names_in(s.parallel, parallelism_text)}},
      {{"name", "transformer"}, {"values", names_in(s.transformers, named)}},
      {{"name", "precision"},
       {"values", names_in(s.precisions, [&](const PrecisionChoice& one) { return one.of(*s.transformers[0]).name; })}},
      {{"name", "engine"}, {"values", names_in(s.engines, [](const auto& one) { return version_of(*one); })}},
      {{"name", "method"}, {"values", Json(std::vector<int>(s.methods.size()))}},
      {{"name", "prompt tokens"}, {"values", s.prompt_tokens}},
      {{"name", "output tokens"}, {"values", s.output_tokens}},
      {{"name", "batch size"}, {"values", s.batch_sizes}}};
  Json methods = Json::array();
  for (std::size_t i = 0; i < s.methods.size(); ++i) {
    const MethodChoice& m = s.methods[i];
    const auto k = m.spec.draft_length();
    methods.push_back({{"label", m.spec.label()},
                       {"group", m.spec.is_plain() ? Json() : Json(groups_[i])},
                       {"acceptance", m.acceptance.text()},
                       {"k", k ? Json(*k) : Json()}});
  }
  Json best = Json::object(), lines = Json::array();
  for (const auto& [key, one] : best_) best[std::to_string(one.point)] = 1;
  const std::size_t lengths = s.prompt_tokens.size() * s.output_tokens.size() * s.batch_sizes.size();
  Json line(std::vector<int>(s.points() / lengths, -1));
  for (const auto& [setup, text] : lines_) {
    if (text.empty()) continue;
    auto known = std::ranges::find(lines, Json(text));
    if (known == lines.end()) known = lines.insert(lines.end(), text);
    line[setup] = known - lines.begin();
  }
  Json head = {{"axes", axes},   {"methods", methods}, {"best", best},
               {"lines", lines}, {"line", line},       {"points_per_method", lengths}};
  std::string text = head.dump();
  text.back() = ',';
  text += "\"figures\":{";
  for (std::size_t i = 0; i < figures_.size(); ++i) {
    const ExplorerFigure& f = kExplorerFigures[i];
    Json about = {{"unit", f.unit}, {"whole", f.whole}, {"hidden", f.hidden}};
    std::string values = about.dump();
    values.back() = ',';
    values += "\"values\":[";
    for (std::size_t n = 0; n < figures_[i].size(); ++n) values += (n == 0 ? "" : ",") + figures_[i][n];
    text += (i == 0 ? "" : ",") + Json(f.name).dump() + ":" + values + "]}";
  }
  return inside_script(text + "}}");
}

std::vector<std::size_t> RunExplorer::rivals_of(std::size_t method) const {
  std::vector<std::size_t> rivals;
  for (std::size_t i = 0; i < groups_.size(); ++i)
    if (groups_[i] == groups_[method] &&
        scenario_.methods[i].acceptance.text() == scenario_.methods[method].acceptance.text())
      rivals.push_back(i);
  return rivals;
}

bool RunExplorer::any_runs(Point p, const std::vector<std::size_t>& methods) const {
  return std::ranges::any_of(methods, [&](std::size_t method) {
    p.method = method;
    return figures_[0][number_of(p)] != "null";
  });
}

std::optional<HeatMap> RunExplorer::best_lengths() const {
  const Scenario& s = scenario_;
  const auto drafting =
      std::ranges::find_if(s.methods, [](const MethodChoice& m) { return m.spec.draft_length().has_value(); });
  if (figures_.empty() || drafting == s.methods.end()) return std::nullopt;
  const std::vector<std::size_t> rivals = rivals_of(at(drafting - s.methods.begin()));
  if (rivals.size() < 2 || s.batch_sizes.size() < 2 || s.prompt_tokens.size() < 2) return std::nullopt;
  HeatMap map;
  map.title = "Best k of " + drafting->spec.label();
  map.values = "by request speedup; off: no length gains";
  map.x_title = "batch size";
  map.y_title = "prompt tokens";
  for (const int batch : s.batch_sizes) map.x.push_back(std::to_string(batch));
  for (const int prompt : s.prompt_tokens) map.y.push_back(std::to_string(prompt));
  Point p{};
  p.method = at(drafting - s.methods.begin());
  for (p.prompt = 0; p.prompt < s.prompt_tokens.size(); ++p.prompt)
    for (p.batch = 0; p.batch < s.batch_sizes.size(); ++p.batch) {
      const std::string place = "batch " + map.x[p.batch] + ", prompt " + map.y[p.prompt] + "\n";
      const auto best = best_.find(key_of(p));
      if (best != best_.end()) {
        const auto k = s.method(point_at(s, best->second.point)).spec.draft_length();
        map.cells.push_back({k, place + "request speedup: " + significant(best->second.speedup)});
      } else {
        map.cells.push_back({{}, any_runs(p, rivals) ? place + "no length gains" : ""});
      }
    }
  return map;
}

void RunExplorer::show_on(Page& page) const {
  if (!explores()) return;
  page.explorer(data());
  page.is_replaced_by_explorer(true);
  if (const auto map = best_lengths()) page.show(*map);
  page.is_replaced_by_explorer(false);
}

}  // namespace draftline
