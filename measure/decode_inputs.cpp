// SPDX-License-Identifier: Apache-2.0
#include "measure/decode_inputs.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/errors.h"
#include "core/files.h"
#include "core/quantity_text.h"
#include "decoder/checkpoint/gguf_weights.h"
#include "decoder/checkpoint/huggingface.h"
#include "trace/trace.h"

namespace draftline::measure {

static const std::string kDraft = "draft.";

static bool is_target(const std::string& name) {
  return name.starts_with("layers.") || name == "embedding" || name == "final_norm" || name == "lm_head";
}

std::unique_ptr<StoredNetwork> checkpoint(const std::filesystem::path& path) {
  std::error_code none;
  if (path.extension() == ".gguf") return std::make_unique<GgufWeights>(path);
  if (!std::filesystem::is_directory(path, none)) return nullptr;
  return std::make_unique<HuggingFaceFolder>(path);
}

nlohmann::json WeightNames::drafter_json() const {
  return drafter.empty() ? nlohmann::json(nullptr) : nlohmann::json(drafter);
}

std::string WeightNames::warning() const {
  return (target.starts_with("random") ? "; target: " + target : "") +
         (random_drafter() ? "; drafter: " + drafter : "");
}

DecodedWeights::DecodedWeights(std::unique_ptr<StoredNetwork> target, double draft_noise, std::uint64_t seed)
    : target_(std::move(target)),
      draft_noise_(draft_noise),
      seed_(seed),
      random_(seed),
      perturbed_(of_target(), kDraft, draft_noise, seed + 1) {}

DrafterConfig DecodedWeights::drafter_at(const NamedFile& named, DrafterKind kind) {
  const std::filesystem::path folder = named.path();
  if (!target_)
    throw InputErrors(named.place +
                      ": a drafter's weights belong to those of its target, and --transformer names no checkpoint");
  if (!drafter_ || drafter_->folder() != folder || drafter_->config().kind != kind)
    drafter_ = std::make_unique<DrafterFolder>(folder, kind, *target_);
  return drafter_->config();
}

void DecodedWeights::drafter_named_in(const std::filesystem::path& folder, const WeightStore& store) {
  const std::string option = "--drafter-weights: ";
  if (!target_) throw InputErrors(option + "they belong to those of a target, and --transformer names no checkpoint");
  std::map<std::string, Weight> own = store.by_name();
  std::erase_if(own, [](const auto& w) { return is_target(w.first); });
  const bool network = std::any_of(own.begin(), own.end(), [](const auto& w) { return w.first.starts_with(kDraft); });
  if (own.empty()) throw InputErrors(option + "the method has no weights but the target's");
  if (network) throw InputErrors(option + "the method drafts with a network, whose folder \"draft\" names");
  if (drafter_) throw InputErrors(option + "the method has the weights of its \"checkpoint\"");
  named_ = std::make_unique<NamedWeights>(folder, own);
}

void DecodedWeights::load(const std::string& name, int in, int out, std::span<float> to) {
  if (draft_ && name.starts_with(kDraft)) return draft_->load(name.substr(kDraft.size()), in, out, to);
  if (named_ && !is_target(name)) return named_->load(name, in, out, to);
  if (drafter_ && !is_target(name) && !name.starts_with(kDraft))  // behind the method's name, "eagle3."
    return drafter_->load(name.substr(name.find('.') + 1), in, out, to);
  of(name).load(name, in, out, to);
}

std::vector<NormalTerm> DecodedWeights::formula(const std::string& name, int in, int out) {
  if (!is_target(name) && !is_random(name) && (draft_ || drafter_ || named_)) return {};
  return of(name).formula(name, in, out);
}

WeightNames DecodedWeights::names(const WeightStore& store) const { return {target_name(), drafter_name(store)}; }

std::string DecodedWeights::target_name() const {
  return target_ ? weights_name(target_->fingerprint()) : "random, seed " + std::to_string(seed_);
}

bool DecodedWeights::is_random(const std::string& name) const {
  if (!name.starts_with(kDraft)) return !drafter_ && !named_;
  return !draft_ && (!target_ || draft_noise_ != 0);
}

std::string DecodedWeights::drafter_name(const WeightStore& store) const {
  const std::string* drafter = nullptr;
  for (const std::string& name : store.names()) {
    if (is_target(name)) continue;
    drafter = &name;
    if (is_random(name)) break;
  }
  if (drafter == nullptr) return "";
  if (named_) return weights_name(named_->fingerprint());
  if (!drafter->starts_with(kDraft))
    return drafter_ ? weights_name(drafter_->fingerprint()) : "random, seed " + std::to_string(seed_);
  if (draft_) return weights_name(draft_->fingerprint());
  if (!is_random(*drafter)) return target_name();
  return "random, seed " + std::to_string(seed_) + ": noise of " + significant(draft_noise_) + " on the target's";
}

void DecodedWeights::refuse_random_drafter(const WeightStore& store, const methods::Entry& method) const {
  if (!target_ || !drafter_name(store).starts_with("random")) return;
  const std::string name(method.name);
  throw InputErrors(
      (method.checkpoint ? "--method: " + name +
                               " drafts with trained weights: give the drafter's folder in the method's object, "
                               "\"checkpoint\": FOLDER"
       : method.draft_network ? "--method: \"draft\" names a network without weights: give the folder of its checkpoint"
                              : "--method: " + name +
                                    " drafts with trained weights, for which no format is published: give a folder "
                                    "with tensors of the decoder's names by --drafter-weights") +
      "; or ask for random ones by --random-drafter, which every output then says");
}

InputFiles DecodedWeights::input_files() const {
  InputFiles files;
  for (const auto* checkpoint : {target_.get(), draft_.get()})
    if (checkpoint != nullptr) files[checkpoint->folder()] = checkpoint->fingerprint();
  if (drafter_) files[drafter_->folder()] = drafter_->fingerprint();
  if (named_) files[named_->folder()] = named_->fingerprint();
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
    if (id < 0 || id >= vocabulary)  // without the word: the file may be another one than the user meant
      throw InputErrors(where + ": word " + std::to_string(ids.size() + 1) + " is no token id below " +
                        std::to_string(vocabulary));
    ids.push_back(id);
  }
  return ids;
}

std::vector<std::vector<int>> read_continuations(const std::string& file, std::size_t prompts, int vocabulary) {
  std::istringstream in(disk().text(file));
  std::vector<std::vector<int>> all;
  for (std::string line; std::getline(in, line);)
    all.push_back(read_ids(line, vocabulary, file + ":" + std::to_string(all.size() + 1)));
  if (all.size() != prompts)
    throw InputErrors(file + ": has " + std::to_string(all.size()) + " lines, there are " + std::to_string(prompts) +
                      " prompts");
  return all;
}

}  // namespace draftline::measure
