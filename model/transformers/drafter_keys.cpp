// SPDX-License-Identifier: Apache-2.0
#include "model/transformers/drafter_keys.h"

#include "model/transformers/config_keys.h"

namespace draftline::config {

void read_states(const Reader& ids, int later, DrafterConfig& d) {
  constexpr std::size_t kMost = 16;
  for (const Reader& id : ids.items()) d.auxiliary_layers.push_back(id.integer(-later, kMostLayers) + later);
  if (d.auxiliary_layers.empty() || d.auxiliary_layers.size() > kMost)
    ids.fail("must be 1 to " + std::to_string(kMost) + " layers of the target");
}

void refuse_other_width(const Reader& in, const DrafterConfig& d) {
  if (const auto width = given(in, "target_hidden_size"); width && width->positive_int() != d.network.hidden)
    width->fail("a drafter of another hidden size than its target's is not modelled");
}

void read_own_head(const Reader& in, DrafterConfig& d) {
  const auto own = given(in, "draft_vocab_size");
  d.vocabulary = own ? own->positive_int(kMostVocabulary) : d.network.vocabulary;
  if (own && d.vocabulary > d.network.vocabulary) own->fail("is larger than the target's vocabulary");
}

}  // namespace draftline::config
