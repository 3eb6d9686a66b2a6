// SPDX-License-Identifier: Apache-2.0
// The schema of a scenario's "precision".
#include "inputs/precision_choice.h"
#include "inputs/schema/schema_parts.h"

namespace draftline::schema {

Json precision() {
  const Json format = word(format_names()), of_checkpoint{{"const", kOfCheckpoint}};
  const Json weights = any_of({of_checkpoint, format}), wide = word(kWideFormats);
  return any_of(
      {weights,
       object(
           {optional("weights", weights, "matrices of the layers; auto: the checkpoint's format").also("quantization"),
            optional("draft", weights, "layers of the drafter").also("draft_quantization"),
            optional("attention", format, "matrices of attention; by default as weights"),
            optional("experts", format, "matrices of experts; by default as weights"),
            optional("lm_head", format, "LM head; by default 16 bits"),
            optional("activations", wide, "activations").also("dtype"),
            optional("kv_cache", word(kCacheFormats), "keys and values; by default as activations")
                .also("kv_cache_dtype"),
            optional("embedding", wide, "embedding; by default 16 bits")})});
}

}  // namespace draftline::schema
