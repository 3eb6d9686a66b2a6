// SPDX-License-Identifier: Apache-2.0
#include "measure/validation_device.h"

#include "measure/cpu_decoding.h"
#include "measure/cuda_decoding.h"
#include "measure/decode_device.h"
#include "probes/machine.h"

namespace draftline::measure {

namespace {

// The scale of what late layers add in a live server on a CPU, where some drafts should be accepted and others
// rejected.
constexpr float kLateLayers = 0.35F;

// On a CPU weights take long to make, so a decoder is used for all batches and contexts.
class CpuDevice : public ValidationDevice {
 public:
  CpuDevice(const Networks& networks, int slots, int longest, CpuReferences& references)
      : networks_(networks), slots_(slots), longest_(longest), references_(references) {}
  std::string title() const override { return this_machine().cpu; }
  DType format() const override { return DType::fp32; }
  Pair decodings(const GridCell& c) override {
    return {known(plain_, c.transformer, MethodSpec()), known(method_, c.transformer, c.method)};
  }
  std::unique_ptr<Decoding> server(const std::string& network, const MethodSpec& method, int slots,
                                   int longest) override {
    forget();
    return std::make_unique<CpuDecoding>(DecodingSetup{networks_, network, method, slots, longest}, references_.clock,
                                         kLateLayers);
  }
  std::optional<MemoryTimes> memory_times() override { return references_.memory.read(); }
  void forget() override {
    plain_ = {};
    method_ = {};
  }

 private:
  struct Known {
    std::string network;
    MethodSpec method;
    std::unique_ptr<Decoding> decoding;
  };
  Decoding& known(Known& k, const std::string& network, const MethodSpec& method) {
    if (k.decoding && k.network == network && k.method == method) return *k.decoding;
    k = {};
    k = {network, method,
         std::make_unique<CpuDecoding>(DecodingSetup{networks_, network, method, slots_, longest_}, references_.clock)};
    return *k.decoding;
  }
  const Networks& networks_;
  int slots_, longest_;
  CpuReferences& references_;
  Known plain_, method_;
};

// On a GPU memory is short: caches are made for each cell, the target's weights are shared, a drafter's are freed with
// it.
class GpuDevice : public ValidationDevice {
 public:
  GpuDevice(const Networks& networks, double rate, std::filesystem::path algorithms)
      : networks_(networks),
        rate_(rate),
        title_(cuda_device_name()),
        kept_(std::move(algorithms)),
        algorithms_(cuda_algorithms(kept_)) {}
  std::string title() const override { return title_; }
  DType format() const override { return DType::bf16; }
  Pair decodings(const GridCell& c) override {
    method_.reset();
    if (!(now_.method == c.method)) drop_unused_cuda_weights(weights_.get());  // plain_ keeps the target's
    if (!plain_ || now_.transformer != c.transformer || now_.batch_size != c.batch_size || now_.context != c.context) {
      plain_.reset();
      if (now_.transformer != c.transformer) drop_unused_cuda_weights(weights_.get());
      plain_ = make(c, MethodSpec());
    }
    now_ = c;
    method_ = make(c, c.method);
    return {*plain_, *method_};
  }
  std::unique_ptr<Decoding> server(const std::string& network, const MethodSpec& method, int slots,
                                   int longest) override {
    forget();
    drop_unused_cuda_weights(weights_.get());
    return make({networks_, network, method, slots, longest});
  }
  void keep() override { keep_cuda_algorithms(algorithms_.get(), kept_); }
  void forget() override {
    method_.reset();
    plain_.reset();
  }

 private:
  std::unique_ptr<Decoding> make(const DecodingSetup& setup) const {
    return std::make_unique<CudaDecoding>(setup, rate_, weights_, algorithms_);
  }
  std::unique_ptr<Decoding> make(const GridCell& c, const MethodSpec& method) const {
    return make({networks_, c.transformer, method, c.batch_size, c.context});
  }
  const Networks& networks_;
  double rate_;
  std::string title_;
  std::filesystem::path kept_;
  std::shared_ptr<cuda::SharedWeights> weights_ = share_cuda_weights();
  std::shared_ptr<cuda::ProductChoices> algorithms_;
  std::unique_ptr<Decoding> plain_, method_;
  GridCell now_{.transformer = "", .method = {}, .batch_size = 0, .context = 0};
};

}  // namespace

std::unique_ptr<ValidationDevice> this_cpu(const Networks& networks, int slots, int longest_context,
                                           CpuReferences& references) {
  return std::make_unique<CpuDevice>(networks, slots, longest_context, references);
}
std::unique_ptr<ValidationDevice> this_gpu(const Networks& networks, double rate,
                                           const std::filesystem::path& algorithms) {
  return std::make_unique<GpuDevice>(networks, rate, algorithms);
}

}  // namespace draftline::measure
