// SPDX-License-Identifier: Apache-2.0
#include "methods/drafting/published_drafter.h"

#include "methods/drafting/feature_drafter.h"

namespace draftline::methods {

DrafterConfig drafter_config(const Context& c) {
  if (c.published) return *c.published;
  DrafterConfig d;
  d.kind = *c.spec.entry().checkpoint;
  d.layer = native_drafter_layer(c.target.shape);
  return d;
}

}  // namespace draftline::methods
