// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/partial_target.h"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace draftline::methods {

static std::vector<LayerUse> kept(int first_skipped, int next_kept, int layers) {  // from 0
  auto uses = layers_between(0, first_skipped);
  for (const LayerUse& u : layers_between(next_kept, layers)) uses.push_back(u);
  return uses;
}

std::vector<LayerUse> read_kept_layers(const Reader& method, int layers) {
  const auto in = method.find("skip");
  if (!in) {
    const auto share = [&](double of_32) { return static_cast<int>(std::lround(of_32 / 32 * layers)); };
    return kept(std::max(1, share(5)), std::max(2, share(25)), layers);
  }
  const std::string text = in->text();
  if (text == "none") return kept(layers, layers, layers);
  const auto arrow = text.find("->");
  int before = 0, after = 0;
  const auto number = [](std::string_view digits, int& to) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  };
  const std::string_view all = text;
  if (arrow == std::string::npos || !number(all.substr(0, arrow), before) || !number(all.substr(arrow + 2), after)) {
    if (in->is_string())
      in->fail("must be \"none\" or such as \"5->26\": the last layer before the gap and the first behind it");
    return kept(layers, layers, layers);
  }
  if (before < 0 || after <= before || after > layers + 1 || before + layers - after + 1 < 1) {
    in->fail("the target has layers 1 to " + std::to_string(layers) +
             ": the gap must lie within, and leave at least one layer");
    return kept(layers, layers, layers);
  }
  return kept(before, after - 1, layers);
}

int read_exit(const Reader& method, const TransformerShape& target, int usual, int most) {
  const auto next_usable = [&](int exit) {
    while (exit < target.layers() && target.layer(exit).shares_choice()) ++exit;
    return exit;
  };
  const auto in = method.find("exit");
  if (!in) return std::min(next_usable(usual), most);
  const int exit = in->integer(1, most);
  if (const int next = next_usable(exit); next != exit)
    in->fail(
        "layer " + std::to_string(exit) + " of " + target.name +
        ", counted from 0, reads the tokens that an indexer before it chose, and the target can't go on from it; " +
        (next <= most ? std::to_string(next) + " is the next that will do" : "none behind it will do"));
  return exit;
}

bool has_positions(const TransformerShape& target, int rows) {
  return !target.max_positions || rows <= *target.max_positions;
}

void check_positions(const MethodSpec& spec, const Transformer& target, int rows) {
  if (has_positions(target.shape, rows)) return;
  const Reader& method = spec.in();
  const auto length = draft_length_in(method), tree = method.find("tree");
  (length ? *length
   : tree ? *tree
          : method)
      .fail("its masks reach " + std::to_string(rows) + " positions, " + target.shape.name + " has " +
            std::to_string(*target.shape.max_positions));
}

Tensor embed_with_masks(Ops& ops, const Transformer& target, Weight mask, Tensor tokens,
                        const std::vector<int>& index) {
  const Tensor rows[] = {target.embed(ops, tokens), ops.embed(mask, ops.constant({0}))};
  return ops.gather(ops.concat_rows({rows[0], rows[1]}), ops.constant(index));
}

}  // namespace draftline::methods
