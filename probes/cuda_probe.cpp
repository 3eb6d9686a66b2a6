// SPDX-License-Identifier: Apache-2.0
#include "probes/cuda_probe.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "probes/cuda/all_reduce.h"
#include "probes/cuda/decoder.h"
#include "probes/cuda/ops.h"

namespace draftline {

namespace {

struct OpProbe {
  std::string_view op;
  void (*probe)(CudaTimer&, MeasuredPoint&, Seconds time_budget);
};
constexpr std::array kProbes{OpProbe{"gemm", probe_gemm},
                             OpProbe{"attention", probe_attention},
                             OpProbe{"latent_attention", probe_latent_attention},
                             OpProbe{"experts", probe_experts},
                             OpProbe{"read", probe_memory},
                             OpProbe{"copy", probe_memory},
                             OpProbe{"add", probe_elementwise},
                             OpProbe{"silu_mul", probe_elementwise},
                             OpProbe{"rms_norm", probe_elementwise},
                             OpProbe{"rope_append", probe_rope_append},
                             OpProbe{"argmax", probe_argmax},
                             OpProbe{"top_k", probe_top_k},
                             OpProbe{"sample", probe_sample},
                             OpProbe{"upload", probe_transfer},
                             OpProbe{"read_back", probe_transfer},
                             OpProbe{"launch", probe_launches},
                             OpProbe{"graph", probe_launches},
                             OpProbe{"synchronise", probe_launches},
                             OpProbe{"kernel_launched", probe_credit},
                             OpProbe{"kernel_replayed", probe_credit}};

}  // namespace

struct CudaProbe::State {
  CudaTimer timer;
  AllReduceProbe link{timer};
  DecoderProbe decoder{timer};
};

CudaProbe::CudaProbe() : state_(std::make_unique<State>()) {}
CudaProbe::~CudaProbe() = default;

std::string CudaProbe::title() const { return state_->timer.facts.name; }

std::map<std::string, double> CudaProbe::machine() const {
  const cuda::DeviceFacts& f = state_->timer.facts;
  const auto megahertz = [](cudaDeviceAttr which) {  // the most there is; what it was shows in the watch's figures
    int kilohertz = 0;
    must(cudaDeviceGetAttribute(&kilohertz, which, 0), "asking for a clock");
    return kilohertz / 1000.0;
  };
  std::map<std::string, double> all = state_->timer.watch.facts();
  all.insert({{"clock_mhz", megahertz(cudaDevAttrClockRate)},
              {"memory_clock_mhz", megahertz(cudaDevAttrMemoryClockRate)},
              {"l2_cache", to_double(f.l2)},
              {"memory", to_double(f.memory)},
              {"multiprocessors", to_double(f.multiprocessors)},
              {"compute_capability", f.major + 0.1 * f.minor},
              {"devices", to_double(state_->timer.devices)},
              {"driver", to_double(f.driver)},
              {"runtime", to_double(f.runtime)}});
  return all;
}

std::vector<std::string> CudaProbe::remarks() const { return state_->timer.watch.remarks(); }

MeasuredPoint CudaProbe::measure(const MeasuredPoint& asked, Seconds time_budget) {
  MeasuredPoint p = asked;
  p.skipped.clear();
  const auto known = std::ranges::find_if(kProbes, [&](const OpProbe& o) { return o.op == p.op; });
  if (known != kProbes.end()) known->probe(state_->timer, p, time_budget);
  else if (p.op == "all_reduce") state_->link.measure(p, time_budget);
  else if (p.op == "layer") state_->decoder.measure_layer(p, time_budget);
  else if (p.op.starts_with("step_")) state_->decoder.measure(p, time_budget);
  else p.skipped = "no such op on CUDA";
  return p;
}

}  // namespace draftline
