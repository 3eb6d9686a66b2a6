// SPDX-License-Identifier: Apache-2.0
#include "decoder/cpu/huge_pages.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace draftline {

namespace {

#ifdef __linux__
// A mapping of its own: what malloc returns may have been used before, and then keeps its small pages.
void* map(std::size_t whole) {
  void* mapped = mmap(nullptr, whole + kHugePage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const from = static_cast<std::byte*>(mapped);
  const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(from) % kHugePage) % kHugePage;
  if (before > 0) munmap(from, before);
  munmap(from + before + whole, kHugePage - before);
  madvise(from + before, whole, MADV_HUGEPAGE);  // a hint: small pages do as well
  return from + before;
}
void unmap(void* block, std::size_t whole) { munmap(block, whole); }
#else
void* map(std::size_t whole) { return std::aligned_alloc(kHugePage, whole); }
void unmap(void* block, std::size_t) { std::free(block); }
#endif

class HugePages : public std::pmr::memory_resource {
  static std::size_t whole_pages(std::size_t bytes) { return (bytes + kHugePage - 1) / kHugePage * kHugePage; }

  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes < kHugePage) return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    constexpr std::size_t kMost = std::numeric_limits<std::size_t>::max() - 2 * kHugePage;
    void* block = bytes > kMost ? nullptr : map(whole_pages(bytes));
    if (block == nullptr) throw std::bad_alloc();
    return block;
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    if (bytes < kHugePage) return std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    unmap(block, whole_pages(bytes));
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

std::pmr::memory_resource* huge_pages() {
  static HugePages pages;
  return &pages;
}

}  // namespace draftline
