// SPDX-License-Identifier: Apache-2.0
// What every test reads (cmake/precompiled.cmake).
#pragma once
#include "cmake/precompiled/standard.h"
#include "tests/catch.h"
