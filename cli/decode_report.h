// SPDX-License-Identifier: Apache-2.0
// What `draftline decode` prints.
#pragma once
#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "cli/decode_options.h"
#include "core/input_files.h"
#include "decoder/generate.h"
#include "measure/decode_device.h"
#include "measure/decode_inputs.h"
#include "measure/decode_timing.h"

namespace draftline::cli {

// Whose weights decoded, and whose were random when the trace was recorded that forced acceptance ("": nobody's).
struct DecodedBy {
  measure::WeightNames weights;
  std::string forced_by;
};

struct DecodeResult {
  struct Cuda {
    measure::CudaFacts facts;
    int products_timed = 0;
  };
  const TransformerShape& shape;
  const MethodSpec& method;
  DecodedBy by;
  std::string target_kind;  // "checkpoint", "random"
  int slots = 1;
  const std::vector<std::vector<int>>& prompts;
  const Device* limits = nullptr;
  const measure::DecodeTiming& timing;
  std::vector<Generated> texts = {};  // as many as were finished
  std::string failure = {};           // of the device; "": none
  Seconds time = {};
  std::optional<Cuda> cuda = {};

  double tokens() const;
  double acceptance_length() const;  // tokens that a step emits for each sequence, the bonus token included
};

// The texts on standard output, their rates on standard error.
void print_decoded(const DecodeOptions&, const DecodeResult&);
void write_decode_json(std::ostream&, const DecodeOptions&, const DecodeResult&, const InputFiles&,
                       const std::filesystem::path& data);

}  // namespace draftline::cli
