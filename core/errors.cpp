// SPDX-License-Identifier: Apache-2.0
#include "core/errors.h"

namespace draftline {

static std::string joined(const std::vector<std::string>& messages) {
  std::string all;
  for (const std::string& m : messages) all += (all.empty() ? "" : "\n") + m;
  return all;
}

InputErrors::InputErrors(std::vector<std::string> messages)
    : std::runtime_error(joined(messages)), messages_(std::move(messages)) {}

void raise_bug(std::string_view what, const char* file, int line) {
  throw Bug(std::string(what) + " (" + file + ":" + std::to_string(line) + ")");
}

}  // namespace draftline
