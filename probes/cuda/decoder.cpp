// SPDX-License-Identifier: Apache-2.0
#include "probes/cuda/decoder.h"

#include <chrono>

#include "decoder/cuda/runtime/backend.h"
#include "decoder/random_weights.h"
#include "model/devices/fit_quality.h"
#include "probes/tiny_decoder.h"

namespace draftline {

namespace {

constexpr int kColumns = 64, kContext = 16, kAtOnce = 4;
constexpr DType kFormat = DType::bf16;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

// Forwards every call to the device and adds up the host's time in launches and in reads.
class ClockedBackend : public Backend {
 public:
  explicit ClockedBackend(Backend& device) : device_(device) {}
  void make_persistent(const Tensor& t, std::span<const int> initial) override { device_.make_persistent(t, initial); }
  void make_cache(const Cache& c, int kv_slots, int capacity) override { device_.make_cache(c, kv_slots, capacity); }
  void make_state_cache(const StateCache& c, int kv_slots) override { device_.make_state_cache(c, kv_slots); }
  void stage(std::span<const int> data) override { device_.stage(data); }
  void emitted(const Op& op, const Tape& tape) override { device_.emitted(op, tape); }
  void finish(const Tape& tape) override {
    const double start = now();
    device_.finish(tape);
    issue += now() - start;
  }
  std::vector<int> read(const Tensor& buffer) override {
    const double start = now();
    auto values = device_.read(buffer);
    waited += now() - start;
    return values;
  }
  DeviceSeconds device_seconds() override { return device_.device_seconds(); }
  double issue = 0, waited = 0;

 private:
  Backend& device_;
};

}  // namespace

struct DecoderProbe::Decoder {
  int layers, sequences, context;
  bool graphs;
  RandomWeights weights{1};
  WeightStore store{kFormat};
  CudaBackend device;
  ClockedBackend clocked{device};
  Ops ops;
  Transformer target;
  OneToken method;
  Generator generator;

  Decoder(const TransformerShape& shape, int s, int at, bool g, std::shared_ptr<cuda::ProductChoices> products)
      : layers(shape.layers()),
        sequences(s),
        context(at),
        graphs(g),
        device(store, weights, {.activations = kFormat, .graphs = g, .filled = true, .products = std::move(products)}),
        ops(clocked, kFormat, s),
        target(shape, store, ops, lengths_around(at, s).back() + 4 * kAtOnce),
        generator(ops, target, method) {
    constexpr int kFirst = 3, kPrompt = 2;  // after so many steps every tape is a graph
    join_all(generator, s, kPrompt);
    generator.assume_length(context);
    for (int i = 0; i < kFirst; ++i) generator.step();
  }

  struct Times {  // seconds of a step
    double wall, issue, waited, between_events;
    // The events around a graph also time the call that launches it, as the first is recorded before the call.
    double kernels() const { return std::max(between_events - issue, 0.0); }
  };
  Times steps() {
    generator.assume_length(context);
    generator.step();  // is not counted, as the lengths have just been changed
    clocked.issue = clocked.waited = 0;
    const double device_before = device.device_seconds().all, start = now();
    for (int i = 0; i < kAtOnce; ++i) generator.step();
    const double wall = now() - start;
    return {wall / kAtOnce, clocked.issue / kAtOnce, clocked.waited / kAtOnce,
            (device.device_seconds().all - device_before) / kAtOnce};
  }
};

DecoderProbe::DecoderProbe(CudaTimer& timer) : timer_(timer) {}
DecoderProbe::~DecoderProbe() = default;

DecoderProbe::Decoder& DecoderProbe::decoder(int layers, int sequences, bool graphs) {
  if (!last_ || last_->layers != layers || last_->sequences != sequences || last_->graphs != graphs) {
    last_.reset();  // frees its memory before the next allocates
    last_ = std::make_unique<Decoder>(tiny_shape(layers, kColumns), sequences, kContext, graphs, products_);
  }
  return *last_;
}

double DecoderProbe::kernels(int layers, int sequences) {
  constexpr int kSamples = 9;
  Decoder& d = decoder(layers, sequences, true);
  std::vector<double> all;
  for (int i = 0; i < kSamples; ++i) all.push_back(d.steps().kernels());
  return quantile(all, 0.5);
}

void DecoderProbe::measure(MeasuredPoint& p, Seconds time_budget) {
  constexpr double kLeast = 1e-9;
  constexpr int kMostSequences = 4096, kMostLayers = 1000;
  const int layers = p.at("layers"), sequences = p.at("sequences");
  const bool graphs = p.at("graphs", 1) != 0;
  if (sequences > kMostSequences || layers > kMostLayers || p.at("ops") != ops_of_plain_step(layers)) {
    p.skipped = "its step has another number of ops";
    return;
  }
  const bool exposed = p.op == "step_exposed";
  const double alone = exposed && !graphs ? kernels(layers, sequences) : 0;
  Decoder& d = decoder(layers, sequences, graphs);
  timer_.take_samples(p, time_budget, [&] {
    const Decoder::Times t = d.steps();
    const double took = p.op == "step_host"    ? t.wall - t.issue - t.waited
                        : p.op == "step_issue" ? t.issue
                        : graphs               ? t.wall - t.kernels()
                                               : t.wall - alone;
    return std::max(took, kLeast);
  });
}

// A layer is the difference of two networks, so that nothing before or behind the layers counts.
void DecoderProbe::measure_layer(MeasuredPoint& p, Seconds time_budget) {
  constexpr int kFew = 2, kMore = 6;
  constexpr double kLeast = 1e-9;
  constexpr int kWords = 512;
  const int head_dim = p.at("head_dim");
  const AttentionHeads heads{p.at("heads"), p.at("kv_heads"), head_dim, head_dim};
  const LayerShape layer = llama_layer(p.at("hidden"), heads, p.at("intermediate"));
  const int sequences = p.at("sequences"), context = p.at("context");
  const double longest = lengths_around(context, sequences).back() + 4.0 * kAtOnce,
               kv = 2.0 * sequences * longest * cached_elements(layer), weights = 2.0 * layer_parameters(layer);
  last_.reset();
  if (!fits((kFew + kMore) * (kv + weights), p)) return;
  Decoder more(uniform_network("more", kMore, layer, kWords), sequences, context, true, products_);
  Decoder few(uniform_network("few", kFew, layer, kWords), sequences, context, true, products_);
  timer_.take_samples(p, time_budget, [&] {
    const double short_time = few.steps().kernels(), long_time = more.steps().kernels();
    return std::max((long_time - short_time) / (kMore - kFew), kLeast);
  });
}

}  // namespace draftline
