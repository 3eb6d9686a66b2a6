// SPDX-License-Identifier: Apache-2.0
// A drafter's layer has the target's widths and rope, and none of what the target's layers have besides.
#include "methods/drafting/feature_drafter.h"
#include "tests/catch.h"
#include "tests/contracts/rig.h"

using namespace draftline;
using namespace draftline::test;

TEST_CASE("a drafter's layer is Llama's, of the target's hidden size, heads and MLP columns, whatever the target is") {
  for (const auto kind : {Network::llama, Network::qwen2, Network::qwen3, Network::mixture, Network::latent,
                          Network::deepseek, Network::sparse, Network::windows, Network::gemma4, Network::hybrid}) {
    const TransformerShape target = tiny_shape(kind);
    AttentionHeads heads = target.usual_heads();
    heads.value_dim = heads.head_dim;
    heads.values_are_keys = false;
    LayerShape expected = llama_layer(32, heads, 48);
    const LayerShape layer = methods::drafter_layer(target);
    REQUIRE(layer.rope() != nullptr);
    CHECK((layer.rope()->columns > 0 && !layer.rope()->growth));
    *expected.rope() = *layer.rope();
    CHECK(layer == expected);
    const LayerShape native = methods::native_drafter_layer(target);
    CHECK((native.latent() != nullptr) == (target.latent() != nullptr));
    if (native.latent() == nullptr) CHECK(native == layer);
    else CHECK((!native.latent()->dims.indexer && !native.latent()->shares_choice));
  }
}
