// SPDX-License-Identifier: Apache-2.0
// Catch2, whichever of its two generations is installed.
#pragma once
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
using Catch::Generators::from_range;
#else
#include <catch2/catch.hpp>
#endif
