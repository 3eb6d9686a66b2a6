// SPDX-License-Identifier: Apache-2.0
// What the stand-in of the loader finds: the functions of each library's stand-in, by name.
#pragma once
#include <map>
#include <string>

namespace emulator {

using Functions = std::map<std::string, void*>;
const Functions& cublas();  // cuBLASLt's

}  // namespace emulator
