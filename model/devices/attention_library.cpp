// SPDX-License-Identifier: Apache-2.0
#include "model/devices/attention_library.h"

#include "core/errors.h"
#include "model/devices/origin.h"

namespace draftline {

namespace {

AttentionRule read_attention_rule(const Reader& in) {
  AttentionRule rule;
  rule.library = in.at("library").text();
  if (rule.library.empty()) in.at("library").fail("must name a library");
  if (const auto capability = in.find("compute_capability")) rule.compute_capability = capability->text();
  if (const auto cache = in.find("cache")) rule.cache = cache->value_in(kDTypes);
  in.done();
  return rule;
}

// What a library does that is not the one whose fit stands in for it.
HeadLayout usual(HeadLayout layout) {
  if (layout == HeadLayout::swapped) return HeadLayout::apart;
  return layout == HeadLayout::packed_decode ? HeadLayout::packed : layout;
}

}  // namespace

std::string attention_library(const std::vector<AttentionRule>& rules, std::string_view compute_capability,
                              DType cache) {
  for (const AttentionRule& rule : rules)
    if (has_capability(rule.compute_capability, compute_capability) &&
        (!rule.cache || bits_of(*rule.cache) == bits_of(cache)))
      return rule.library;
  return {};
}

AttentionChoice attention_choice(const AttentionModel& model, std::string_view library, DType cache,
                                 AttentionForm form) {
  check(!model.fits.empty(), "a GPU without a fit of attention");
  const auto is_library = [&](const AttentionFit& f) {
    return form != AttentionForm::ordinary || library.empty() || f.library.empty() || f.library == library;
  };
  const auto nearness = [&](const AttentionFit& f) {
    return 4 * (f.form == form) + 2 * (bits_of(f.cache) == bits_of(cache)) + is_library(f);
  };
  const AttentionFit* best = &model.fits.front();
  for (const AttentionFit& f : model.fits)
    if (nearness(f) > nearness(*best)) best = &f;
  return {best, is_library(*best) ? best->prefill.layout : usual(best->prefill.layout), nearness(*best) == 7};
}

AttentionChoice attention_choice(const Device& d, const std::vector<AttentionRule>& rules, DType cache,
                                 AttentionForm form) {
  const auto* gpu = std::get_if<GpuModel>(&d.model);
  if (gpu == nullptr) return {};
  return attention_choice(gpu->attention, attention_library(rules, d.links.compute_capability, cache), cache, form);
}

std::vector<AttentionRule> read_attention_rules(const Reader& in, std::vector<std::string>& guesses) {
  std::vector<AttentionRule> rules;
  for (const Reader& rule : in.at("rules").items()) rules.push_back(read_attention_rule(rule));
  if (read_profile_origin(in)) guesses.emplace_back("attention");
  in.done();
  return rules;
}

}  // namespace draftline
