// SPDX-License-Identifier: Apache-2.0
#include "methods/parameter.h"

#include <algorithm>
#include <cmath>

namespace draftline::methods {

using Json = nlohmann::json;

Json json_of(double v) {
  return v == std::floor(v) && std::abs(v) < 1e15 ? Json(static_cast<std::int64_t>(v)) : Json(v);
}

std::shared_ptr<const Parameters> ParameterList::read(const Reader& object) const {
  auto values = copy_(nullptr);
  for (const Parameter& p : all_)
    if (const auto in = p.traits.also.empty() ? object.find(p.key) : object.find_either(p.key, p.traits.also))
      p.read(*values, *in);
  return values;
}

std::shared_ptr<const Parameters> ParameterList::without(const Parameters& values, Decides decides) const {
  auto others = copy_(&values);
  for (const Parameter& p : all_)
    if (p.traits.decides == decides) p.reset(*others);
  return others;
}

void ParameterList::write(const Parameters& values, Json& object) const {
  for (const Parameter& p : all_)
    if (Json value = p.json(values, true); !value.is_null()) object[p.key] = std::move(value);
}

Json ParameterList::value(const Parameters& values, std::string_view key) const {
  for (const Parameter& p : all_)
    if (p.key == key) return p.json(values, false);
  return nullptr;
}

std::optional<Mistake> ParameterList::beyond(const Parameters& values, const Target& target) const {
  for (const Parameter& p : all_) {
    if (p.traits.most == nullptr) continue;
    const int most = p.traits.most(target);
    const Json value = p.json(values, true);
    const auto wrong = [&](const Json& one, const std::string& where) -> std::optional<Mistake> {
      if (!one.is_number() || one.get<int>() <= most) return std::nullopt;
      return Mistake{"/" + std::string(p.key) + where,
                     "must be at most " + std::to_string(most) + ", got " + one.dump()};
    };
    if (!value.is_array()) {
      if (auto mistake = wrong(value, "")) return mistake;
      continue;
    }
    for (std::size_t i = 0; i < value.size(); ++i)
      if (auto mistake = wrong(value[i], "/" + std::to_string(i))) return mistake;
  }
  return std::nullopt;
}

std::optional<Mistake> ParameterList::beside_checkpoint(const Parameters& values) const {
  for (const Parameter& p : all_)
    if (p.traits.in_checkpoint && !p.json(values, true).is_null())
      return Mistake{"/" + std::string(p.key), "the checkpoint says this"};
  return std::nullopt;
}

schema::Keys ParameterList::keys() const {
  const auto usual = defaults();
  schema::Keys all;
  for (const Parameter& p : all_) {
    schema::Json values = p.values;
    if (const Json value = p.json(*usual, false); !value.is_null()) values["default"] = value;
    const std::string by_default = p.traits.usual.empty() ? "" : "; by default " + p.traits.usual;
    all.push_back({p.key, std::move(values), p.traits.meaning + by_default, false, p.traits.also});
  }
  return all;
}

std::string ParameterList::text() const {
  const auto usual = defaults();
  std::string all;
  for (const Parameter& p : all_) {
    std::string by_default = p.traits.usual;
    if (const Json value = p.json(*usual, false); by_default.empty() && !value.is_null()) by_default = value.dump();
    all += (all.empty() ? "" : "; ") + std::string(p.key) + (by_default.empty() ? "" : " (" + by_default + ")") +
           (p.traits.meaning.empty() ? "" : ": " + p.traits.meaning);
  }
  return all;
}

bool ParameterList::gives(const Parameters& values, Decides decides) const {
  return std::any_of(all_.begin(), all_.end(), [&](const Parameter& p) {
    return p.traits.decides == decides && !p.json(values, true).is_null();
  });
}

}  // namespace draftline::methods
