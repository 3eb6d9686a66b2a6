// SPDX-License-Identifier: Apache-2.0
#include "inputs/acceptance_notes.h"

#include <algorithm>
#include <cmath>

#include "core/int_indexed.h"
#include "core/quantity_text.h"

namespace draftline {

namespace {

// A guess: a trained drafter rarely has a lower rate. The share of a chain of three with this rate is 0.21.
constexpr double kRareRate = 0.4;
constexpr double kRounding = 6e-4;  // of a share that is printed in tenths of a percent

// Accepted over drafted tokens of a chain with these rates.
double share_of(std::span<const double> rates) {
  double before = 1, accepted = 0;
  for (const double rate : rates) accepted += before *= rate;
  return accepted / to_double(rates.size());
}

bool is_share_of(double rate, const MethodChoice& other, std::size_t drafts) {
  const auto* rates = std::get_if<Acceptance::Rates>(&other.acceptance.form());
  if (rates == nullptr || rates->conditional.size() < drafts) return false;
  return std::abs(share_of(std::span(rates->conditional).first(drafts)) - rate) < kRounding;
}

}  // namespace

void note_likely_shares(std::span<const MethodChoice> methods) {
  for (const MethodChoice& m : methods) {
    const auto* rate = std::get_if<Acceptance::Rate>(&m.acceptance.form());
    const auto drafts = m.spec.draft_length();
    const bool trained = m.spec.entry().checkpoint || m.spec.entry().draft_network;
    const auto in = m.in ? m.in->find("acceptance") : std::nullopt;
    if (rate == nullptr || !drafts || *drafts < 2 || !trained || !in || !in->has("rate")) continue;
    const bool same = std::ranges::any_of(
        methods, [&](const MethodChoice& other) { return is_share_of(rate->conditional, other, at(*drafts)); });
    if (!same && rate->conditional >= kRareRate) continue;
    const std::string figure = significant(rate->conditional, 3);
    in->at("rate").note((same ? figure + " is the share of accepted drafts of another method's acceptance"
                              : "a rate of " + figure + " at each position is rare") +
                        ": " + std::to_string(*drafts) + " drafts with it yield " +
                        significant(iid_chain_length(rate->conditional, *drafts), 3) +
                        " tokens per step; if it is accepted / drafted tokens, as engines print, write "
                        "\"accepted_share\", which yields " +
                        significant(Acceptance::AcceptedShare{rate->conditional}.mean_length(*drafts), 3));
  }
}

}  // namespace draftline
