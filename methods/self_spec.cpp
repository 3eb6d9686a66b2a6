// SPDX-License-Identifier: Apache-2.0
// Self-speculative decoding, Draft & Verify (Zhang et al. 2024, section 3): the target without some of its sublayers
// drafts until its confidence is below a threshold, and the whole target verifies. The threshold may adapt to the
// acceptance.
#include <algorithm>
#include <map>

#include "methods/drafting/early_stop.h"
#include "methods/entries.h"

namespace draftline::methods {

namespace {

struct SelfSpecParameters : Parameters {
  std::optional<std::vector<int>> skip_attention, skip_mlp;
  Setting<double> threshold = 0.8;
  Setting<bool> adaptive = true;
};

// `count` layers, evenly spaced between the first and the last two; as many as the authors' search found for a 13B
// target.
std::vector<int> spread(int layers, double share) {
  std::vector<int> chosen;
  const int count = std::min(static_cast<int>(share * layers + 0.5), std::max(0, layers - 2));
  for (int i = 0; i < count; ++i) chosen.push_back(1 + i * (layers - 2) / std::max(1, count));
  return chosen;
}

// The sublayers that draft.
std::vector<LayerUse> kept_sublayers(const SelfSpecParameters& p, int layers) {
  const auto attention = p.skip_attention.value_or(spread(layers, 24.0 / 40)),
             mlp = p.skip_mlp.value_or(spread(layers, 10.0 / 40));
  std::vector<LayerUse> uses;
  for (int i = 0; i < layers; ++i) {
    const LayerUse u{i, std::find(attention.begin(), attention.end(), i) == attention.end(),
                     std::find(mlp.begin(), mlp.end(), i) == mlp.end()};
    if (u.attention || u.mlp) uses.push_back(u);
  }
  return uses;
}

class SelfSpec : public Method {
 public:
  explicit SelfSpec(Context& c)
      : target_(c.target),
        p_(c.own<SelfSpecParameters>()),
        layers_(kept_sublayers(p_, c.target.shape.layers())),
        length_(c.drafts()) {}
  bool static_plan() const override { return false; }
  int depth() const override { return length_; }
  std::optional<Answers> answers(const std::vector<int>& drafts) const override {
    if (p_.threshold == 0 && !p_.adaptive) return std::nullopt;
    return stopping_answers(drafts, length_, false);
  }

  Proposal propose(Ops& ops, Session& s) override {
    keep_present(history_, s.ids);
    std::vector<double> thresholds;
    for (std::size_t i = 0; i < s.ids.size(); ++i) thresholds.push_back(threshold(s.ids[i], s.lengths[i]));
    EarlyStop stop;
    stop.most = stop.usual = length_;
    stop.goes_on = [&](std::size_t i, int drafted, double probability) {
      return drafted < length_ && probability >= thresholds[i];
    };
    auto chain = draft_until(ops, s, stop, [&](int j, Tensor token) {
      Stream x{target_.embed(ops, token)};
      target_.run(ops, x, ops.pass({ops.uniform(s.sequences, 1), s.slots, {}, j}), layers_);
      return target_.logits(ops, target_.final_norm(ops, x));
    });
    for (std::size_t i = 0; i < s.ids.size(); ++i) history_[s.ids[i]].last = {s.lengths[i], chain.lengths[i]};
    return std::move(chain.proposal);
  }

 private:
  struct History {
    double threshold = 0, accepted = 0.9;
    LastChain last = {};
  };
  // The authors' rule aims at a moving average acceptance of 0.9: the threshold rises while it is below, and falls when
  // a chain ended before its largest length.
  double threshold(int id, int length) {
    History& h = history_[id];
    const std::optional<int> accepted = h.last.accepted(length);
    if (!accepted) {
      h = {.threshold = p_.threshold};
    } else if (p_.adaptive && h.last.drafted > 0) {
      h.accepted = 0.5 * h.accepted + 0.5 * *accepted / h.last.drafted;
      double wanted = h.threshold;
      if (h.accepted < 0.9) wanted += 0.01;
      else if (h.last.drafted < length_) wanted -= 0.01;
      h.threshold = std::clamp(0.9 * h.threshold + 0.1 * wanted, 0.0, 1.0);
    }
    return h.threshold;
  }
  const Transformer& target_;
  SelfSpecParameters p_;
  std::vector<LayerUse> layers_;
  int length_;
  std::map<int, History> history_;  // by sequence
};

std::optional<Mistake> repeated(const std::optional<std::vector<int>>& layers, const std::string& key) {
  if (!layers) return std::nullopt;
  for (auto it = layers->begin(); it != layers->end(); ++it)
    if (std::find(layers->begin(), it, *it) != it)
      return Mistake{"/" + key + "/" + std::to_string(it - layers->begin()),
                     "layer " + std::to_string(*it) + " stands there already"};
  return std::nullopt;
}

std::optional<Mistake> repeats_layers(const MethodSpec& spec) {
  const auto& p = spec.own<SelfSpecParameters>();
  if (auto wrong = repeated(p.skip_attention, "skip_attention")) return wrong;
  return repeated(p.skip_mlp, "skip_mlp");
}

std::optional<Mistake> keeps_none(const Context& c) {
  if (!kept_sublayers(c.spec.own<SelfSpecParameters>(), c.target.shape.layers()).empty()) return std::nullopt;
  return Mistake{"", "\"skip_attention\" and \"skip_mlp\" leave no sublayer to draft with"};
}

}  // namespace

Entry self_spec() {
  using P = SelfSpecParameters;
  constexpr int kMostLayers = 1 << 20;
  return {.name = "self_spec",
          .title = "the target without some of its sublayers",
          .source = "zhang2024selfspec",
          .locator = "section 3",
          .parameters = {integers("skip_attention", &P::skip_attention, 0, kMostLayers,
                                  {.meaning = "layers from 0", .usual = "60 %, spread evenly", .most = last_layer_of}),
                         integers("skip_mlp", &P::skip_mlp, 0, kMostLayers,
                                  {.meaning = "layers from 0", .usual = "25 %, spread evenly", .most = last_layer_of}),
                         share("threshold", &P::threshold, {.meaning = "the confidence below which drafting ends"}),
                         flag("adaptive", &P::adaptive, {.meaning = "whether that follows the acceptance"})},
          .make = make<SelfSpec>,
          .examples = {R"("draft_length": 4, "skip_attention": [2, 3], "skip_mlp": [3], "threshold": 0.3)"},
          .lengths = {.most = 64, .usual = 8},
          .consistent = repeats_layers,
          .fits = keeps_none};
}

}  // namespace draftline::methods
