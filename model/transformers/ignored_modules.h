// SPDX-License-Identifier: Apache-2.0
// A list of modules in the quantization_config of a checkpoint: names ("lm_head", "model.layers.0.self_attn"), globs
// ("*.self_attn*") or, after "re:", regular expressions.
#pragma once
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

namespace draftline {

class ModuleList {
 public:
  explicit ModuleList(const std::vector<std::string>&);
  // Whether the list contains the module or a module around it, by the full name or the last part of the name.
  bool has(std::string_view module) const;
  // Regular expressions that use more than literals, ".", ".*" and classes of digits. They match nothing.
  const std::vector<std::string>& not_understood() const { return not_understood_; }

 private:
  std::unordered_set<std::string> names_, prefixes_;  // "layers.3.*" is a prefix
  std::vector<std::string> globs_;
  std::vector<std::string> not_understood_;
};

}  // namespace draftline
