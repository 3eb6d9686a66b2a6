// SPDX-License-Identifier: Apache-2.0
// The drafter's own device (docs/explanation/prediction.md, "A drafter on a device of its own"), its engine, and the
// time of messages to the target's device.
#pragma once
#include <memory>
#include <optional>

#include "inputs/catalogue.h"
#include "methods/method_spec.h"

namespace draftline {

struct DrafterDevice {
  std::shared_ptr<const Device> device;
  std::shared_ptr<const Engine> engine;  // null: the target's
  Seconds latency;                       // of an empty message between the hosts of the two engines
  std::optional<BytesPerSecond> bandwidth;

  Seconds message(Bytes b) const { return bandwidth ? latency + b / *bandwidth : latency; }
};

// The "drafter_device" of a method's object: {"device": .., "latency": .., "engine": .., "bandwidth": ..}; null if the
// key is absent or after a mistake, which is noted at the key.
std::shared_ptr<const DrafterDevice> read_drafter_device(const Reader& object, const MethodSpec&, Catalogue&);

}  // namespace draftline
