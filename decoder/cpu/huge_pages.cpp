// SPDX-License-Identifier: Apache-2.0
#include "decoder/cpu/huge_pages.h"

#include <cstdlib>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace draftline {

namespace {

class HugePages : public std::pmr::memory_resource {
  static constexpr std::size_t kPage = std::size_t{2} << 20;

  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    if (bytes < kPage) return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    const std::size_t whole = (bytes + kPage - 1) / kPage * kPage;
    void* block = whole < bytes ? nullptr : std::aligned_alloc(kPage, whole);
    if (block == nullptr) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
    madvise(block, whole, MADV_HUGEPAGE);  // a hint: small pages do as well
#endif
    return block;
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    if (bytes < kPage) return std::pmr::new_delete_resource()->deallocate(block, bytes, alignment);
    std::free(block);
  }
  bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }
};

}  // namespace

std::pmr::memory_resource* huge_pages() {
  static HugePages pages;
  return &pages;
}

}  // namespace draftline
