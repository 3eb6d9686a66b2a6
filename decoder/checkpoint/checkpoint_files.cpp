// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/checkpoint_files.h"

#include <algorithm>
#include <optional>

#include "core/errors.h"
#include "core/fingerprint.h"
#include "core/json_parse.h"
#include "core/reader.h"

namespace draftline {

namespace {

// What to do with pickled weights, which could run any code when they are read; "" if there are none.
std::string conversion(const std::filesystem::path& folder, const std::string& stem, const Files& files) {
  for (const std::string& file : {std::string("pytorch_model.bin"), stem + ".bin", stem + ".pt"})
    if (files.exists(folder / file))
      return "; weights in " + file +
             " are pickled Python, which is not read: convert them once, in this folder, by python -c \"import torch; "
             "from safetensors.torch import save_file; save_file({k: v.clone().contiguous() for k, v in torch.load('" +
             file + "', map_location='cpu', weights_only=True).items()}, '" + stem + ".safetensors')\"";
  return "";
}

}  // namespace

CheckpointFiles::CheckpointFiles(std::filesystem::path folder, const std::string& stem, const Files& files)
    : folder_(std::move(folder)) {
  const auto single = folder_ / (stem + ".safetensors"), index = folder_ / (stem + ".safetensors.index.json");
  if (files.exists(single)) {  // where both exist, transformers prefers the single file too
    add(std::make_unique<SafetensorsFile>(single, files));
  } else if (files.exists(index)) {
    open_shards(index, files);
  } else {
    throw InputErrors(shown_folder() + ": has neither " + stem + ".safetensors nor " + stem +
                      ".safetensors.index.json" + conversion(folder_, stem, files));
  }
}

CheckpointFiles::CheckpointFiles(std::filesystem::path file, std::unique_ptr<TensorFile> tensors, bool pairs_heads)
    : folder_(std::move(file)), pairs_heads_(pairs_heads) {
  add(std::move(tensors));
}

void CheckpointFiles::add(std::unique_ptr<TensorFile> file) {
  for (const auto& [name, tensor] : file->tensors()) file_of_.emplace(name, files_.size());
  files_.push_back(std::move(file));
}

std::string CheckpointFiles::shown_folder() const { return printable(folder_.string(), 1000); }

void CheckpointFiles::open_shards(const std::filesystem::path& index, const Files& files) {
  const Document document = Document::from_file(index, files);
  std::vector<std::string> mistakes;
  // The index of each file in files_. None: it can't be opened, which is reported once.
  std::map<std::string, std::optional<std::size_t>> number;
  for (const auto& [tensor, where] : document.root().at("weight_map").entries()) {
    const std::string file = where.text();
    if (!where.is_string()) continue;
    if (file.find_first_of("/\\") != std::string::npos || !file.ends_with(".safetensors")) {
      where.fail(in_quotes(file) + " must be the name of a .safetensors file in this folder");
      continue;
    }
    const auto [it, fresh] = number.try_emplace(file);
    if (fresh && mistakes.size() < kMostMessages) {
      try {
        files_.push_back(std::make_unique<SafetensorsFile>(folder_ / file, files));
        it->second = files_.size() - 1;
      } catch (const InputErrors& e) { mistakes.insert(mistakes.end(), e.messages().begin(), e.messages().end()); }
    }
    if (!it->second) continue;
    file_of_.emplace(tensor, *it->second);
    if (!files_[*it->second]->tensors().contains(tensor)) where.fail("the tensor is not in " + in_quotes(file));
  }
  document.finish();
  if (!mistakes.empty()) throw InputErrors(std::move(mistakes));
}

const StoredTensor* CheckpointFiles::find(const std::string& tensor) const {
  const auto file = file_of_.find(tensor);
  return file == file_of_.end() ? nullptr : &files_[file->second]->tensors().find(tensor)->second;
}

std::vector<std::string> CheckpointFiles::tensors() const {
  std::vector<std::string> names;
  for (const auto& [tensor, file] : file_of_) names.push_back(tensor);
  return names;
}

const TensorFile& CheckpointFiles::file_of(const std::string& tensor) const {
  const auto file = file_of_.find(tensor);
  check(file != file_of_.end(), "a tensor that the checkpoint has");
  return *files_[file->second];
}

// Training changes nearly every value, so a few of each tensor distinguish two checkpoints without reading all values.
std::uint64_t CheckpointFiles::fingerprint() const {
  constexpr std::uint64_t kSamples = 8, kValues = 32;
  Fingerprint sum;
  for (const auto& held : file_of_) {
    const std::string& name = held.first;
    const TensorFile& file = *files_[held.second];
    const StoredTensor& t = file.tensors().find(name)->second;
    sum.add(name);
    sum.add(t.dtype);
    for (const std::uint64_t n : t.shape) sum.add(n);
    const auto sample = [&](auto values, auto add) {
      values.resize(std::min(kValues, t.elements));
      for (std::uint64_t i = 0; i < kSamples; ++i) {
        file.read(name, (t.elements - values.size()) / (kSamples - 1) * i, values);
        for (const auto v : values) add(v);
      }
    };
    if (file.can_read(t)) sample(std::vector<float>(), [&](float v) { sum.add(double{v}); });
    else if (file.has_bytes(t)) sample(std::vector<std::uint8_t>(), [&](std::uint8_t v) { sum.add(v); });
  }
  return sum.value();
}

bool CheckpointFiles::same_values(const std::string& tensor, const CheckpointFiles& other,
                                  const std::string& tensor_of_other) const {
  const StoredTensor &a = *find(tensor), &b = *other.find(tensor_of_other);
  if (a.shape != b.shape) return false;
  constexpr std::uint64_t kAtOnce = 1 << 20;
  std::vector<float> ours, theirs;
  for (std::uint64_t first = 0; first < a.elements; first += kAtOnce) {
    const std::uint64_t now = std::min(kAtOnce, a.elements - first);
    ours.resize(now);
    theirs.resize(now);
    file_of(tensor).read(tensor, first, ours);
    other.file_of(tensor_of_other).read(tensor_of_other, first, theirs);
    if (ours != theirs) return false;
  }
  return true;
}

}  // namespace draftline
