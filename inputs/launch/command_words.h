// SPDX-License-Identifier: Apache-2.0
// The words of a command as people paste it: a shell's line, also broken by backslashes, or the "command" and "args" of
// a docker-compose or Kubernetes file.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace draftline {

struct CommandText {
  std::vector<std::string> words;  // without quotes
  std::string image;               // of a container, "vllm/vllm-openai:v0.11.0"; "" if none is named
};

CommandText command_words(std::string_view text);

}  // namespace draftline
