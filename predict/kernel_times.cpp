// SPDX-License-Identifier: Apache-2.0
#include "predict/kernel_times.h"

#include <algorithm>

#include "core/int_indexed.h"
#include "core/quantity_text.h"
#include "decoder/priced/engine_time.h"
#include "methods/table.h"

namespace draftline {

namespace {

std::string joined(std::initializer_list<int> sizes) {
  std::string text;
  for (const int n : sizes) text += (text.empty() ? "" : " x ") + std::to_string(n);
  return text;
}

struct ShapeText {
  std::string operator()(const Gemm& k) const {
    return joined({k.rows, k.in, k.out}) + " " + std::string(name(k.weights));
  }
  std::string operator()(const Attention& k) const {
    return std::to_string(k.rows) + " rows of " + std::to_string(k.sequences) + " sequences, " +
           std::to_string(k.heads) + " heads on " + std::to_string(k.kv_heads) + " of " + std::to_string(k.head_dim);
  }
  std::string operator()(const Copy& k) const { return to_text(k.read) + " read, " + to_text(k.written) + " written"; }
  std::string operator()(const CollectiveCall& k) const {
    return to_text(k.message) + " on " + std::to_string(k.ranks);
  }
  std::string operator()(const CausalConvolution& k) const {
    return std::to_string(k.rows) + " rows of " + std::to_string(k.columns);
  }
  std::string operator()(const DeltaRule& k) const {
    return std::to_string(k.rows) + " rows of " + std::to_string(k.sequences) + " sequences, " +
           std::to_string(k.value_heads) + " states of " + joined({k.key_dim, k.value_dim});
  }
  std::string operator()(const SelectiveScan& k) const {
    return std::to_string(k.rows) + " rows of " + std::to_string(k.sequences) + " sequences, " +
           std::to_string(k.heads) + " states of " + joined({k.state_dim, k.head_dim});
  }
  std::string operator()(const StreamMix& k) const {
    return std::to_string(k.rows) + " rows of " + joined({k.streams, k.hidden}) + " streams";
  }
  std::string operator()(const ExpertMlp& k) const {
    return joined({k.rows, k.hidden, k.intermediate}) + " " + std::string(name(k.weights)) + ", " +
           std::to_string(k.per_token) + " of " + std::to_string(k.experts) + " experts";
  }
};

}  // namespace

std::vector<KernelTime> kernel_times(Pricer& pricer, const Setup& s, const MethodChoice& m) {
  const Speculation speculation = pricer.recordings().method(s, m).speculation();
  const auto segments = pricer.recordings().recorded_step(s, m);
  const int sequences = s.replica_sequences();
  const std::vector<int> lengths(at(sequences), s.prompt_tokens + (s.output_tokens - 2) / 2);
  const StepOutline outline(segments);
  const std::vector<OpPrice> targets =
      op_prices(segments, lengths, *pricer.as_served(s.device, *s.engine), *s.engine, speculation);
  const LayerTime of_layer(*s.engine, outline);
  const DrafterDevice* own = m.drafter_device.get();
  const Engine& drafters_engine = own != nullptr && own->engine ? *own->engine : *s.engine;
  const LayerTime of_draft_layer(drafters_engine, outline);
  std::vector<OpPrice> drafters;
  if (own != nullptr)
    drafters = op_prices(segments, lengths, *pricer.as_served(own->device, drafters_engine), drafters_engine,
                         Speculation::off);
  std::vector<KernelTime> all;
  std::size_t next = 0;
  for (std::size_t i = 0; i < segments.size(); ++i)
    for (const StepOutline::Op& op : outline.segments[i].ops()) {
      const StepOutline::Kind& kind = outline.kind(op);
      const Kernel& kernel = kind.kernel;
      const bool drafts = own != nullptr && targets[next].phase == Phase::draft;
      const OpPrice& price = (drafts ? drafters : targets)[next];
      ++next;
      const std::string shape = std::visit(ShapeText{}, kernel);
      auto same = std::find_if(all.begin(), all.end(), [&](const KernelTime& k) {
        return k.phase == price.phase && k.op == price.key && k.shape == shape;
      });
      if (same == all.end()) same = all.insert(all.end(), {price.phase, std::string(price.key), shape, 0, {}, {}});
      ++same->count;
      const bool attends = std::holds_alternative<Attention>(kernel);
      same->work += work(kernel, attends ? span_of(segments[i], op.pass, lengths, kind.window) : Span{});
      same->time += price.time + (drafts ? of_draft_layer : of_layer)(kernel, price.phase);
    }
  return all;
}

}  // namespace draftline
