// SPDX-License-Identifier: Apache-2.0
// The output of `draftline decode`.
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

// The weights that decoded. `forced_by`: the weights that were random when the trace that forces acceptance was
// recorded; "": none.
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
  std::vector<Generated> texts = {};  // the finished texts
  std::string failure = {};           // device error; "": none
  Seconds time = {};
  std::optional<Cuda> cuda = {};

  double tokens() const;
  double acceptance_length() const;  // tokens that a step emits for each sequence, the bonus token included
};

// Prints the texts on standard output and their rates on standard error.
void print_decoded(const DecodeOptions&, const DecodeResult&);
void write_decode_json(std::ostream&, const DecodeOptions&, const DecodeResult&, const InputFiles&,
                       const std::filesystem::path& data);

}  // namespace draftline::cli
