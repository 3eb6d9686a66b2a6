// SPDX-License-Identifier: Apache-2.0
#include "model/link_rule.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/errors.h"
#include "model/origin.h"

namespace draftline {

namespace {

// n times the integral of x phi(x) Phi(x)^(n - 1), by the trapezoidal rule, which is exact to rounding for such a
// smooth integrand that vanishes at both ends.
double integrated_largest(int n) {
  constexpr double kFar = 9, kStep = 1.0 / 64;
  const double root_two_pi = std::sqrt(2 * std::acos(-1.0));
  double sum = 0;
  for (double x = -kFar; x <= kFar; x += kStep) {
    const double density = std::exp(-0.5 * x * x) / root_two_pi, below = 0.5 * std::erfc(-x / std::sqrt(2.0));
    sum += x * density * std::pow(below, n - 1) * kStep;
  }
  return n * sum;
}

const LinkTable* chosen_all_reduce(const Links& links, const EngineLinks& engine, int ranks, Bytes message) {
  for (const LinkRule& rule : engine.all_reduce)
    if (rule.holds(links, ranks, message))
      if (const LinkTable* table = links.find(rule.library, Collective::all_reduce, ranks)) return table;
  return links.any(Collective::all_reduce, ranks);
}

LinkRule read_rule(const Reader& in) {
  LinkRule rule;
  rule.library = in.at("library").text();
  if (const auto ranks = in.find("ranks"))
    for (const Reader& n : ranks->items()) rule.ranks.push_back(n.integer(2, 1024));
  if (const auto below = in.find("below")) rule.below = below->quantity<Bytes>(0.0);
  if (const auto up_to = in.find("up_to")) rule.below = up_to->quantity<Bytes>(0.0) + Bytes{1};  // whole bytes
  if (const auto switched = in.find("switched")) rule.switched = switched->boolean();
  if (const auto capability = in.find("compute_capability")) rule.compute_capability = capability->text();
  in.done();
  return rule;
}

}  // namespace

bool LinkRule::holds(const Links& links, int n, Bytes message) const {
  return (ranks.empty() || std::find(ranks.begin(), ranks.end(), n) != ranks.end()) && (!below || message < *below) &&
         (!switched || links.switched) &&
         (compute_capability.empty() || compute_capability == links.compute_capability);
}

double expected_largest(int n) {
  constexpr int kKept = 64;
  static const auto kept = [] {
    std::array<double, kKept + 1> largest{};
    for (int i = 2; i <= kKept; ++i) largest[static_cast<std::size_t>(i)] = integrated_largest(i);
    return largest;
  }();
  check(n >= 1, "the largest of no values");
  return n <= kKept ? kept[static_cast<std::size_t>(n)] : integrated_largest(n);
}

Seconds collective_time(const Links& links, const EngineLinks& engine, Collective c, int ranks, Bytes message,
                        const std::string& device) {
  if (ranks <= 1) return {};
  const Seconds wait = expected_largest(ranks) * engine.rank_skew;
  if (c == Collective::all_gather) {
    if (const LinkTable* table = links.any(c, ranks)) return wait + table->time(ranks, message);
    message = 0.5 * message;
  }
  const LinkTable* table = chosen_all_reduce(links, engine, ranks, message);
  if (!table)
    throw InputErrors(device + ": no all-reduce of " + std::to_string(ranks) +
                      " devices is known; give \"links\" in its file");
  return wait + table->time(ranks, message);
}

EngineLinks read_engine_links(const Reader& in, std::vector<std::string>& guesses) {
  EngineLinks links;
  const auto note = [&](const Reader& entry, const char* name) {
    if (read_profile_origin(entry)) guesses.push_back(std::string("links/") + name);
    entry.done();
  };
  if (const auto all_reduce = in.find("all_reduce")) {
    for (const Reader& rule : all_reduce->at("rules").items()) links.all_reduce.push_back(read_rule(rule));
    note(*all_reduce, "all_reduce");
  }
  if (const auto skew = in.find("rank_skew")) {
    links.rank_skew = skew->at("value").quantity<Seconds>(0.0);
    note(*skew, "rank_skew");
  }
  in.done();
  return links;
}

}  // namespace draftline
