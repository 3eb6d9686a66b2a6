// SPDX-License-Identifier: Apache-2.0
// Fits a GPU to kernel times, whoever measured them, and says how well it does on shapes left out of the fit.
#pragma once
#include <optional>
#include <vector>

#include "model/expert_fit.h"
#include "model/kernel_fit.h"
#include "model/measured.h"

namespace draftline {

struct KernelTimes {
  std::vector<GemmPoint> gemms;  // of 16-bit operands
  std::vector<AttentionPoint> attention;
  std::vector<CopyPoint> copies;      // none: the device keeps what it has
  std::vector<LinkPoint> all_reduce;  // likewise
  std::vector<ExpertPoint> experts;   // likewise
  // Of narrow operands in whose format the datasheet has a rate: likewise, format by format.
  std::array<std::vector<GemmPoint>, kNarrowFormats.size()> narrow_gemms;
  std::array<std::vector<ExpertPoint>, kNarrowFormats.size()> narrow_experts;
};

// Of our own probe. A cache whose copies exceed twice the L2 is cold.
KernelTimes kernel_times(const Measured&, const Device& datasheet);

// Sequences of one row and of several are judged apart.
struct AttentionCalibration {
  AttentionFit fit;
  FitQuality of_decode, of_prefill;
};

// A fit to kernels with narrow operands.
template <class Fit>
struct NarrowCalibration {
  NarrowFormat format;
  Fit fit;
  FitQuality quality;
};

struct GpuCalibration {
  GemmFit gemm;
  std::vector<AttentionCalibration> attention;  // of each library and format of the cache; wider formats first
  std::optional<CopyFit> copy;
  std::optional<ExpertFit> experts;
  std::vector<NarrowCalibration<GemmFit>> narrow_gemms;
  std::vector<NarrowCalibration<ExpertFit>> narrow_experts;
  std::vector<LinkPoint> all_reduce;  // by ranks, then message
  FitQuality of_gemm, of_copy, of_all_reduce, of_experts;
};

// `datasheet`: its fits, if any, are not used. InputErrors without GEMMs or attention; the text names `from`.
GpuCalibration calibrate_gpu(const KernelTimes&, const Device& datasheet, const std::string& from);

}  // namespace draftline
