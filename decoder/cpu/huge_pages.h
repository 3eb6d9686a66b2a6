// SPDX-License-Identifier: Apache-2.0
// Memory for what ops stream. A core remembers where some thousand pages lie. With pages of 4 KB that is 10 MB, and the
// speed of a larger network depends on how its pages happen to lie in memory: up to twofold on a virtual machine, where
// each page is looked up twice.
#pragma once
#include <cstddef>
#include <memory_resource>

namespace draftline {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Aligns blocks of 2 MB or more to pages of that size, and asks the system for such pages. It lives as long as the
// program.
std::pmr::memory_resource* huge_pages();

// Puts blocks of any size next to each other into such pages, and gives all of them back at its end.
class HugePageArena : public std::pmr::monotonic_buffer_resource {
 public:
  HugePageArena() : monotonic_buffer_resource(kHugePage, huge_pages()) {}  // a smaller first buffer is the heap's
};

}  // namespace draftline
