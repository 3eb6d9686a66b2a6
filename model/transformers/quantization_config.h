// SPDX-License-Identifier: Apache-2.0
// The formats of a quantised checkpoint: the quantization_config of its config.json (quant_method fp8,
// compressed-tensors, modelopt, mxfp4, gptq, awq, bitsandbytes), or the hf_quant_config.json that ModelOpt writes in
// the same folder. Sources: the checkpoints' files, and the readers of transformers and vLLM.
#pragma once
#include <optional>

#include "core/reader.h"
#include "model/transformers/transformer_shape.h"

namespace draftline {

// The formats of a checkpoint. None if it is not quantised or if its method is unknown; shape.notes then contains the
// unknown method. A note also lists unquantised modules that are only a part of their class. Mistakes are noted at the
// reader.
std::optional<Precision> read_checkpoint_precision(const Reader& config, TransformerShape& shape);

}  // namespace draftline
