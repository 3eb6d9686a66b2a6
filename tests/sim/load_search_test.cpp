// SPDX-License-Identifier: Apache-2.0
// How few simulations find the largest load, whatever shape latencies have over it.
#include "sim/load_search.h"

#include <cmath>
#include <functional>

#include "core/rng.h"
#include "tests/catch.h"

namespace draftline {

namespace {

// A latency over its limit, at a load; those that miss their limit by far are not known, as such runs are cut short.
using Latency = std::function<double(double rate)>;

struct Found {
  double served, missed;
  int runs = 0;
};
Found search(const Latency& latency, double from, double far) {
  const auto tried = [&](double rate) {
    const double share = latency(rate);
    return LoadSearch::Tried{rate, share < 1.5 ? std::optional(1 / share) : std::nullopt};
  };
  LoadSearch search(tried(0), tried(from), far);
  Found out{};
  while (!search.done()) {
    const double rate = search.next();
    search.record(tried(rate), latency(rate) <= 1);
    if (++out.runs == 100) break;
  }
  out.served = search.served();
  out.missed = search.missed();
  return out;
}

}  // namespace

TEST_CASE("the largest load is found in few runs where latencies grow as queues or lines do, and in any other shape") {
  struct Case {
    const char* name;
    Latency latency;
    int most_runs;
  };
  const double capacity = GENERATE(1.01, 1.3, 3.0, 40.0);
  const int doublings = static_cast<int>(std::log2(capacity));
  const Case cases[] = {
      {"a queue", [&](double r) { return r < 1.1 * capacity ? 0.1 / (1.1 - r / capacity) : 9; }, 3},
      {"a line", [&](double r) { return 0.4 + 0.6 * r / capacity; }, 4},
      {"a square", [&](double r) { return 0.2 + 0.8 * std::pow(r / capacity, 2); }, 5},
      {"a wall", [&](double r) { return r <= capacity ? 0.01 : 9; }, 8},
      {"nearly flat", [&](double r) { return 0.999 + 0.001 * r / capacity; }, 3},
      {"falling first", [&](double r) { return 0.5 - 0.4 * r / capacity + 0.9 * std::pow(r / capacity, 4); }, 8},
      {"unknown until it is missed", [&](double r) { return r <= capacity ? 0 : 2; }, 8},
  };
  for (const Case& c : cases)
    for (const double far : {1.05, 2.0}) {
      const Found found = search(c.latency, 1, far);
      INFO(c.name << ", capacity " << capacity << ", far " << far);
      CHECK(found.runs <= c.most_runs + doublings);
      CHECK(c.latency(found.served) <= 1);
      CHECK(c.latency(found.missed) > 1);
      CHECK(found.missed <= LoadSearch::kPrecise * found.served);
    }
}

TEST_CASE("the largest load is bracketed where latencies scatter") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const Latency scattered = [&](double rate) {
      Rng rng(seed, "scatter", static_cast<std::uint64_t>(rate * 1e6));
      return (0.3 + 0.7 * rate / 5) * (0.9 + 0.2 * rng.uniform());
    };
    if (scattered(1) > 1) continue;
    const Found found = search(scattered, 1, 2);
    CHECK(found.runs < 20);
    CHECK(scattered(found.served) <= 1);
    CHECK(scattered(found.missed) > 1);
    CHECK(found.served == Approx(5).epsilon(0.2));
  }
}

}  // namespace draftline
