// SPDX-License-Identifier: Apache-2.0
#include "inputs/drafter_device.h"

#include "methods/table.h"

namespace draftline {

std::shared_ptr<const DrafterDevice> read_drafter_device(const Reader& object, const MethodSpec& method,
                                                         Catalogue& catalogue) {
  const auto in = object.find("drafter_device");
  if (!in) return nullptr;
  auto drafter = std::make_shared<DrafterDevice>();
  drafter->device = catalogue.device(in->at("device"));
  drafter->latency = in->at("latency").quantity<Seconds>(0);
  if (const auto engine = in->find("engine")) drafter->engine = catalogue.engine(*engine);
  if (const auto bandwidth = in->find("bandwidth")) drafter->bandwidth = bandwidth->quantity<BytesPerSecond>();
  in->done();
  if (!method.entry().draft_network)
    in->fail(
        std::string(method.name()) +
        " has no separate draft network: its inputs, such as the target's hidden states, are on the target's device");
  else if (method.shards_draft())
    in->fail("a drafter on its own device can't be divided among the target's devices: remove \"shard_draft\"");
  return drafter->device ? drafter : nullptr;
}

}  // namespace draftline
