// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/published_drafter.h"

#include "methods/drafting/feature_drafter.h"

namespace draftline::methods {

namespace {

// How a size differs from the target's; a size of 0 is not known.
void check_size(const Reader& in, const std::string& what, int drafter, int target) {
  if (drafter > 0 && drafter != target)
    in.fail("the drafter's " + what + " is " + std::to_string(drafter) + ", the target's " + std::to_string(target));
}

}  // namespace

std::optional<DrafterConfig> published_drafter(const MethodSpec& spec, const Context& c, DrafterKind kind) {
  const auto in = spec.in().find("checkpoint");
  if (!in) return std::nullopt;
  if (!c.drafter) {
    in->fail("no drafter's folder can be read here");
    return std::nullopt;
  }
  DrafterConfig d = c.drafter(*in, kind);
  if (in->failed()) return std::nullopt;
  check_size(*in, "hidden size", d.target_hidden.value_or(d.network.hidden), c.target.shape.hidden);
  if (c.target.ranks == 1) check_size(*in, "vocabulary", d.network.vocabulary, c.target.shape.vocabulary);
  // What leaves the target's last layer is available only after the final norm, which is not what a drafter was trained
  // on. The price is the same, so block drafters that read it are priced; decoder/checkpoint/drafter_folder refuses to
  // load them.
  const bool is_eagle = kind == DrafterKind::eagle3 || kind == DrafterKind::p_eagle;
  const int last = c.target.shape.layers() - (is_eagle ? 1 : 0);
  for (const int layer : d.auxiliary_layers)
    if (layer > last)
      in->fail("the drafter reads the state that enters layer " + std::to_string(layer) + ", the target has " +
               std::to_string(c.target.shape.layers()) + " layers");
  if (in->failed()) return std::nullopt;
  if (c.target.ranks > 1 && kind != DrafterKind::medusa) try {
      d.network = shard(d.network, {.devices = c.target.ranks});
      d.layer = shard(d.layer, {.devices = c.target.ranks});
    } catch (const InputErrors& e) {
      in->fail(e.what());
      return std::nullopt;
    }
  return d;
}

void refuse_beside_checkpoint(const MethodSpec& spec, std::initializer_list<std::string_view> parameters) {
  if (!spec.in().find("checkpoint")) return;
  for (const std::string_view parameter : parameters)
    if (const auto given = spec.in().find(parameter)) given->fail("the checkpoint says this");
}

DrafterConfig drafter_config(const MethodSpec& spec, const Context& c, DrafterKind kind) {
  if (auto published = published_drafter(spec, c, kind)) return *std::move(published);
  DrafterConfig d;
  d.kind = kind;
  d.layer = native_drafter_layer(c.target.shape);
  return d;
}

}  // namespace draftline::methods
