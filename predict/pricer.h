// SPDX-License-Identifier: Apache-2.0
// Prices recorded methods for devices and engines.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "predict/priced_method.h"
#include "predict/recordings.h"

namespace draftline {

// A recorded method is priced once for a device and an engine. Each thread needs its own pricer.
class Pricer {
 public:
  explicit Pricer(Recordings& recordings) : recordings_(recordings) {}
  Recordings& recordings() const { return recordings_; }

  std::shared_ptr<PricedMethod> of(const Setup&, const MethodChoice&);

  // The price of a step of the setup's batch, if every sequence has drafts.
  StepPrice step_price(const Setup& s, const MethodChoice& m) { return of(s, m)->step_price(s.replica_sequences()); }

  // A device with the memory bandwidth that the engine's kernels reach.
  std::shared_ptr<const Device> as_served(const std::shared_ptr<const Device>&, const Engine&);
  // The engine as it runs the setup's network.
  std::shared_ptr<const Engine> as_run(const Setup&);

 private:
  // Pointers identify the content of their objects, because an entry keeps the objects alive and they do not change.
  using Key = std::tuple<std::shared_ptr<RecordedMethod>, std::shared_ptr<const Device>, std::shared_ptr<const Engine>>;
  Recordings& recordings_;
  std::map<Key, std::shared_ptr<PricedMethod>, std::less<>> methods_;
  using Served = std::tuple<std::shared_ptr<const Device>, double, std::string>;  // bandwidth share, kernels
  std::map<Served, std::shared_ptr<const Device>> served_;
  std::map<std::pair<std::shared_ptr<const Engine>, Bytes>, std::shared_ptr<const Engine>> fused_;
};

}  // namespace draftline
