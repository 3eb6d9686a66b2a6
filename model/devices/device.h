// SPDX-License-Identifier: Apache-2.0
// A device: the limits of its datasheet and the coefficients fitted to probes (data/devices/*.json).
#pragma once
#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/int_indexed.h"
#include "core/quantity.h"
#include "core/reader.h"
#include "model/devices/cpu_model.h"
#include "model/devices/gpu_model.h"
#include "model/devices/link.h"
#include "model/devices/origin.h"
#include "model/transformers/dtype.h"

namespace draftline {

// A GPU or a CPU. Visiting `model` selects the form that prices its kernels.
struct Device {
  std::string name, title, source;
  std::vector<Origin> datasheet;                            // one for each block of quoted values
  EnumArray<DType, FlopsPerSecond, kDTypes.size()> peak{};  // dense matrix rate by operand format; 0: not supported
  BytesPerSecond bandwidth;                                 // datasheet
  Bytes memory, l2;
  int multiprocessors = 1;
  std::optional<double> power_watts;  // thermal design power, if known
  std::variant<GpuModel, CpuModel> model;
  Links links;                                                           // to other devices of the node; may be empty
  const CpuModel* cpu() const { return std::get_if<CpuModel>(&model); }  // null: a GPU
  CpuModel* cpu() { return std::get_if<CpuModel>(&model); }
  const GpuModel& gpu() const { return std::get<GpuModel>(model); }  // only for a GPU
  GpuModel& gpu() { return std::get<GpuModel>(model); }
  // Whether caches keep data from one step to the next.
  bool caches_outlast_steps() const {
    return std::visit([](const auto& m) { return m.kCachesOutlastSteps; }, model);
  }
  bool has_transferred_fits() const {
    return std::visit([](const auto& m) { return m.has_transferred_fits(); }, model);
  }
  FlopsPerSecond peak_of(DType t) const { return peak[t]; }
};

// The keys of a device file for fits of kernels with narrow operands: "gemm_fp8", "experts_fp8", ...
inline std::string gemm_key(NarrowFormat f) { return "gemm_" + std::string(name(f)); }
inline std::string experts_key(NarrowFormat f) { return "experts_" + std::string(name(f)); }

// The name is the file's. Transferred coefficients are read from the relative's file in the same folder, else in that
// of the devices that are shipped, if it is given.
Device read_device(Reader, const std::filesystem::path& shipped = {});

}  // namespace draftline
