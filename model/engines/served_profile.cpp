// SPDX-License-Identifier: Apache-2.0
#include "model/engines/served_profile.h"

#include "core/quantity_text.h"
#include "core/text_file.h"

namespace draftline {

namespace {

using Json = nlohmann::ordered_json;

Json written(double x, const EngineField& field) {
  if (std::holds_alternative<Seconds Engine::*>(field.member)) return significant(1e6 * x, 5) + " us";
  return std::stod(significant(x, 5));
}

}  // namespace

Json profile_of(const ServedProfile& p) {
  const Json shipped = Json::parse(read_text_file(p.shipped));
  const auto fitted = [&](const ProfileValue& v) {
    Json entry{{"value", written(v.value, *v.field)},
               {"low", written(v.low, *v.field)},
               {"high", written(v.high, *v.field)},
               {"kind", v.learned ? "calibrated" : "guess"}};
    if (!v.learned)
      entry["because"] = "the benchmark says next to nothing of it: as " + shipped.at("name").get<std::string>() +
                         " is shipped, or almost none";
    else entry["source"] = p.source, entry["locator"] = p.locator;
    return entry;
  };
  Json out{{"name", p.name},
           {"engine", shipped.value("engine", shipped.at("name").get<std::string>())},
           {"version", shipped.at("version")},
           {"title", p.title},
           {"source", p.source},
           {"locator", p.locator}};
  // Keys that the shipped profile lacks go before its rows of ops, which stay last.
  // The scatter of other servers about their predictions is none of steps that were fitted.
  const bool steps = !p.row_work.empty() ||
                     std::ranges::any_of(p.values, [](const ProfileValue& v) { return v.learned && v.field->prior; });
  for (const auto& [key, value] : shipped.items())
    if (!out.contains(key) && key != "ops" && key != "model" && key != "input_files" &&
        (p.padded || key != "graph_sizes") && !(steps && key == "step_error"))
      out[key] = value;
  for (const ProfileValue& v : p.values) out[std::string(v.field->key)] = fitted(v);
  if (!p.row_work.empty()) {
    Json table = Json::array();
    for (const RowWork& r : p.row_work) table.push_back({r.rows, std::stod(significant(r.work, 4))});
    const auto calibrated = [&](const Json& value) {
      return Json{{"value", value}, {"kind", "calibrated"}, {"source", p.source}, {"locator", p.locator}};
    };
    out["row_work"] = calibrated(table);
    out["pair_work"] = calibrated(std::stod(significant(p.pair_work, 4)));
  }
  out["ops"] = shipped.at("ops");
  return out;
}

}  // namespace draftline
