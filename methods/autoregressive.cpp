// SPDX-License-Identifier: Apache-2.0
// One token per step: the baseline of every comparison.
#include "methods/entries.h"

namespace draftline::methods {

namespace {

class Autoregressive : public Method {
 public:
  Proposal propose(Ops& ops, Session& s) override {
    return {ops.uniform(s.sequences, 1), s.root, ops.constant({-1}, 1, s.sequences)};
  }
};

}  // namespace

Entry autoregressive() {
  return {.name = "autoregressive",
          .title = "one token per step",
          .source = "vaswani2017",
          .locator = "section 3.1",
          .make = [](Context&) { return std::make_unique<Autoregressive>(); }};
}

}  // namespace draftline::methods
