// SPDX-License-Identifier: Apache-2.0
// The formats in which a network is served, one for each class of tensor (docs/explanation/prediction.md, "Precision").
// A linear layer has a format of its weights, with their scales, and a format of the inputs of its products. Where the
// inputs are narrower than the activations, an engine quantises the activations at run time, with separate scales.
#pragma once
#include <compare>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/quantity.h"
#include "model/transformers/dtype.h"

namespace draftline {

// One scale for each block of a matrix [in, out].
struct WeightScales {
  int inputs = 0, outputs = 0;  // of a block; 0: all
  int bits = 0;                 // of a block's scale and zero point; 0: the weights have no scales
  Bytes of(int in, int out) const;
  auto operator<=>(const WeightScales&) const = default;
};

// One scale for each group of a row's inputs.
struct RowScales {
  int group = 0;  // 0: the row
  DType format = DType::fp32;
  int of_row(int in) const { return group == 0 ? 1 : in / group + (in % group != 0); }
  auto operator<=>(const RowScales&) const = default;
};

struct LinearFormat {
  DType weights = DType::bf16;
  WeightScales scales = {};
  std::optional<DType> inputs = {};  // inputs of its products; none: activations unchanged (weight-only)
  RowScales input_scales = {};       // for quantised inputs
  bool static_inputs = false;        // one scale for all inputs, known in advance; counted as one per row
  Scaling scaling() const {
    if (bits_of(weights) == 8 && scales.inputs > 0 && scales.outputs > 1) return Scaling::blocks;
    return static_inputs ? Scaling::tensor : Scaling::rows;
  }
  bool same_products(const LinearFormat& o) const {  // ignoring the other scales
    return weights == o.weights && inputs == o.inputs && scaling() == o.scaling();
  }
  auto operator<=>(const LinearFormat&) const = default;
};

struct Precision {
  Precision() = default;
  explicit Precision(DType all);  // every class in one format of 16 or 32 bits
  // The layers' matrices in this format; all other tensors, a drafter's included, in that of the activations.
  Precision(std::string name, const LinearFormat& layers, DType activations);

  std::string name = "bf16";  // for tables: "fp8", "fp8,kv_cache:fp8"
  DType activations = DType::bf16, kv_cache = DType::bf16, embedding = DType::bf16;
  WeightScales embedding_scales = {};             // of an embedding in blocks, as GGUF has it
  LinearFormat attention, mlp, experts, lm_head;  // mlp: dense layers and shared experts
  LinearFormat draft;                             // a drafter's layers; its tables have the activations' format
  bool draft_given = false;                       // given by the user: replaces the format of a drafter's checkpoint
  auto operator<=>(const Precision&) const = default;
};

// Tensors of a GGUF file whose formats differ from the layers' (llama.cpp's rules for a mixture such as Q4_K_M).
struct GgufTensors {
  LinearFormat attention, lm_head, embedding;
};

// Formats that have names in engines and checkpoints.
struct NamedFormat {
  std::string_view name, also, meaning;  // also: a synonym
  LinearFormat layers;
  DType activations;  // that engines use with these checkpoints
  std::optional<GgufTensors> gguf = {};
  Precision precision() const;  // of a whole network; a GGUF drafter has the formats of the layers
};
std::span<const NamedFormat> named_formats();
const NamedFormat* format_named(std::string_view);  // by name or synonym; null if it is unknown

}  // namespace draftline
