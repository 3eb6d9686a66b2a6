// SPDX-License-Identifier: Apache-2.0
// Every method of the table on the CUDA backend, with the small networks of tests/contracts.
#pragma once
#include "core/errors.h"
#include "decoder/cuda/runtime/backend.h"
#include "tests/catch.h"
#include "tests/contracts/rig.h"

namespace draftline::test {

// Against the emulator there always is a device; against the real library there may be none.
inline bool has_device() {
  static const bool found = [] {
    WeightStore store(DType::fp32);
    RandomWeights source(0);
    try {
      CudaBackend(store, source, {});
    } catch (const DeviceError&) { return false; }
    return true;
  }();
  return found;
}

// A draft model that is the target.
inline const Plan kDraftsOfTheTarget{"draft_model", R"(,"draft":"same","draft_length":2)"};

struct CudaRig {
  RandomWeights random;
  PerturbedWeights source;
  Document method_text;
  Decoder decoder;

  CudaRig(const Plan& plan, const CudaBackend::Options& o, int slots, Network network = Network::llama,
          Sampling sampling = {}, double noise = 0.15, int capacity = 256)
      : random(7, strength),
        source(random, "draft.", noise, 11),
        method_text(Rig::text_of(plan)),
        decoder(
            Decoder::Options{.target = tiny_shape(network),
                             .precision = Precision(o.activations),
                             .slots = slots,
                             .capacity = capacity,
                             .sampling = sampling},
            read_method(method_text), [network](const NamedNetwork&) { return tiny_shape(network); },
            [&](const WeightStore& store) { return std::make_unique<CudaBackend>(store, source, o); }) {}
  CudaBackend& cuda() { return static_cast<CudaBackend&>(*decoder.backend); }
  std::vector<Generated> run(const std::vector<std::vector<int>>& prompts, const Limits& limits) {
    return generate(decoder.generator, prompts, limits);
  }
};

}  // namespace draftline::test
