// SPDX-License-Identifier: Apache-2.0
#include "measure/decode_device.h"

#ifdef DRAFTLINE_WITH_CUDA
#include "core/text_file.h"
#include "decoder/cuda/runtime/backend.h"
#include "decoder/random_weights.h"
#include "probes/cuda/nvml.h"
#endif

namespace draftline::measure {

#ifdef DRAFTLINE_WITH_CUDA

std::unique_ptr<Backend> make_cuda_backend(const WeightStore& store, WeightSource& source, const CudaChoice& c) {
  return std::make_unique<CudaBackend>(store, source,
                                       CudaBackend::Options{.activations = c.activations,
                                                            .graphs = c.graphs,
                                                            .seed = c.seed,
                                                            .shared = c.shared,
                                                            .filled = c.filled,
                                                            .products = c.algorithms});
}

CudaFacts cuda_facts(Backend& backend) {
  const auto& cuda = dynamic_cast<CudaBackend&>(backend);
  const auto f = cuda.facts();
  const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  return {.device = f.device,
          .driver = version(f.driver),
          .runtime = version(f.runtime),
          .allocated = f.allocated,
          .graph_launches = cuda.counts().graph_launches,
          .captures = cuda.counts().captures};
}

std::string cuda_device_name() {
  const WeightStore none(DType::bf16);
  RandomWeights source(0);
  return CudaBackend(none, source, {}).facts().device;
}

std::shared_ptr<cuda::SharedWeights> share_cuda_weights() { return cuda::share_weights(); }
void drop_unused_cuda_weights(cuda::SharedWeights* shared) { cuda::drop_unused(*shared); }

std::shared_ptr<cuda::ProductChoices> cuda_algorithms(const std::filesystem::path& file) {
  auto choices = std::make_shared<cuda::ProductChoices>();
  if (std::error_code none; file.empty() || !std::filesystem::exists(file, none)) return choices;
  const Document d = Document::from_file(file);
  *choices = cuda::read_product_choices(d.root());
  d.finish();
  return choices;
}
void keep_cuda_algorithms(const cuda::ProductChoices* algorithms, const std::filesystem::path& file) {
  if (file.empty() || algorithms->timed == 0) return;
  AtomicFile out(file);
  cuda::write_product_choices(out.stream(), *algorithms);
  out.commit();
}
int cuda_algorithms_timed(const cuda::ProductChoices* algorithms) { return algorithms->timed; }

long cuda_first_sights(Backend& backend) {
  const CudaBackend::Counts& c = dynamic_cast<CudaBackend&>(backend).counts();
  return c.single + c.captures;
}
void clock_cuda_ops(Backend& backend, std::function<void(const Tape&, std::size_t, Seconds)> on_op) {
  dynamic_cast<CudaBackend&>(backend).on_op = std::move(on_op);
}
Seconds cuda_event_time(Backend& backend) { return dynamic_cast<CudaBackend&>(backend).event_time(); }
ReadClock cuda_clock() {
  return [nvml = std::make_shared<Nvml>(bus_id())]() -> std::optional<double> {
    const auto reading = nvml->missing().empty() ? nvml->clocks() : std::nullopt;
    return reading ? std::optional(reading->sm_mhz) : std::nullopt;
  };
}

#else

static constexpr const char* kWithout =
    "this program was built without CUDA: build it where nvcc is, with -DDRAFTLINE_CUDA=ON";
std::unique_ptr<Backend> make_cuda_backend(const WeightStore&, WeightSource&, const CudaChoice&) {
  throw DeviceError(kWithout);
}
CudaFacts cuda_facts(Backend&) { return {}; }
std::string cuda_device_name() { throw DeviceError(kWithout); }
std::shared_ptr<cuda::SharedWeights> share_cuda_weights() { return nullptr; }
void drop_unused_cuda_weights(cuda::SharedWeights*) {}
std::shared_ptr<cuda::ProductChoices> cuda_algorithms(const std::filesystem::path&) { return nullptr; }
void keep_cuda_algorithms(const cuda::ProductChoices*, const std::filesystem::path&) {}
int cuda_algorithms_timed(const cuda::ProductChoices*) { return 0; }
long cuda_first_sights(Backend&) { return 0; }
void clock_cuda_ops(Backend&, std::function<void(const Tape&, std::size_t, Seconds)>) {}
Seconds cuda_event_time(Backend&) { return {}; }
ReadClock cuda_clock() {
  return [] { return std::nullopt; };
}

#endif

}  // namespace draftline::measure
