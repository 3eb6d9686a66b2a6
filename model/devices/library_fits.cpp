// SPDX-License-Identifier: Apache-2.0
#include "model/devices/library_fits.h"

#include <algorithm>

namespace draftline {
namespace {

// Those of the library; empty ones if it was not measured on the device.
LibraryFits fits_of(const GpuModel& gpu, std::string_view library) {
  const auto found = std::ranges::find(gpu.libraries, library, &LibraryFits::library);
  return found == gpu.libraries.end() ? LibraryFits{} : *found;
}

template <class Fit>
void replace(std::optional<Fit>& fit, const std::optional<Fit>& by) {
  if (by) fit = by;
}

// A library's kernels of fp8 take one static scale too, unless it has other kernels for it. Its kernels that unpack
// weights are its own.
template <class Fit>
void replace(NarrowFits<Fit>& fits, const NarrowFits<Fit>& by) {
  using enum NarrowFormat;
  if (by[fp8] && !by[fp8_static]) fits[fp8_static].reset();
  fits[int4_wo].reset();
  for (const NarrowFormat format : kNarrowFormats) replace(fits[format], by[format]);
}

}  // namespace

bool has_library_fits(const Device& d, std::string_view library) {
  const auto* gpu = std::get_if<GpuModel>(&d.model);
  if (gpu == nullptr || library.empty()) return false;
  return gpu->narrow_experts[NarrowFormat::int4_wo] ||
         std::ranges::find(gpu->libraries, library, &LibraryFits::library) != gpu->libraries.end();
}

Device with_library_fits(Device d, std::string_view library) {
  if (!has_library_fits(d, library)) return d;
  GpuModel& gpu = d.gpu();
  const LibraryFits fits = fits_of(gpu, library);
  gpu.libraries.clear();
  if (fits.gemm) gpu.gemm = *fits.gemm;
  replace(gpu.experts, fits.experts);
  replace(gpu.narrow_gemm, fits.narrow_gemm);
  replace(gpu.narrow_experts, fits.narrow_experts);
  replace(gpu.state_space, fits.state_space);
  return d;
}

bool has_expert_fits(const Device& d, std::string_view library) {
  const auto* gpu = std::get_if<GpuModel>(&d.model);
  if (gpu == nullptr || library.empty()) return false;
  const LibraryFits fits = fits_of(*gpu, library);
  return fits.experts ||
         std::ranges::any_of(kNarrowFormats, [&](NarrowFormat f) { return fits.narrow_experts[f].has_value(); });
}

Device with_expert_fits(Device d, std::string_view library) {
  if (!has_expert_fits(d, library)) return d;
  GpuModel& gpu = d.gpu();
  const LibraryFits fits = fits_of(gpu, library);
  replace(gpu.experts, fits.experts);
  for (const NarrowFormat format : kNarrowFormats) replace(gpu.narrow_experts[format], fits.narrow_experts[format]);
  return d;
}

}  // namespace draftline
