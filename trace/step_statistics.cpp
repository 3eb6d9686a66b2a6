// SPDX-License-Identifier: Apache-2.0
#include "trace/step_statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/errors.h"
#include "core/rng.h"

namespace draftline {

namespace {

constexpr int kResamples = 2000;

// Sums over the steps of a text. Those of several texts are added.
struct TextSums {
  double steps = 0, tokens = 0, squares = 0;
  std::vector<double> more;  // [j]: steps that accept more than j drafts
  struct Lag {
    double pairs = 0, products = 0, sum = 0;  // of both values
  };
  std::vector<Lag> lags;
};

TextSums sums_of(const std::vector<int>& steps, int most_accepted) {
  TextSums s;
  s.more.resize(at(most_accepted));
  s.lags.resize(kLags);
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const double x = steps[i];
    s.steps += 1, s.tokens += x, s.squares += x * x;
    for (int j = 0; j < std::min(steps[i] - 1, most_accepted); ++j) ++s.more[at(j)];
    for (std::size_t lag = 1; lag <= kLags && i + lag < steps.size(); ++lag) {
      const double y = steps[i + lag];
      TextSums::Lag& of = s.lags[lag - 1];
      of.pairs += 1, of.products += x * y, of.sum += x + y;
    }
  }
  return s;
}

// Of a sample of texts, some of which may be in it more than once.
class TextSample {
 public:
  explicit TextSample(std::span<const TextSums* const> texts) : texts_(texts) {
    for (const TextSums* t : texts) steps_ += t->steps, tokens_ += t->tokens, squares_ += t->squares;
  }
  double mean() const { return tokens_ / steps_; }
  double more(std::size_t j) const {
    double all = 0;
    for (const TextSums* t : texts_) all += t->more[j];
    return all;
  }
  double of_all(std::size_t j) const { return more(j) / steps_; }
  double of_before(std::size_t j) const { return more(j) / (j == 0 ? steps_ : more(j - 1)); }
  double autocorrelation(std::size_t lag) const {
    double pairs = 0, products = 0, sum = 0;
    for (const TextSums* t : texts_)
      pairs += t->lags[lag].pairs, products += t->lags[lag].products, sum += t->lags[lag].sum;
    const double m = mean();
    return (products / pairs - m * sum / pairs + m * m) / (squares_ / steps_ - m * m);
  }
  double within() const {
    double all = squares_;
    for (const TextSums* t : texts_) all -= t->tokens * t->tokens / t->steps;
    return std::max(0.0, all) / (steps_ - to_double(texts_.size()));
  }
  double between() const {
    const double texts = to_double(texts_.size());
    double sum = 0, sizes = 0;
    for (const TextSums* t : texts_) {
      const double off = t->tokens / t->steps - mean();
      sum += t->steps * off * off;
      sizes += t->steps * t->steps;
    }
    return (sum / (texts - 1) - within()) / ((steps_ - sizes / steps_) / (texts - 1));
  }
  double correlation() const { return between() / (between() + within()); }

 private:
  std::span<const TextSums* const> texts_;
  double steps_ = 0, tokens_ = 0, squares_ = 0;
};

class Bootstrap {
 public:
  Bootstrap(const std::vector<TextSums>& texts, std::uint64_t seed) {
    for (const TextSums& t : texts) all_.push_back(&t);
    Rng rng(seed, "bootstrap of texts");
    for (int i = 0; texts.size() > 1 && i < kResamples; ++i) {
      auto& drawn = resamples_.emplace_back();
      for (std::size_t n = 0; n < texts.size(); ++n) drawn.push_back(all_[rng.below(all_.size())]);
    }
  }
  // None if the value is not finite. Resamples without a finite value are left out.
  std::optional<BootstrapEstimate> operator()(const std::function<double(const TextSample&)>& of) const {
    BootstrapEstimate e{of(TextSample(all_)), {}};
    if (!std::isfinite(e.value)) return std::nullopt;
    std::vector<double> values;
    for (const auto& drawn : resamples_)
      if (const double v = of(TextSample(drawn)); std::isfinite(v)) values.push_back(v);
    if (values.empty()) return e;
    std::ranges::sort(values);
    const auto last = to_double(values.size() - 1);
    e.interval = Interval{values[at(std::lround(0.05 * last))], values[at(std::lround(0.95 * last))]};
    return e;
  }

 private:
  std::vector<const TextSums*> all_;
  std::vector<std::vector<const TextSums*>> resamples_;
};

}  // namespace

StepStatistics step_statistics(std::span<const std::vector<int>> steps, int most_accepted, std::uint64_t seed) {
  std::vector<TextSums> texts;
  StepStatistics out;
  for (const std::vector<int>& text : steps)
    if (!text.empty()) {
      texts.push_back(sums_of(text, most_accepted));
      out.steps += std::ssize(text);
    }
  check(!texts.empty(), "step_statistics: no step");
  out.texts = count(texts);
  const Bootstrap estimate(texts, seed);
  out.tokens_per_step = *estimate(&TextSample::mean);
  for (std::size_t j = 0; j < at(most_accepted); ++j)
    out.positions.push_back({estimate([j](const TextSample& s) { return s.of_all(j); }),
                             estimate([j](const TextSample& s) { return s.of_before(j); })});
  for (std::size_t lag = 0; lag < kLags; ++lag)
    out.autocorrelation.push_back(estimate([lag](const TextSample& s) { return s.autocorrelation(lag); }));
  if (texts.size() < 2) return out;
  out.variance_between = estimate(&TextSample::between);
  out.variance_within = estimate(&TextSample::within);
  out.intraclass_correlation = estimate(&TextSample::correlation);
  return out;
}

DraftPlan own_plan(const Trace& t) {
  const TraceHeader& h = t.header();
  return h.lengths() ? DraftPlan::recorded(h) : DraftPlan::chain(h.depth);
}

int most_accepted(const Trace& t) { return t.header().steps() ? t.header().depth : own_plan(t).depth(); }

std::vector<std::vector<int>> steps_of(const Trace& t) {
  std::vector<std::vector<int>> all;
  for (int prompt = 0; prompt < t.prompts(); ++prompt) all.push_back(t.replay(prompt, own_plan(t)));
  return all;
}

}  // namespace draftline
