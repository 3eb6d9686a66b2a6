// SPDX-License-Identifier: Apache-2.0
// What a method's parameters name, and whether they fit its target.
#include "methods/drafting/rank_proposal.h"
#include "methods/table.h"

namespace draftline::methods {

namespace {

void find_draft(Context& c, const FindTransformer& find) {
  const MethodSpec& spec = c.spec;
  const auto refuse = [&](std::string why) { throw MethodMistake(spec, {"/draft", std::move(why)}); };
  if (!spec.draft()) throw MethodMistake(spec, {"", "missing key \"draft\""});
  TransformerShape shape = find(*spec.draft());
  const TransformerShape& target = c.target.shape;
  const int ranks = c.target.ranks;
  if (shape.vocabulary != target.vocabulary && ranks == 1)
    refuse("its vocabulary has " + std::to_string(shape.vocabulary) + " tokens, the target's " +
           std::to_string(target.vocabulary));
  if (shape.states())
    refuse(
        "has layers with a recurrent state: such a network is not modelled as a draft, as a draft reads its last token "
        "again after a step");
  const bool divided = spec.shards_draft() || (spec.shards_draft_if_possible() && !refuses_shards(shape, {ranks}));
  c.draft_ranks = divided ? ranks : 1;
  try {
    c.draft = c.draft_ranks > 1 ? shard(shape, {.devices = ranks}) : std::move(shape);
  } catch (const InputErrors& e) { refuse(e.what()); }
}

void find_published(Context& c, const FindDrafter& find) {
  const TransformerShape& target = c.target.shape;
  const DrafterKind kind = *c.spec.entry().checkpoint;
  const auto refuse = [&](std::string why) { throw MethodMistake(c.spec, {"/checkpoint", std::move(why)}); };
  if (!find) refuse("no drafter's folder can be read here");
  DrafterConfig d = find(*c.spec.checkpoint(), kind);
  const auto check_size = [&](const char* what, int drafter, int of_target) {  // a size of 0 is not known
    if (drafter > 0 && drafter != of_target)
      refuse("the drafter's " + std::string(what) + " is " + std::to_string(drafter) + ", the target's " +
             std::to_string(of_target));
  };
  check_size("hidden size", d.target_hidden.value_or(d.network.hidden), target.hidden);
  if (c.target.ranks == 1) check_size("vocabulary", d.network.vocabulary, target.vocabulary);
  // What leaves the target's last layer is available only after the final norm, which is not what a drafter was trained
  // on. The price is the same, so block drafters that read it are priced; decoder/checkpoint/drafter_folder refuses to
  // load them.
  const bool is_eagle = kind == DrafterKind::eagle3 || kind == DrafterKind::p_eagle;
  const int last = target.layers() - (is_eagle ? 1 : 0);
  for (const int layer : d.auxiliary_layers)
    if (layer > last)
      refuse("the drafter reads the state that enters layer " + std::to_string(layer) + ", the target has " +
             std::to_string(target.layers()) + " layers");
  if (c.target.ranks > 1 && kind != DrafterKind::medusa) try {
      d.network = shard(d.network, {.devices = c.target.ranks});
      d.layer = shard(d.layer, {.devices = c.target.ranks});
    } catch (const InputErrors& e) { refuse(e.what()); }
  c.published = std::move(d);
}

}  // namespace

void resolve(Context& c, const FindTransformer& find, const FindDrafter& drafter) {
  if (c.spec.entry().draft_network) find_draft(c, find);
  if (c.spec.checkpoint()) find_published(c, drafter);
}

void refuse_mistakes(const Context& c) {
  const MethodSpec& spec = c.spec;
  const Entry& e = spec.entry();
  const auto refuse = [&](std::optional<Mistake> mistake) {
    if (mistake) throw MethodMistake(spec, *std::move(mistake));
  };
  refuse(spec.mistake());
  refuse(e.parameters.beyond(spec.own<Parameters>(), c.limits()));
  refuse(wrong_tree(c));
  if (e.lengths.fit != nullptr) refuse(e.lengths.fit(spec, c.target.shape));
  if (e.fits != nullptr) refuse(e.fits(c));
}

}  // namespace draftline::methods
