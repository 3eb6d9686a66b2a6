// SPDX-License-Identifier: Apache-2.0
// Which products of a network a quantised checkpoint leaves in 16 bits: the lists of modules in its
// quantization_config, as names ("lm_head", "model.layers.0.self_attn"), globs ("*.self_attn*") or, after "re:",
// regular expressions.
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
  // Whether the list has the module, a module that it is part of, or its own or such a module's last name.
  bool has(std::string_view module) const;
  // Regular expressions beyond literals, ".", ".*" and classes of digits, which match nothing here.
  const std::vector<std::string>& not_understood() const { return not_understood_; }

 private:
  std::unordered_set<std::string> names_;
  std::vector<std::string> globs_;
  std::vector<std::string> not_understood_;
};

// Shares, 0 to 1, of the products of each class that a list has.
struct IgnoredShares {
  double attention = 0, mlp = 0, experts = 0, lm_head = 0;
};
IgnoredShares ignored_shares(const ModuleList&, const TransformerShape&);

}  // namespace draftline
