// SPDX-License-Identifier: Apache-2.0
// The formats of a network's classes of products, from a checkpoint that gives them module by module. A class whose
// modules differ is priced in the format of most of its weights, with scales that make its bytes those of the modules.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/transformers/ignored_modules.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

struct ModuleRule {
  ModuleList modules;
  std::optional<LinearFormat> format;  // none: as the network's activations
};

// The weights of one class of products by their formats.
class FormatMix {
 public:
  void add(const LinearFormat&, int in, int out, double count);
  bool empty() const { return parts_.empty(); }
  bool mixed() const { return parts_.size() > 1; }
  double share(const LinearFormat&) const;  // of the weights
  LinearFormat usual() const;               // of most weights
  LinearFormat mean() const;
  // "75 % fp4 of 4.5 bits, 25 % bf16"
  std::string text() const;

 private:
  struct Part {
    double weights = 0;
    Bytes bytes;
  };
  Part whole() const;
  std::map<LinearFormat, Part> parts_;
};

struct ClassMixes {
  FormatMix attention, mlp, experts, lm_head;
};

// A module has the format of the first rule whose list contains it, else `otherwise`.
struct ModuleFormats {
  std::vector<ModuleRule> rules;
  LinearFormat otherwise, plain, head;  // plain: of modules in the activations' format; head: of an unlisted LM head
  ClassMixes of(const TransformerShape&) const;
};

// The bytes of a checkpoint's tensors: matrices with their scales, the embedding, norms and biases.
Bytes stored_bytes(const TransformerShape&, const Precision&);

}  // namespace draftline
