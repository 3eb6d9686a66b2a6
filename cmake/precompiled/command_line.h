// SPDX-License-Identifier: Apache-2.0
// What every verb of the program reads (cmake/precompiled.cmake).
#pragma once
#include <tbb/global_control.h>
#include <tbb/parallel_pipeline.h>
#include <CLI/CLI.hpp>

#include "cmake/precompiled/standard.h"
