// SPDX-License-Identifier: Apache-2.0
// What every verb of the program reads (cmake/precompiled.cmake).
#pragma once
#include <CLI/CLI.hpp>

#include "cmake/precompiled/standard.h"
