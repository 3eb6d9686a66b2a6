// SPDX-License-Identifier: Apache-2.0
#include "measure/cuda_decoding.h"

#include "core/int_indexed.h"
#include "decoder/priced/backend.h"
#include "measure/decode_device.h"
#include "measure/dry_step.h"
#include "measure/forced_acceptance.h"

namespace draftline::measure {

namespace {

class CudaMeter : public StepMeter {
 public:
  explicit CudaMeter(Backend& backend) : backend_(backend) {}
  Seconds time(const Stopwatch& since) override { return since.wall(); }
  bool first_of_its_kind() override {
    const long before = std::exchange(firsts_, cuda_first_sights(backend_));
    return firsts_ != before && !clocked_;  // while ops are timed, each is launched by itself, which is no first sight
  }
  void clock_ops(OnOp on_op) override {
    clocked_ = on_op != nullptr;
    clock_cuda_ops(backend_, std::move(on_op));
  }
  Seconds clock_time() override {
    if (!event_) event_ = cuda_event_time(backend_);
    return *event_;
  }
  std::optional<double> clock_mhz() override { return read_clock_(); }

 private:
  Backend& backend_;
  long firsts_ = 0;
  bool clocked_ = false;
  std::optional<Seconds> event_;
  ReadClock read_clock_ = cuda_clock();
};

}  // namespace

CudaDecoding::CudaDecoding(const DecodingSetup& s, double rate, std::shared_ptr<cuda::SharedWeights> shared,
                           std::shared_ptr<cuda::ProductChoices> algorithms)
    : Decoding(s) {
  constexpr DType kFormat = DType::bf16;
  constexpr int kWarmUp = 4;  // steps: op by op, captured, and replayed
  const auto make = [&](int capacity, const Decoder::MakeBackend& backend) {
    return std::make_unique<Decoder>(
        Decoder::Options{.target = target(), .precision = Precision(kFormat), .slots = s.slots, .capacity = capacity},
        s.method, s.networks.find(), backend);
  };
  const auto dry = make(1, [](const WeightStore&) { return std::make_unique<PricedBackend>(); });
  const DryStep step = dry_step(*dry, s.slots, s.context);
  const bool steady = dry->method->static_plan();
  const int tail = steady ? step.rows_behind_text : kTail,
            grown = steady ? (StepClock::kInARow + 1) * (dry->method->depth() + 1) : kGrown,
            capacity = lengths_around(s.context, s.slots).back() + grown + tail + dry->method->depth() + 1;
  auto decoder = make(capacity, [&](const WeightStore& store) {
    return make_cuda_backend(store, weights_,
                             {.activations = kFormat,
                              .seed = 1,
                              .shared = std::move(shared),
                              .algorithms = std::move(algorithms),
                              .filled = true});
  });
  if (steady && !step.relaxed && dry->method->depth() > 0) {
    const auto depth = at(dry->method->depth());
    decoder->generator.force_acceptance(accept_by_rates(std::vector<double>(depth, rate), *decoder->method, 1));
  }
  auto meter = std::make_unique<CudaMeter>(*decoder->backend);
  use(std::move(decoder), std::move(meter), capacity, tail, kWarmUp);
}

}  // namespace draftline::measure
