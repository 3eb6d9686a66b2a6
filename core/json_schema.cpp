// SPDX-License-Identifier: Apache-2.0
#include "core/json_schema.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace draftline::schema {

namespace {

// Whole bounds are written without a fraction.
Json bound(double v) {
  return std::abs(v) < 0x1p53 && v == static_cast<double>(static_cast<std::int64_t>(v))
             ? Json(static_cast<std::int64_t>(v))
             : Json(v);
}

Json ranged(const char* type, double least, double most) {
  constexpr double kAny = std::numeric_limits<double>::max();
  Json s{{"type", type}};
  if (least > -kAny) s["minimum"] = bound(least);
  if (most < kAny) s["maximum"] = bound(most);
  return s;
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) out += (c == '/' ? "\\/" : std::string(1, c));
  return out;
}

Json required(std::string_view key) { return {{"required", Json::array({key})}}; }

// The keys of all cases, none of which is needed.
Json union_of(const std::vector<Case>& cases) {
  Keys all;
  for (const Case& c : cases)
    for (const Key& key : c.keys) {
      const auto known = std::ranges::find(all, key.name, &Key::name);
      if (known == all.end()) all.push_back({key.name, key.value, key.meaning, false, key.synonym, key.former});
      else if (known->value != key.value) known->value = any_of({known->value, key.value});
    }
  return object(all);
}

}  // namespace

Json text(bool may_be_empty) {
  Json s{{"type", "string"}};
  if (!may_be_empty) s["minLength"] = 1;
  return s;
}
Json boolean() { return {{"type", "boolean"}}; }
Json number(double least, double most) { return ranged("number", least, most); }
Json integer(double least, double most) { return ranged("integer", least, most); }

Json quantity(Dimension dimension, Zero zero) {
  std::string units;
  for (const std::string_view unit : unit_names(dimension)) units += (units.empty() ? "" : "|") + escaped(unit);
  const std::string digits = zero == Zero::yes ? "" : "(?=[0.]*[1-9])";
  return {{"type", "string"},
          {"pattern", "^[ \\t]*" + digits + R"((\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[ \t]*()" + units + ")[ \\t]*$"},
          {"examples", Json::array({example_of(dimension)})}};
}

Json word(std::span<const std::string_view> words) { return {{"enum", words}}; }

Json list(Json items, int least) {
  Json s{{"type", "array"}, {"items", std::move(items)}};
  if (least > 0) s["minItems"] = least;
  return s;
}

Json any_of(std::initializer_list<Json> all) {
  Json s{{"anyOf", Json::array()}};
  for (const Json& one : all) s["anyOf"].push_back(one);
  return s;
}

Json defined(std::string_view name) { return {{"$ref", "#/$defs/" + std::string(name)}}; }

Keys operator+(Keys a, const Keys& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

Json object(const Keys& keys) {
  Json s{{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  Json needed = Json::array(), rules = Json::array();
  for (const Key& key : keys) {
    Json named = key.value;
    named["description"] = key.meaning;
    s["properties"][key.name] = named;
    Json any = Json::array({required(key.name)});
    for (const std::string_view other : {key.synonym, key.former}) {
      if (other.empty()) continue;
      named["description"] = key.meaning + " (another name of " + std::string(key.name) + ")";
      if (other == key.former) named["deprecated"] = true;
      s["properties"][other] = named;
      rules.push_back({{"not", {{"required", {key.name, other}}}}});
      any.push_back(required(other));
    }
    if (!key.needed) continue;
    if (any.size() == 1) needed.push_back(key.name);
    else rules.push_back({{"anyOf", any}});
  }
  if (!needed.empty()) s["required"] = needed;
  if (!rules.empty()) s["allOf"] = rules;
  return s;
}

Json map(Json values) { return {{"type", "object"}, {"additionalProperties", std::move(values)}}; }

Json map(std::span<const std::string_view> names, Json values) {
  Json s = map(std::move(values));
  s["propertyNames"] = word(names);
  return s;
}

Json by_word(std::string_view name, std::string meaning, const std::vector<Case>& cases) {
  std::vector<std::string_view> words;
  for (const Case& c : cases) words.insert(words.end(), c.words.begin(), c.words.end());
  Json named = word(words);
  named["description"] = std::move(meaning);
  Json s{{"type", "object"}, {"properties", {{name, named}}}, {"required", {name}}, {"allOf", Json::array()}};
  const auto add = [&](const Json& when, Json then) {
    then["properties"][name] = true;
    s["allOf"].push_back({{"if", {{"properties", {{name, when}}}, {"required", {name}}}}, {"then", std::move(then)}});
  };
  for (const Case& c : cases) add(word(c.words), object(c.keys));
  add({{"type", "array"}}, union_of(cases));  // a list of alternatives
  return s;
}

Json if_given(std::string_view key, Json then, Json otherwise) {
  return {{"if", {{"required", {key}}}}, {"then", std::move(then)}, {"else", std::move(otherwise)}};
}

Json with_one_of(Json object, std::span<const std::string_view> keys) {
  for (const std::string_view key : keys) object["oneOf"].push_back(required(key));
  return object;
}

Json alternatives(const Json& value) { return any_of({value, list(value)}); }

Json swept(const Json& value) {
  Json s = value;
  const auto member = [](Json& property) {
    if (!property.is_object()) return;
    Json all;
    for (const char* about : {"description", "deprecated"})
      if (property.contains(about)) {
        all[about] = property[about];
        property.erase(about);
      }
    all["anyOf"] = {swept(property), list(property)};
    property = std::move(all);
  };
  for (auto& [key, part] : s.items()) {
    if (key == "$ref") part = part.get<std::string>() + std::string(kSwept);
    if (key == "properties")
      for (auto& [name, property] : part.items()) member(property);
    if (key == "additionalProperties") member(part);
    if (key == "then" || key == "else") part = swept(part);
    if (key == "allOf" || key == "anyOf")
      for (Json& one : part) one = swept(one);
  }
  return s;
}

}  // namespace draftline::schema
