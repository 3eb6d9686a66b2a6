// SPDX-License-Identifier: Apache-2.0
// What a tape may have and what an engine's profile may price are lists in different rooms.
#include <algorithm>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include "core/reader.h"
#include "decoder/tape.h"
#include "model/engines/engine.h"
#include "tests/catch.h"

using namespace draftline;

namespace {

using Keys = std::set<std::string, std::less<>>;

template <std::size_t... I>
Keys unrefined(std::index_sequence<I...>) {
  return {std::string(std::variant_alternative_t<I, Op>::key)...};
}

// Passes 0, 1 and 2 are of prompts, of one row a sequence, and of several.
Tape three_passes() {
  Tape tape;
  tape.passes.resize(3);
  tape.passes[0].rows.prompts = true;
  tape.passes[1].rows.widest = 1;
  tape.passes[2].rows.widest = 4;
  return tape;
}

// Whatever a tape may have: the key of each alternative, and those into which op_key refines some.
Keys keys_of_tapes() {
  Keys keys = unrefined(std::make_index_sequence<std::variant_size_v<Op>>());
  const Tape tape = three_passes();
  const auto add = [&](const Op& op) { keys.emplace(op_key(op, tape)); };
  for (const DType inputs : {DType::bf16, DType::fp8})
    for (const DType weights : {DType::fp32, DType::bf16, DType::fp8, DType::int8, DType::fp4, DType::int4}) {
      Linear product{};
      product.x.dtype = inputs;
      product.w.dtype = weights;
      add(product);
    }
  for (const auto after : {Quantise::After::any, Quantise::After::norm, Quantise::After::activation}) {
    Quantise quantise{};
    quantise.after = after;
    add(quantise);
  }
  for (const bool combines : {false, true}) {
    ExchangeRows exchange{};
    exchange.combines = combines;
    add(exchange);
  }
  for (int pass = 0; pass < 3; ++pass) {
    Attend attend{};
    attend.pass.index = pass;
    add(attend);
    LatentAttend latent{};
    latent.pass.index = pass;
    add(latent);
  }
  return keys;
}

}  // namespace

TEST_CASE("a profile may price whatever a tape can have, and nothing else") {
  const Keys keys = keys_of_tapes();
  const auto known = op_keys();
  CHECK(std::is_sorted(known.begin(), known.end()));
  CHECK(Keys(known.begin(), known.end()) == keys);
  for (const std::string& key : keys) {
    INFO(key);
    Engine engine;
    const Document ops =
        Document::from_text(R"({")" + key + R"(": {"launches": 7, "kind": "guess", "because": "a test"}})", "ops.json");
    read_op_costs(ops.root(), engine);
    ops.finish();
    CHECK(engine.cost_of(key).launches == 7);
  }
}
