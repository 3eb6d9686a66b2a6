// SPDX-License-Identifier: Apache-2.0
// Stands for the CUDA probe where the CUDA toolkit was not at hand when draftline was built.
#include "core/errors.h"
#include "probes/cuda_probe.h"

namespace draftline {

struct CudaProbe::State {};

CudaProbe::CudaProbe() {
  throw DeviceError("this draftline was built without CUDA: build it where nvcc is, with -DDRAFTLINE_CUDA=ON");
}
CudaProbe::~CudaProbe() = default;
std::string CudaProbe::title() const { return {}; }
std::map<std::string, double> CudaProbe::machine() const { return {}; }
std::vector<std::string> CudaProbe::remarks() const { return {}; }
MeasuredPoint CudaProbe::measure(const MeasuredPoint& p, Seconds) { return p; }

}  // namespace draftline
