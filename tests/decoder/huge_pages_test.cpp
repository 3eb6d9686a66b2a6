// SPDX-License-Identifier: Apache-2.0
#include "decoder/cpu/huge_pages.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <new>
#include <vector>

#include "tests/catch.h"

using namespace draftline;

TEST_CASE("large blocks begin at a page of 2 MB, and what no memory holds is refused") {
  for (const std::size_t bytes : {kHugePage, kHugePage + 64, 5 * kHugePage - 64}) {
    const std::pmr::vector<char> block(bytes, '1', huge_pages());
    CHECK(reinterpret_cast<std::uintptr_t>(block.data()) % kHugePage == 0);
  }
  std::pmr::vector<float> grows(huge_pages());
  for (int i = 0; i < 1'000'000; ++i) grows.push_back(1);  // through small blocks into large ones
  CHECK(grows.back() == 1);
  CHECK_THROWS_AS(huge_pages()->allocate(std::numeric_limits<std::size_t>::max() - 64, 64), std::bad_alloc);
}

TEST_CASE("small blocks of an arena lie in pages of 2 MB too, the first as all others") {
  constexpr std::size_t kMatrix = std::size_t{1} << 20;
  HugePageArena arena;
  auto* const first = static_cast<char*>(arena.allocate(kMatrix, 64));
  CHECK(reinterpret_cast<std::uintptr_t>(first) % kHugePage == 0);
  const auto* const second = static_cast<char*>(arena.allocate(kMatrix / 2, 64));
  CHECK(second == first + kMatrix);
}

#ifdef __linux__
TEST_CASE("a large block is new from the system: small pages that were used before are not its") {
  constexpr std::size_t kSmall = 4000, kLarge = std::size_t{8} << 20;
  {
    std::vector<std::vector<char>> heap;
    for (std::size_t i = 0; i < 4 * kLarge / kSmall; ++i) heap.emplace_back(kSmall, '1');
  }
  auto* const block = static_cast<char*>(huge_pages()->allocate(kLarge, 64));
  CHECK(std::all_of(block, block + kLarge, [](char c) { return c == 0; }));
  huge_pages()->deallocate(block, kLarge, 64);
}
#endif
