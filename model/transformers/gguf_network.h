// SPDX-License-Identifier: Apache-2.0
// A network from the header of its GGUF file: shapes, and the formats of its tensors as the file has them.
#pragma once
#include "model/transformers/gguf_header.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

// The network; its checkpoint's formats have the bytes of the file's tensors, class by class. Its notes name what the
// file has and the network omits. Throws InputErrors if the architecture is not modelled or if tensors contradict it.
TransformerShape read_gguf_network(const GgufHeader&, const Files& = disk());

// The formats of the tensors of the first `layers` layers, a mean for each class. Behind them are modules that predict
// further tokens. `others`: the matrices that are in no class.
Precision gguf_precision(const GgufHeader&, int layers, std::vector<std::string>* others = nullptr);

}  // namespace draftline
