// SPDX-License-Identifier: Apache-2.0
// The schema of an engine's profile (docs/reference/engines.md), from the tables of model/engines/engine_fields.h.
#include "inputs/schema/schema_parts.h"
#include "model/devices/origin.h"
#include "model/engines/engine_fields.h"

namespace draftline::schema {

namespace {

Json values(const ValueRange&, bool) { return boolean(); }
Json values(const ValueRange& r, int) { return integer(r.least, r.most); }
Json values(const ValueRange& r, double) { return number(r.least, r.most); }
Json values(const ValueRange&, const std::string&) { return text(); }
Json values(const ValueRange& r, const std::vector<int>&) { return list(integer(r.least, r.most), 0); }
Json values(const ValueRange&, const std::vector<std::string>&) { return list(text(), 0); }
Json values(const ValueRange& r, const std::vector<RowWork>&) {
  return list({{"type", "array"},
               {"prefixItems", {positive_int(1 << 20), number(r.least, r.most)}},
               {"items", false},
               {"minItems", 2}},
              0);
}
template <int S, int B, int F>
Json values(const ValueRange&, const Quantity<S, B, F>&) {
  return quantity<Quantity<S, B, F>>(Zero::yes);
}
template <class T>
Json values(const ValueRange& r, const std::optional<T>&) {
  return values(r, T{});
}

template <class Owner, class T>
T member_value(T Owner::*) {
  return T{};
}
template <class Owner>
Json values_of(const ProfileField<Owner>& field) {
  return std::visit([&](auto member) { return values(field.range, member_value(member)); }, field.member);
}

template <class Owner>
Keys row_keys(std::span<const ProfileField<Owner>> fields) {
  Keys keys;
  for (const ProfileField<Owner>& f : fields) keys.push_back({f.key, values_of(f), std::string(f.meaning), f.required});
  return keys;
}

Json term(const EngineField& field) {
  const Json value = values_of(field), bound = field.prior || field.key == "front_end" ? value : Json::object();
  Keys keys{needed("value", value, std::string(field.meaning)),
            optional("low", bound, "lower end of the value's 90 % interval"),
            optional("high", bound, "upper end of the value's 90 % interval")};
  if (field.key == "launch_overlap")
    keys.push_back(optional("not_on", list(text(), 0), "compute capabilities of the devices without it"));
  return with_profile_origin(keys);
}

Json with_rules(const Json& rule) { return with_profile_origin({needed("rules", list(rule, 0), "rules")}); }

// A 90 % interval.
Json unmodelled() {
  return with_profile_origin(
      {needed("low", number(0.01, 1), "lower end"), needed("high", number(1, 100), "upper end")});
}

Json expert_padding() {
  return with_rules(object(row_keys(padding_fields()) +
                           Keys{needed("format", text(false), "format of the experts, as a scenario's precision")}));
}

Json scheduler_defaults() {
  return with_profile_origin(
      {optional("prompts", word(kPromptSteps), "mixed: prompts join decode steps; apart: in steps of their own"),
       optional("cards", list(object(row_keys(card_fields())), 0), "limits; the first row that applies holds")});
}

Json modes() {
  const auto rules = [](const Json& mode) {
    Keys keys = row_keys(mode_rule_fields());
    for (Key& key : keys)
      if (key.name == "mode") key.value = mode;
    return list(with_profile_origin(keys), 0);
  };
  const Json graphs = value_in(kGraphs);
  return object({optional("cudagraph_mode", rules(value_in(kCudagraphModes)), "the default of vLLM's option"),
                 optional("target", rules(graphs), "the most graphs of the target's pass"),
                 optional("mixed", rules(graphs), "the same where sequences have different numbers of rows"),
                 optional("drafter", rules(graphs), "the most graphs of a drafter's pass"),
                 optional("scheduling", rules(word(kScheduling)), "whether the next step is scheduled meanwhile")});
}

Json engine_links() {
  const Keys rule = row_keys(link_rule_fields()) +
                    Keys{optional("up_to", quantity<Bytes>(Zero::yes), "only for messages of at most this size")};
  const Json skew = with_profile_origin({needed("value", quantity<Seconds>(Zero::yes), "standard deviation")});
  const Json fused = with_profile_origin(
      {needed("architectures", list(text(false), 1), "only for these networks, as config.json names them"),
       needed("library", text(false), "its library; it applies only if the device's file has it"),
       needed("rank_skew", quantity<Seconds>(Zero::yes), "in place of that of other all-reduces"),
       optional("rows", positive_int(1 << 20), "only for steps of at most so many rows")});
  return object({optional("all_reduce", with_rules(object(rule)), "the library of an all-reduce"),
                 optional("rank_skew", skew, "how much ranks differ in reaching a collective operation"),
                 optional("fused_all_reduce", fused, "an all-reduce that adds the residual and normalises")});
}

Json attention_rules() {
  return with_rules(object({needed("library", text(false), "the attention library"),
                            optional("compute_capability", text(), "only on devices with this capability"),
                            optional("cache", value_in(kDTypes), "only for caches of this format")}));
}

Json ops() {
  std::vector<std::string> names(op_keys().begin(), op_keys().end());
  for (const std::string_view key : op_keys()) names.push_back("draft/" + std::string(key));
  const std::vector<std::string_view> all(names.begin(), names.end());
  return map(all, with_profile_origin(row_keys(op_fields())));
}

}  // namespace

Json with_profile_origin(const Keys& keys) {
  const Keys guess{needed("because", text(), "why this value is guessed")},
      known{needed("source", text(), "a key of data/sources.json, or your own name of the source"),
            needed("locator", text(), "the place in the source"), optional("because", text(), "for people")};
  std::vector<std::string_view> kinds;
  for (const std::string_view kind : kOrigins)
    if (kind != "guess") kinds.push_back(kind);
  return by_word("kind", "how the value came about", {{{"guess"}, keys + guess}, {kinds, keys + known}});
}

Json engine_file() {
  Keys keys{needed("name", text(), "name of the profile"),
            needed("version", text(), "the engine's version"),
            optional("engine", text(), "the engine that this is a profile of, such as vllm; by default the name"),
            needed("source", text(), "a key of data/sources.json, or your own name of the source"),
            needed("locator", text(), "the place in the source"),
            optional("title", text(), "for people"),
            optional("model", text(), "version of the program that calibrated the file"),
            optional("input_files", map(true), "files from which it was calibrated")};
  for (const EngineField& field : engine_fields())
    keys.push_back(optional(field.key, term(field), std::string(field.meaning)));
  return object(std::move(keys) +
                Keys{optional("step_error", unmodelled(), "measured over predicted time of steps"),
                     optional("prompt_error", unmodelled(), "the same of what prompts add to a step"),
                     optional("expert_padding", expert_padding(), "sizes to which experts are padded"),
                     optional("modes", modes(), "rules for graphs and overlapped scheduling"),
                     optional("scheduler", scheduler_defaults(), "defaults of the scheduler"),
                     optional("attention", attention_rules(), "rules for the attention library"),
                     optional("links", engine_links(), "tensor parallelism"),
                     needed("ops", ops(), "what the engine makes of each op")});
}

}  // namespace draftline::schema
