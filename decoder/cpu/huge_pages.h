// SPDX-License-Identifier: Apache-2.0
// Memory for what ops stream. A core remembers where some thousand pages lie. With pages of 4 KB that is 10 MB, and the
// speed of a larger network depends on how its pages happen to lie in memory: up to twofold on a virtual machine, where
// each page is looked up twice.
#pragma once
#include <memory_resource>

namespace draftline {

// Aligns blocks of 2 MB or more to pages of that size, and asks the system for such pages. It lives as long as the
// program.
std::pmr::memory_resource* huge_pages();

}  // namespace draftline
