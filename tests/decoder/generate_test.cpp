// SPDX-License-Identifier: Apache-2.0
#include "decoder/generate.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "tests/catch.h"

namespace draftline {

TEST_CASE("sequences that are measured together have different lengths, on average the one asked for") {
  for (const int mean : {1, 7, 64, 4096})
    for (const int sequences : {1, 2, 5, 16, 256}) {
      const std::vector<int> all = lengths_around(mean, sequences);
      INFO(mean << ", " << sequences);
      REQUIRE(all.size() == static_cast<std::size_t>(sequences));
      CHECK(std::accumulate(all.begin(), all.end(), 0) == mean * sequences);
      CHECK(std::is_sorted(all.begin(), all.end()));
      CHECK(all.front() >= 1);
      CHECK(all.back() <= mean + mean / 4);
    }
  const std::vector<int> few = lengths_around(64, 16);
  CHECK(std::set<int>(few.begin(), few.end()).size() == 16);
  CHECK(lengths_around(512, 1) == std::vector<int>{512});
}

}  // namespace draftline
