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

LayerGap read_gap(const Reader& in) {
  const std::string text = in.text();
  const auto number = [](std::string_view digits, int& to) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), to);
    return error == std::errc() && end == digits.data() + digits.size() && !digits.empty();
  };
  LayerGap gap;
  const auto arrow = text.find("->");
  const std::string_view all = text;
  if (text == "none" || !in.is_string()) return gap;
  if (arrow == std::string::npos || !number(all.substr(0, arrow), gap.before) ||
      !number(all.substr(arrow + 2), gap.behind)) {
    in.fail("must be \"none\" or such as \"5->26\": the last layer before the gap and the first behind it");
    return {};
  }
  return gap;
}

std::optional<Mistake> wrong_gap(const std::optional<LayerGap>& gap, int layers) {
  if (!gap || (gap->before >= 0 && gap->behind > gap->before && gap->behind <= layers + 1 &&
               gap->before + layers - gap->behind + 1 >= 1))
    return std::nullopt;
  return Mistake{"/skip", "the target has layers 1 to " + std::to_string(layers) +
                              ": the gap must lie within, and leave at least one layer"};
}

std::vector<LayerUse> kept_layers(const std::optional<LayerGap>& gap, int layers) {
  if (gap) return kept(gap->before, gap->behind - 1, layers);
  const auto share = [&](double of_32) { return static_cast<int>(std::lround(of_32 / 32 * layers)); };
  return kept(std::max(1, share(5)), std::max(2, share(25)), layers);
}

static int next_usable(int exit, const TransformerShape& target) {
  while (exit < target.layers() && target.layer(exit).shares_choice()) ++exit;
  return exit;
}

int exit_layer(const std::optional<int>& exit, const TransformerShape& target, int usual, int most) {
  return exit ? *exit : std::min(next_usable(usual, target), most);
}

std::optional<Mistake> wrong_exit(const std::optional<int>& exit, const TransformerShape& target, int most) {
  if (!exit) return std::nullopt;
  const int next = next_usable(*exit, target);
  if (next == *exit) return std::nullopt;
  return Mistake{
      "/exit",
      "layer " + std::to_string(*exit) + " of " + target.name +
          ", counted from 0, reads the tokens that an indexer before it chose, and the target can't go on from it; " +
          (next <= most ? std::to_string(next) + " is the next that will do" : "none behind it will do")};
}

std::optional<Mistake> beyond_positions(const MethodSpec& spec, const TransformerShape& target, int rows) {
  if (!target.max_positions || rows <= *target.max_positions) return std::nullopt;
  return Mistake{spec.draft_length() ? "/draft_length"
                 : spec.tree()       ? "/tree"
                                     : "",
                 "its masks reach " + std::to_string(rows) + " positions, " + target.name + " has " +
                     std::to_string(*target.max_positions)};
}

Tensor embed_with_masks(Ops& ops, const Transformer& target, Weight mask, Tensor tokens,
                        const std::vector<int>& index) {
  const Tensor rows[] = {target.embed(ops, tokens), ops.embed(mask, ops.constant({0}))};
  return ops.gather(ops.concat_rows({rows[0], rows[1]}), ops.constant(index));
}

}  // namespace draftline::methods
