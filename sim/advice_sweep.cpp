// SPDX-License-Identifier: Apache-2.0
#include "sim/advice_sweep.h"

namespace draftline {

static Scenario read(Document document, const Data& data) {
  Catalogue catalogue(data);
  return with_mean_lengths(read_scenario(std::move(document), catalogue));
}

AdviceSweep::AdviceSweep(Document scenario, const Data& data, bool with_load)
    : sweep_(read(std::move(scenario), data), data) {
  sweep_.validate();
  const Scenario& s = sweep_.scenario();
  if (with_load) {
    serving_ = std::make_unique<ServingSweep>(with_arrivals(s), data);
    serving_->validate();
    load_ = std::make_unique<LoadAdvisor>(*serving_);
  }
  batches_ = s.batch_sizes;
  if (batches_.size() == 1) batches_ = {1, 2, 4, 8, 16, 32, 64, 128, 256};
  // advise() reports all batch sizes and prompt lengths, so that one point stands for all of them.
  for (std::size_t i = 0; i < s.points(); ++i) {
    const Point p = point_at(s, i);
    if (p.batch == 0 && p.prompt == 0 && p.serving == 0 && !s.methods[p.method].spec.is_plain()) points_.push_back(i);
  }
  if (points_.empty()) throw InputErrors(s.document.root().place() + ": contains no speculative method");
}

Advice AdviceSweep::at(std::size_t i, std::uint64_t seed) {
  return advise(sweep_, points_[i], batches_, load_.get(), seed);
}

}  // namespace draftline
