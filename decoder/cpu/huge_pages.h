// SPDX-License-Identifier: Apache-2.0
// Memory for the data that ops stream. A core's TLB has some thousand entries, which cover 10 MB with 4 KB pages. The
// speed of a larger network would depend on the placement of its pages: by a factor of up to two on a virtual machine,
// where each page is looked up twice.
#pragma once
#include <cstddef>
#include <memory_resource>

namespace draftline {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

// Aligns blocks of 2 MB or more to huge pages of that size and requests them from the system. It exists until the
// program ends.
std::pmr::memory_resource* huge_pages();

// Places blocks of any size next to each other in such pages and frees all pages at its destruction.
class HugePageArena : public std::pmr::monotonic_buffer_resource {
 public:
  HugePageArena() : monotonic_buffer_resource(kHugePage, huge_pages()) {}  // a smaller first buffer is on the heap
};

}  // namespace draftline
