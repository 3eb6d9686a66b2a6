// SPDX-License-Identifier: Apache-2.0
#include "reports/figure.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "core/errors.h"

namespace draftline {

JsonPath::JsonPath(std::string_view path) {
  const std::size_t slash = path.find('/');
  if (slash != std::string_view::npos) object = path.substr(0, slash);
  member = slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string in_unit(double v, std::string_view unit) {
  if (unit == "s") return to_text(Seconds{v});
  if (unit == "B") return to_text(Bytes{v});
  return significant(v);
}

// JSON; an acceptance that is a trace by the trace's name.
static std::string text_of(const nlohmann::json& tree) {
  const bool trace = tree.is_object() && tree.size() == 1 && tree.contains("trace");
  return trace ? tree.at("trace").get<std::string>() : tree.dump();
}

Cell cell_of(const Reading& reading, std::string_view unit, std::string (*text)(double)) {
  return std::visit(
      [&](const auto& v) {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::same_as<V, double>)
          return std::isfinite(v) ? Cell(v, text ? text(v) : in_unit(v, unit)) : Cell(v);
        else if constexpr (std::same_as<V, std::int64_t> || std::same_as<V, bool> || std::same_as<V, std::string>)
          return Cell(v);
        else if constexpr (std::same_as<V, Reading::Tree>) return Cell(text_of(*v));
        else return Cell();
      },
      reading.value);
}

void MemberWriter::write(const JsonPath& path, const Reading& reading, std::string_view unit,
                         std::optional<FigureKind> kind) {
  if (std::holds_alternative<std::monostate>(reading.value)) return;
  if (object_ && *object_ != path.object) finish();
  if (!object_ && !path.object.empty()) {
    object_ = &path.object;
    w_.key(path.object);
    w_.begin_object();
  }
  std::visit(
      [&](const auto& v) {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::same_as<V, double> || std::same_as<V, std::int64_t>) {
          if (kind) w_.figure(path.member, to_double(v), unit, *kind, reading.interval);
          else w_.member(path.member, v);
        } else if constexpr (std::same_as<V, Reading::Tree>) w_.member(path.member, *v);
        else if constexpr (!std::same_as<V, std::monostate>) w_.member(path.member, v);
      },
      reading.value);
}

void MemberWriter::finish() {
  if (object_) w_.end_object();
  object_ = nullptr;
}

}  // namespace draftline
