// SPDX-License-Identifier: Apache-2.0
#include "measure/decode_inputs.h"

#include <fstream>
#include <sstream>

#include "core/errors.h"
#include "trace/trace.h"

namespace draftline::measure {

static const std::string kDraft = "draft.";

static bool is_target(const std::string& name) {
  return name.starts_with("layers.") || name == "embedding" || name == "final_norm" || name == "lm_head";
}

std::unique_ptr<HuggingFaceFolder> checkpoint(const std::filesystem::path& folder) {
  std::error_code none;
  if (!std::filesystem::is_directory(folder, none)) return nullptr;
  return std::make_unique<HuggingFaceFolder>(folder);
}

DecodedWeights::DecodedWeights(std::unique_ptr<HuggingFaceFolder> target, double draft_noise, std::uint64_t seed)
    : target_(std::move(target)), random_(seed), perturbed_(of_target(), kDraft, draft_noise, seed + 1) {}

void DecodedWeights::load(const std::string& name, int in, int out, std::span<float> to) {
  if (draft_ && name.starts_with(kDraft)) return draft_->load(name.substr(kDraft.size()), in, out, to);
  of(name).load(name, in, out, to);
}

std::vector<NormalTerm> DecodedWeights::formula(const std::string& name, int in, int out) {
  if (draft_ && name.starts_with(kDraft)) return {};
  return of(name).formula(name, in, out);
}

std::string DecodedWeights::target_name(std::uint64_t seed) const {
  return target_ ? weights_name(target_->fingerprint()) : "random, seed " + std::to_string(seed);
}

InputFiles DecodedWeights::input_files() const {
  InputFiles files;
  for (const auto* checkpoint : {target_.get(), draft_.get()})
    if (checkpoint != nullptr) files[checkpoint->folder()] = checkpoint->fingerprint();
  return files;
}

WeightSource& DecodedWeights::of(const std::string& name) {
  if (name.starts_with(kDraft)) return perturbed_;
  return is_target(name) ? of_target() : random_;
}

std::vector<int> read_ids(const std::string& text, int vocabulary, const std::string& where) {
  std::istringstream words(text);
  std::string word;
  std::vector<int> ids;
  while (words >> word) {
    const bool digits = word.find_first_not_of("0123456789") == std::string::npos && word.size() < 10;
    const int id = digits ? std::stoi(word) : -1;
    if (id < 0 || id >= vocabulary)
      throw InputErrors(where + ": \"" + word + "\" is no token id below " + std::to_string(vocabulary));
    ids.push_back(id);
  }
  return ids;
}

std::vector<std::vector<int>> read_continuations(const std::string& file, std::size_t prompts, int vocabulary) {
  std::ifstream in(file);
  if (!in) throw InputErrors(file + ": can't be read");
  std::vector<std::vector<int>> all;
  for (std::string line; std::getline(in, line);)
    all.push_back(read_ids(line, vocabulary, file + ":" + std::to_string(all.size() + 1)));
  if (all.size() != prompts)
    throw InputErrors(file + ": has " + std::to_string(all.size()) + " lines, there are " + std::to_string(prompts) +
                      " prompts");
  return all;
}

}  // namespace draftline::measure
