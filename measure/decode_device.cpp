// SPDX-License-Identifier: Apache-2.0
#include "measure/decode_device.h"

#ifdef DRAFTLINE_WITH_CUDA
#include "core/text_file.h"
#include "decoder/cuda/runtime/backend.h"
#include "decoder/random_weights.h"
#endif

namespace draftline::measure {

#ifdef DRAFTLINE_WITH_CUDA

std::unique_ptr<Backend> make_cuda_backend(const WeightStore& store, WeightSource& source, const CudaChoice& c) {
  CudaBackend::Options o;
  o.activations = c.activations;
  o.graphs = c.graphs;
  o.seed = c.seed;
  o.shared = std::static_pointer_cast<CudaBackend::SharedWeights>(c.shared);
  o.products = std::static_pointer_cast<cuda::ProductChoices>(c.algorithms);
  o.filled = c.filled;
  return std::make_unique<CudaBackend>(store, source, o);
}

CudaFacts cuda_facts(Backend& backend) {
  const auto& cuda = dynamic_cast<CudaBackend&>(backend);
  const auto f = cuda.facts();
  const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  return {f.device,
          version(f.driver),
          version(f.runtime),
          f.allocated,
          cuda.counts().graph_launches,
          cuda.counts().captures};
}

std::string cuda_device_name() {
  const WeightStore none(DType::bf16);
  RandomWeights source(0);
  return CudaBackend(none, source, {}).facts().device;
}

std::shared_ptr<void> share_cuda_weights() { return CudaBackend::share_weights(); }
void drop_unused_cuda_weights(void* shared) {
  CudaBackend::drop_unused(*static_cast<CudaBackend::SharedWeights*>(shared));
}

std::shared_ptr<void> cuda_algorithms(const std::filesystem::path& file) {
  auto choices = std::make_shared<cuda::ProductChoices>();
  if (std::error_code none; file.empty() || !std::filesystem::exists(file, none)) return choices;
  const Document d = Document::from_file(file);
  *choices = cuda::read_product_choices(d.root());
  d.finish();
  return choices;
}
void keep_cuda_algorithms(const void* algorithms, const std::filesystem::path& file) {
  const auto& choices = *static_cast<const cuda::ProductChoices*>(algorithms);
  if (file.empty() || choices.timed == 0) return;
  AtomicFile out(file);
  cuda::write_product_choices(out.stream(), choices);
  out.commit();
}
int cuda_algorithms_timed(const void* algorithms) {
  return static_cast<const cuda::ProductChoices*>(algorithms)->timed;
}

long cuda_first_sights(Backend& backend) {
  const CudaBackend::Counts& c = dynamic_cast<CudaBackend&>(backend).counts();
  return c.single + c.captures;
}
void clock_cuda_ops(Backend& backend, std::function<void(const Tape&, std::size_t, Seconds)> told) {
  dynamic_cast<CudaBackend&>(backend).on_op = std::move(told);
}
Seconds cuda_event_time(Backend& backend) { return dynamic_cast<CudaBackend&>(backend).event_time(); }

#else

static constexpr const char* kWithout =
    "this program was built without CUDA: build it where nvcc is, with -DDRAFTLINE_CUDA=ON";
std::unique_ptr<Backend> make_cuda_backend(const WeightStore&, WeightSource&, const CudaChoice&) {
  throw DeviceError(kWithout);
}
CudaFacts cuda_facts(Backend&) { return {}; }
std::string cuda_device_name() { throw DeviceError(kWithout); }
std::shared_ptr<void> share_cuda_weights() { return nullptr; }
void drop_unused_cuda_weights(void*) {}
std::shared_ptr<void> cuda_algorithms(const std::filesystem::path&) { return nullptr; }
void keep_cuda_algorithms(const void*, const std::filesystem::path&) {}
int cuda_algorithms_timed(const void*) { return 0; }
long cuda_first_sights(Backend&) { return 0; }
void clock_cuda_ops(Backend&, std::function<void(const Tape&, std::size_t, Seconds)>) {}
Seconds cuda_event_time(Backend&) { return {}; }

#endif

}  // namespace draftline::measure
