// SPDX-License-Identifier: Apache-2.0
// Makes what must be on the device before the first op: weights, possibly shared by several backends, rotary tables,
// and the random values of filled caches.
#include <algorithm>

#include "core/int_indexed.h"
#include "decoder/cuda/runtime/random_fill.h"
#include "decoder/cuda/runtime/state.h"
#include "decoder/rope.h"

namespace draftline {

using cuda::Buffer;
using cuda::must;

const void* CudaBackend::State::weight(const Weight& w) {
  std::shared_ptr<Buffer>& known = weights[w.id];
  if (known) return known->data();
  const std::string& who = store.name(w);
  std::shared_ptr<Buffer>* shared = options.shared ? &options.shared->all[{who, w.in, w.out, w.dtype}] : nullptr;
  if (shared != nullptr && *shared) return (known = *shared)->data();
  auto made = std::make_shared<Buffer>();
  make_weight(w, *made);
  if (shared != nullptr) {
    stream.wait();  // the next backend uses it on another stream
    *shared = made;
  }
  return (known = made)->data();
}

void CudaBackend::State::make_weight(const Weight& w, Buffer& b) {
  if (w.dtype != options.activations)
    throw InputErrors("weights in " + std::string(name(w.dtype)) +
                      " can't run on CUDA: only those in the activations' " + "format, " +
                      std::string(name(options.activations)));
  const auto n = at(w.in) * at(w.out);
  const std::string& who = store.name(w);
  b = Buffer(n * size_of(w.dtype), ("weight " + who).c_str());
  allocated += b.bytes();
  constexpr std::size_t kLarge = std::size_t{1} << 20;  // from so many values on the device generates them faster
  if (const auto terms = n >= kLarge ? source.formula(who, w.in, w.out) : std::vector<NormalTerm>{}; !terms.empty()) {
    const std::int64_t count = n;
    if (w.dtype == DType::bf16) cuda::fill_normal(terms, reinterpret_cast<cuda::bf16*>(b.data()), count, stream);
    else cuda::fill_normal(terms, reinterpret_cast<float*>(b.data()), count, stream);
    stream.wait();  // kernels read weights before they wait for the kernel before them (few_rows.cu)
    return;
  }
  std::vector<float> values(n);
  source.load(who, w.in, w.out, values);
  if (w.dtype == DType::bf16) {
    std::vector<cuda::bf16> rounded(n);
    std::transform(values.begin(), values.end(), rounded.begin(), [](float v) { return __float2bfloat16(v); });
    copy_in(b.data(), rounded.data(), b.bytes());
  } else {
    copy_in(b.data(), values.data(), b.bytes());
  }
}

const int* CudaBackend::State::whole_numbers(const Weight& w) {
  std::shared_ptr<Buffer>& known = weights[w.id];
  if (!known) known = std::make_shared<Buffer>();
  Buffer& b = *known;
  if (b.data() == nullptr) {
    std::vector<float> values(at(w.in) * at(w.out));
    source.load(store.name(w), w.in, w.out, values);
    const std::vector<int> whole(values.begin(), values.end());
    b = Buffer(whole.size() * sizeof(int), "ids of a vocabulary");
    allocated += b.bytes();
    copy_in(b.data(), whole.data(), b.bytes());
  }
  return reinterpret_cast<const int*>(b.data());
}

const float* CudaBackend::State::frequencies(const Rope& rope) {
  if (rope.columns == 0) return nullptr;
  auto known = std::find_if(rope_tables.begin(), rope_tables.end(), [&](const auto& t) { return t.first == rope; });
  if (known == rope_tables.end()) {
    const auto values = rope_frequencies(rope);
    rope_tables.emplace_back(rope, Buffer(values.size() * sizeof(float), "rotary frequencies"));
    known = std::prev(rope_tables.end());
    copy_in(known->second.data(), values.data(), known->second.bytes());
  }
  return reinterpret_cast<const float*>(known->second.data());
}

// Fills the start of a cache with random numbers and the rest with copies, so that a context that was never computed
// holds numbers of the usual size.
void CudaBackend::State::fill_cache(const Cache& c, Buffer& b) {
  constexpr std::size_t kFirst = std::size_t{1} << 24;  // bytes
  constexpr NormalTerm kNoise{};
  std::size_t filled = std::min(kFirst, b.bytes());
  const std::int64_t count = filled / size_of(c.dtype);
  const NormalTerm terms[] = {kNoise};
  if (c.dtype == DType::bf16) cuda::fill_normal(terms, reinterpret_cast<cuda::bf16*>(b.data()), count, stream);
  else cuda::fill_normal(terms, reinterpret_cast<float*>(b.data()), count, stream);
  for (std::size_t next = 0; filled < b.bytes(); filled += next) {
    next = std::min(filled, b.bytes() - filled);
    must(cudaMemcpyAsync(b.data() + filled, b.data(), next, cudaMemcpyDeviceToDevice, stream), "filling a cache");
  }
}

namespace cuda {

std::shared_ptr<SharedWeights> share_weights() { return std::make_shared<SharedWeights>(); }
void drop_unused(SharedWeights& s) {
  std::erase_if(s.all, [](const auto& known) { return known.second.use_count() <= 1; });
}

}  // namespace cuda

}  // namespace draftline
