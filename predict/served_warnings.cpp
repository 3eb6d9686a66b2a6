// SPDX-License-Identifier: Apache-2.0
#include "predict/served_warnings.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace draftline {

namespace {

std::string percent(double share) { return significant(100 * share) + " %"; }

}  // namespace

std::vector<std::string> warnings_of(const std::vector<ServedPoint>& points, const std::vector<EngineTerm>& terms,
                                     const PriorFit& fit) {
  constexpr double kFar = 2.5, kScattered = 0.05;
  std::vector<std::string> all;
  for (std::size_t a = 0; a < terms.size(); ++a)
    for (std::size_t b = a + 1; b < terms.size(); ++b)
      if (fit.confused(a, b))
        all.push_back("\"" + std::string(terms[a].field->key) + "\" and \"" + std::string(terms[b].field->key) +
                      "\" can't be separated by these runs: their sum is known, and their priors divide it; measure " +
                      std::string(terms[b].field->prior->other_runs) + " to separate them");
  for (std::size_t i = 0; i < terms.size(); ++i)
    if (const double x = fit.at[i]; std::abs(x) > kFar)
      all.push_back("\"" + std::string(terms[i].field->key) + "\" is " + significant(std::abs(x), 2) +
                    " standard deviations " + (x > 0 ? "above" : "below") +
                    " the value expected from the shipped profile: check device, network, precision and engine");
  if (fit.noise > kScattered)
    all.push_back("runs scatter by " + percent(fit.noise) +
                  " about the best fit: they were disturbed, had other batches than assumed, or the device's file does "
                  "not match the server");
  std::set<int> batches;
  int longest = 0;
  for (const ServedPoint& p : points) {
    if (!p.run.speculates()) batches.insert(p.setup.batch_size);
    longest = std::max(longest, static_cast<int>(p.run.context));
  }
  if (batches.size() == 1)
    all.push_back("all plain runs have a batch of " + std::to_string(*batches.begin()) +
                  ": the growth of a step with the batch depends only on the device's file");
  if (const auto plain =
          std::count_if(points.begin(), points.end(), [](const ServedPoint& p) { return !p.run.speculates(); });
      plain < 4)
    all.push_back(std::to_string(plain) + (plain == 1 ? " plain run" : " plain runs") +
                  ": use at least four, at batches from 1 to the largest served");
  return all;
}

}  // namespace draftline
