// SPDX-License-Identifier: Apache-2.0
// Tables of the coefficients of every fit: key in a device file, unit, range, and start and bounds of fitting. Reading,
// writing and fitting use only these tables. The structs document the meanings (model/devices/gpu_model.h,
// model/devices/cpu_model.h).
#pragma once
#include <limits>
#include <span>

#include "core/reader.h"
#include "model/devices/cpu_model.h"
#include "model/devices/gpu_model.h"

namespace draftline {

enum class FitUnit { seconds, seconds_per_byte, ratio };

template <class Fit>
struct FitField {
  const char* name;
  FitUnit unit;
  double least, most;              // range of a device file's value, in base units
  double start, low, high;         // of fitting: start (the prior's centre) and bounds
  double& (*of)(Fit&);             // the coefficient, in base units
  const char* old_name = nullptr;  // former key, which is still read
  bool optional = false;           // older files lack it; it keeps its default

  double value(const Fit& f) const { return of(const_cast<Fit&>(f)); }
};

std::span<const FitField<GemmFit>> fields_of(const GemmFit&);
std::span<const FitField<DecodeAttentionFit>> fields_of(const DecodeAttentionFit&);
std::span<const FitField<PrefillAttentionFit>> fields_of(const PrefillAttentionFit&);  // without its layout
std::span<const FitField<CopyFit>> fields_of(const CopyFit&);                          // without those of each op
std::span<const FitField<ElementwiseFit>> fields_of(const ElementwiseFit&);
std::span<const FitField<ExpertFit>> fields_of(const ExpertFit&);
std::span<const FitField<StreamFit>> fields_of(const StreamFit&);
std::span<const FitField<ChunkFit>> fields_of(const ChunkFit&);
std::span<const FitField<CpuGemmFit>> fields_of(const CpuGemmFit&);
std::span<const FitField<CpuAttentionFit>> fields_of(const CpuAttentionFit&);

// Reads every coefficient of a fit from an object of a device file. Mistakes are noted at their places.
template <class Fit>
Fit read_fields(const Reader& in) {
  Fit fit;
  for (const FitField<Fit>& field : fields_of(fit)) {
    if (field.optional && !in.has(field.name)) continue;
    const Reader value = field.old_name == nullptr ? in.at(field.name) : in.at(field.name, field.old_name);
    field.of(fit) =
        field.unit == FitUnit::ratio ? value.number(field.least, field.most) : value.quantity<Seconds>(0.0).value;
  }
  return fit;
}

}  // namespace draftline
