// SPDX-License-Identifier: Apache-2.0
// The inputs of `decode`: weights from checkpoints or random ones, and prompts as token ids.
#pragma once
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/input_files.h"
#include "decoder/checkpoint/drafter_folder.h"
#include "decoder/checkpoint/named_weights.h"
#include "decoder/random_weights.h"
#include "methods/table.h"

namespace draftline::measure {

// Opens a checkpoint, a folder or a GGUF file, for --transformer or "draft"; null if there is none.
std::unique_ptr<StoredNetwork> checkpoint(const std::filesystem::path&);

// The weights of a target and its drafter, as in traces: weights_name() (trace/trace) or "random, seed 0".
struct WeightNames {
  std::string target, drafter;  // drafter "": it uses only the target's weights
  bool random_drafter() const { return drafter.starts_with("random"); }
  nlohmann::json drafter_json() const;
  std::string warning() const;  // "; drafter: random, seed 0", to print with figures; "" if all are trained
};

// Weights from the checkpoints of the target and of its drafter: a draft network, or a published drafter. Weights that
// are in no checkpoint are random.
class DecodedWeights : public WeightSource {
 public:
  // `target`: null for random weights. `draft_noise`: a draft network without checkpoint has the target's weights with
  // noise of this standard deviation, relative to that of random weights. `seed`: for weights and noise.
  DecodedWeights(std::unique_ptr<StoredNetwork> target, double draft_noise, std::uint64_t seed);
  void draft_from(std::unique_ptr<StoredNetwork> draft) { draft_ = std::move(draft); }
  // Opens the drafter's folder (decoder/checkpoint/drafter_folder) that a reader names. Mistakes are noted there,
  // including a missing checkpoint of the target.
  DrafterConfig drafter_at(const NamedFile& folder, DrafterKind);
  // Opens a folder with the weights that a decoder has in addition to the target's (decoder/checkpoint/named_weights).
  // Throws InputErrors.
  void drafter_named_in(const std::filesystem::path& folder, const WeightStore&);
  void load(const std::string& name, int in, int out, std::span<float> to) override;
  std::vector<NormalTerm> formula(const std::string& name, int in, int out) override;

  std::string_view target_kind() const { return target_ ? "checkpoint" : "random"; }
  WeightNames names(const WeightStore&) const;  // of the weights in a decoder's store
  // Throws InputErrors if a drafter's weights would be random and the target's are not.
  void refuse_random_drafter(const WeightStore&, const methods::Entry&) const;
  InputFiles input_files() const;  // the checkpoints' folders with fingerprints of their content

 private:
  WeightSource& of_target() { return target_ ? static_cast<WeightSource&>(*target_) : random_; }
  WeightSource& of(const std::string& name);
  bool is_random(const std::string& name) const;  // whether a drafter's weight is random
  std::string target_name() const;
  std::string drafter_name(const WeightStore&) const;
  std::unique_ptr<StoredNetwork> target_, draft_;
  std::unique_ptr<DrafterFolder> drafter_;
  std::unique_ptr<NamedWeights> named_;
  double draft_noise_;
  std::uint64_t seed_;
  RandomWeights random_;
  PerturbedWeights perturbed_;
};

// Reads token ids, written as decimal numbers between blanks. Throws InputErrors that name `where`.
std::vector<int> read_ids(const std::string& text, int vocabulary, const std::string& where);
// Reads a line of ids for each prompt, as `decode` prints them. An empty line means that the continuation is unknown.
// Throws InputErrors.
std::vector<std::vector<int>> read_continuations(const std::string& file, std::size_t prompts, int vocabulary);

}  // namespace draftline::measure
