// SPDX-License-Identifier: Apache-2.0
#include "decoder/checkpoint/named_weights.h"

namespace draftline {

NamedWeights::NamedWeights(const std::filesystem::path& folder, const std::map<std::string, Weight>& drafter)
    : files_(folder) {
  for (const auto& [name, w] : drafter)
    weights_.push_back(w.in == 1 ? stored_vector(name, name, w.out) : stored_table(name, name, w.in, w.out));
  TensorCheck check({files_, std::nullopt});
  check.expect(weights_);
  check.refuse_others([](const std::string&) { return false; });
  check.finish();
}

void NamedWeights::load(const std::string& name, int in, int out, std::span<float> to) {
  load_stored({files_, std::nullopt}, weights_, name, in, out, to);
}

}  // namespace draftline
