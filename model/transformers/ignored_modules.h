// SPDX-License-Identifier: Apache-2.0
// The products of a network that a quantised checkpoint keeps in 16 bits, from the lists of modules in its
// quantization_config: names ("lm_head", "model.layers.0.self_attn"), globs ("*.self_attn*") or, after "re:", regular
// expressions.
#pragma once
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "model/transformers/transformer_shape.h"

namespace draftline {

class ModuleList {
 public:
  explicit ModuleList(const std::vector<std::string>&);
  // Whether the list contains the module or a module around it, by the full name or the last part of the name.
  bool has(std::string_view module) const;
  // Regular expressions that use more than literals, ".", ".*" and classes of digits. They match nothing.
  const std::vector<std::string>& not_understood() const { return not_understood_; }

 private:
  std::unordered_set<std::string> names_;
  std::vector<std::string> globs_;
  std::vector<std::string> not_understood_;
};

// The share, 0 to 1, of each class's products that a list contains.
struct IgnoredShares {
  double attention = 0, mlp = 0, experts = 0, lm_head = 0;
};
IgnoredShares ignored_shares(const ModuleList&, const TransformerShape&);

}  // namespace draftline
