// SPDX-License-Identifier: Apache-2.0
// The inputs of `decode`: weights from checkpoints or random ones, and prompts as token ids.
#pragma once
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/input_files.h"
#include "decoder/huggingface.h"
#include "decoder/random_weights.h"

namespace draftline::measure {

// Opens a checkpoint for --transformer or "draft"; null if there is no such folder.
std::unique_ptr<HuggingFaceFolder> checkpoint(const std::filesystem::path& folder);

// Weights from the checkpoints of the target and of the draft network. Weights that no checkpoint has are random.
class DecodedWeights : public WeightSource {
 public:
  // `target`: null for random weights. `draft_noise`: a draft network without checkpoint has the target's weights with
  // noise of this standard deviation, relative to that of random weights. `seed`: of weights and noise.
  DecodedWeights(std::unique_ptr<HuggingFaceFolder> target, double draft_noise, std::uint64_t seed);
  void draft_from(std::unique_ptr<HuggingFaceFolder> draft) { draft_ = std::move(draft); }
  void load(const std::string& name, int in, int out, std::span<float> to) override;
  std::vector<NormalTerm> formula(const std::string& name, int in, int out) override;
  std::string_view target_kind() const { return target_ ? "checkpoint" : "random"; }
  std::string target_name(std::uint64_t seed) const;  // as in traces: weights_name() (trace/trace) or "random, seed 0"
  InputFiles input_files() const;                     // the checkpoints' folders, by what is stored in them

 private:
  WeightSource& of_target() { return target_ ? static_cast<WeightSource&>(*target_) : random_; }
  WeightSource& of(const std::string& name);
  std::unique_ptr<HuggingFaceFolder> target_, draft_;
  RandomWeights random_;
  PerturbedWeights perturbed_;
};

// Reads token ids, written as decimal numbers between blanks. Throws InputErrors that name `where`.
std::vector<int> read_ids(const std::string& text, int vocabulary, const std::string& where);
// Reads a line of ids for each prompt, as `decode` prints them. An empty line: that continuation is unknown. Throws
// InputErrors.
std::vector<std::vector<int>> read_continuations(const std::string& file, std::size_t prompts, int vocabulary);

}  // namespace draftline::measure
