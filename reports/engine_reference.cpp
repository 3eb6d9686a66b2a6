// SPDX-License-Identifier: Apache-2.0
#include "reports/engine_reference.h"

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

namespace draftline {

namespace {

Reading reading(const std::vector<std::string>& v) { return Reading::Tree(std::make_shared<const nlohmann::json>(v)); }
Reading reading(const std::vector<int>& v) { return Reading::Tree(std::make_shared<const nlohmann::json>(v)); }
Reading reading(const std::vector<RowWork>& v) {
  auto pairs = nlohmann::json::array();
  for (const RowWork& r : v) pairs.push_back({r.rows, r.work});
  return Reading::Tree(std::make_shared<const nlohmann::json>(std::move(pairs)));
}
template <class T>
Reading reading(const T& v) {
  return v;
}
template <class T>
Reading reading(const std::optional<T>& v) {
  return v ? reading(*v) : Reading(nullptr);
}

std::string code(std::string_view name) { return "`" + std::string(name) + "`"; }

std::string prior_of(const EngineField& field) {
  using Shape = ServedPrior::Shape;
  if (!field.prior) return "";
  const bool is_time = std::holds_alternative<Seconds Engine::*>(field.member);
  const std::string scale = is_time ? to_text(Seconds{field.prior->scale}) : significant(field.prior->scale, 2);
  switch (field.prior->shape) {
    case Shape::normal: return "+- " + scale;
    case Shape::bandwidth: return "as the device's GEMMs";
    case Shape::log_normal: break;
  }
  return "a factor, from " + scale;
}

std::string_view base_unit(std::string_view unit) { return unit == "time" ? "s" : unit == "memory" ? "B" : unit; }

// `more`: a column between default and meaning, and its text in each row.
template <class Fields, class... More>
Table reference(const Fields& fields, const More&... more) {
  using Owner = typename Fields::value_type::Of;
  std::vector<Table::Column> columns{"key", "unit", "default"};
  (columns.push_back(more.first), ...);
  columns.emplace_back("meaning");
  Table table(std::move(columns));
  for (const auto& field : fields) {
    std::vector<Cell> row{code(field.key), unit_of(field), field.required ? "needed" : text_of(field, Owner{})};
    (row.emplace_back(more.second(field)), ...);
    row.emplace_back(field.meaning);
    table.add(std::move(row));
  }
  return table;
}

}  // namespace

Figures<EngineField, std::monostate> values_of(const Engine& e) {
  const auto known = [&e](const EngineField& f) -> std::string {
    if (std::ranges::find(e.guesses, f.key) != e.guesses.end()) return "guess";
    return is_default<Engine>(f, e) ? "default" : "sourced";
  };
  using F = Figure<EngineField, std::monostate>;
  const auto value = [&e](const EngineField& f) {
    return std::visit([&](auto member) { return reading(e.*member); }, f.member);
  };
  return {F{"term", "term", "term", "", {}, [](const EngineField& f) { return f.key; }, ""},
          F{"value", "value", "", "", {}, value, ""},
          F{"", "", "value", "", {}, [&e](const EngineField& f) { return text_of<Engine>(f, e); }, ""},
          F{"unit", "unit", "", "", {}, [](const EngineField& f) { return base_unit(unit_of<Engine>(f)); }, ""},
          F{"known", "known", "known", "", {}, known, ""},
          F{"charged", "charged", "charged", "", {}, [](const EngineField& f) { return f.charged; }, ""},
          F{"meaning", "meaning", "meaning", "", {}, [](const EngineField& f) { return f.meaning; }, ""}};
}

// "speculating; attention: flashinfer".
static std::string conditions_of(const ModeRule& rule) {
  std::string all;
  for (const ProfileField<ModeRule>& field : mode_rule_fields()) {
    if (field.key == "mode" || is_default(field, rule)) continue;
    const std::string value = text_of(field, rule);
    all += (all.empty() ? "" : "; ") + std::string(field.key) + (value == "yes" ? "" : ": " + value);
  }
  return all;
}

Table modes_of(const Engine& e) {
  Table table({"rule", "mode", "if", "because"});
  const auto add = [&](const char* name, const std::vector<ModeRule>& rules) {
    for (const ModeRule& rule : rules) table.add({name, rule.mode, conditions_of(rule), rule.because});
  };
  add("cudagraph_mode", e.modes.cudagraph_mode);
  add("target", e.modes.target);
  add("mixed", e.modes.mixed);
  add("drafter", e.modes.drafter);
  add("scheduling", e.modes.scheduling);
  return table;
}

std::vector<EngineReference> engine_reference() {
  const auto charged = [](const EngineField& f) { return f.charged; };
  return {{"Terms", reference(engine_fields(), std::pair("charged", charged), std::pair("prior", &prior_of))},
          {"Rows of operations", reference(op_fields())},
          {"Limits by card", reference(card_fields())},
          {"Links", reference(link_rule_fields())},
          {"Modes", reference(mode_rule_fields())},
          {"Padding of experts", reference(padding_fields())}};
}

}  // namespace draftline
