// SPDX-License-Identifier: Apache-2.0
// The time of a step's ops on a GPU. Only the time of attention varies. Weights that are accessed again before L2
// evicts them are read from L2.
#pragma once
#include <optional>

#include "decoder/priced/pricer.h"

namespace draftline {

class GpuPricer : public Pricer {
 public:
  GpuPricer(const Device&, const Engine&, const StepOutline&);
  VaryingOp varying(const StepOutline::Op&) override;
  Seconds time(const StepOutline::Op&) override;

 private:
  struct KindTime {  // the last time of a kind of op
    std::optional<double> l2_hit_share{};
    Seconds time{};
  };
  struct GemmTime {
    Gemm kernel;
    double l2_hit_share;
    Seconds time;
  };
  struct TimeOf;  // of a kernel
  Seconds time(const Gemm&, const OpCost&, double l2_hit_share);
  Seconds product(const Gemm&, double l2_hit_share) const;  // without what the engine adds around it
  double l2_hit_share(const StepOutline::Op&);              // of an op's weights
  ExpertMlp in_engine(ExpertMlp) const;  // with the padding of rows and the router's format of the engine
  Seconds overlapped(Seconds launch, const OpCost&) const;

  std::vector<KindTime> times_;
  std::vector<GemmTime> gemms_;
  std::vector<std::optional<Bytes>> last_use_;  // of each weight
  Bytes moved_;
  double launch_overlap_;
};

}  // namespace draftline
