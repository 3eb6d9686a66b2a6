// SPDX-License-Identifier: Apache-2.0
#include "predict/pricer.h"

#include "model/devices/library_fits.h"
#include "predict/step_modes.h"

namespace draftline {

std::shared_ptr<PricedMethod> Pricer::of(const Setup& s, const MethodChoice& m) {
  constexpr std::size_t kMost = 32;  // keeps memory flat over huge sweeps
  const std::shared_ptr<RecordedMethod>& recorded = recordings_.of(s, m);
  const auto known = methods_.find(std::tie(recorded, s.device, s.engine));
  if (known != methods_.end()) return known->second;
  if (methods_.size() >= kMost) methods_.clear();
  const std::shared_ptr<const Engine> target = as_run(s);
  std::optional<Stack> drafters;
  if (const DrafterDevice* own = recorded->drafter_device.get()) {
    const auto& engine = own->engine ? own->engine : target;
    drafters = Stack{as_served(own->device, *engine), engine};
  }
  auto fresh = std::make_shared<PricedMethod>(recorded, Stack{as_served(s.device, *target), target},
                                              std::move(drafters), mode_facts(s, m.spec));
  return methods_[{recorded, s.device, s.engine}] = std::move(fresh);
}

std::shared_ptr<const Device> Pricer::as_served(const std::shared_ptr<const Device>& d, const Engine& e) {
  if (e.bandwidth_share == 1 && !has_library_fits(*d, e.kernels)) return d;
  auto& served = served_[{d, e.bandwidth_share, e.kernels}];
  if (!served) {
    auto other = std::make_shared<Device>(with_library_fits(*d, e.kernels));
    other->bandwidth = e.bandwidth_share * d->bandwidth;
    served = std::move(other);
  }
  return served;
}

std::shared_ptr<const Engine> Pricer::as_run(const Setup& s) {
  const auto row = row_of_fused_all_reduce(s);
  if (!row) return s.engine;
  auto& fused = fused_[{s.engine, *row}];
  if (!fused) fused = std::make_shared<const Engine>(with_fused_all_reduce(*s.engine, *row));
  return fused;
}

}  // namespace draftline
