// SPDX-License-Identifier: Apache-2.0
// Fits a GPU to kernel times from any source, and reports the errors on held-out shapes.
#pragma once
#include <optional>
#include <vector>

#include "model/calibration/delta_net_fit.h"
#include "model/calibration/expert_fit.h"
#include "model/calibration/kernel_fit.h"
#include "model/calibration/measured.h"
#include "model/calibration/residual_streams_fit.h"
#include "model/calibration/state_space_fit.h"

namespace draftline {

struct KernelTimes {
  // If there are no times of a kind, the device keeps the fit that it has.
  std::vector<GemmPoint> gemms;  // of 16-bit operands
  std::vector<AttentionPoint> attention;
  std::vector<CopyPoint> copies;
  std::vector<LinkTable> links;
  std::vector<ExpertPoint> experts;  // of 16-bit operands
  std::vector<DeltaNetPoint> delta_nets;
  std::vector<StateSpacePoint> state_spaces;
  std::vector<StreamMixPoint> residual_streams;
  // Times of narrow operands, by format; the datasheet has a rate in each of these formats.
  std::array<std::vector<GemmPoint>, kNarrowFormats.size()> narrow_gemms;
  std::array<std::vector<ExpertPoint>, kNarrowFormats.size()> narrow_experts;
};

// The kernel times in a file of our own probe. A cache whose copies exceed twice the L2 is cold.
KernelTimes kernel_times(const Measured&, const Device& datasheet);

// Sequences of one row and of several are judged apart, and within them by regime: caches that fit twice into L2 and
// those that don't; prompts, chunks of them, and what is verified over a context.
struct AttentionCalibration {
  AttentionFit fit;
  FitQuality of_decode, of_prefill;
  std::vector<FitQuality> regimes;
};

// A fit to kernels with narrow operands.
template <class Fit>
struct NarrowCalibration {
  NarrowFormat format;
  Fit fit;
  FitQuality quality;
};

// A table that is interpolated, not fitted. It is judged by points that lie between two others of it.
struct LinkCalibration {
  LinkTable table;
  FitQuality quality;
};

struct GpuCalibration {
  std::optional<GemmFit> gemm;
  std::vector<AttentionCalibration> attention;  // of each library and format of the cache; wider formats first
  std::optional<CopyFit> copy;
  std::optional<ExpertFit> experts;
  std::optional<DeltaNetFit> delta_net;
  std::optional<StateSpaceFit> state_space;
  std::optional<ResidualStreamsFit> residual_streams;
  std::vector<NarrowCalibration<GemmFit>> narrow_gemms;
  std::vector<NarrowCalibration<ExpertFit>> narrow_experts;
  std::vector<LinkCalibration> links;
  FitQuality of_gemm, of_copy, of_experts, of_delta_net, of_state_space, of_residual_streams;
};

// `datasheet`: its fits, if any, are not used. InputErrors without any times; the text names `from`.
GpuCalibration calibrate_gpu(const KernelTimes&, const Device& datasheet, const std::string& from);

}  // namespace draftline
