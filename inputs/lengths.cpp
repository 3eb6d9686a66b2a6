// SPDX-License-Identifier: Apache-2.0
#include "inputs/lengths.h"

#include <algorithm>
#include <array>
#include <boost/math/distributions/gamma.hpp>
#include <cmath>

#include "core/int_indexed.h"

namespace draftline {

double gamma_variate(Rng& rng, double shape, double scale) {
  return boost::math::quantile(boost::math::gamma_distribution<>(shape, scale), rng.uniform());
}

namespace {

struct Draw {
  Rng& rng;
  double operator()(const FixedLength& l) const { return l.tokens; }
  double operator()(const UniformLength& l) const {
    return l.least + static_cast<int>(rng.below(at(l.most - l.least) + 1));
  }
  double operator()(const ExponentialLength& l) const { return l.mean * rng.exponential(); }
  double operator()(const GammaLength& l) const {
    if (l.deviation == 0) return l.mean;
    const double cv = l.deviation / l.mean, shape = 1 / (cv * cv);
    return gamma_variate(rng, shape, l.mean / shape);
  }
  double operator()(const LognormalLength& l) const { return std::exp(l.log_mean + l.log_deviation * rng.normal()); }
  double operator()(const ScenarioLength&) const { return looked_up(); }
  double operator()(const RecordedLength&) const { return looked_up(); }
  static double looked_up() {
    check(false, "a length that is looked up is not drawn");
    return 0;
  }
};

struct MeanLength {
  double operator()(const FixedLength& l) const { return l.tokens; }
  double operator()(const UniformLength& l) const { return (l.least + l.most) / 2.0; }
  double operator()(const ExponentialLength& l) const { return l.mean; }
  double operator()(const GammaLength& l) const { return l.mean; }
  double operator()(const LognormalLength& l) const {
    return std::exp(l.log_mean + l.log_deviation * l.log_deviation / 2);
  }
  double operator()(const ScenarioLength&) const { return 0; }
  double operator()(const RecordedLength&) const { return 0; }
};

struct Moments {
  double mean, deviation;
};

Moments moments(const WorkloadTrace& trace, int RecordedRequest::*column, bool of_logarithms) {
  double sum = 0, squares = 0;
  for (const RecordedRequest& r : trace.requests) {
    const double x = of_logarithms ? std::log(r.*column) : r.*column;
    sum += x, squares += x * x;
  }
  const double n = count(trace.requests);
  return {sum / n, std::sqrt(std::max(0.0, squares / n - (sum / n) * (sum / n)))};
}

LognormalLength lognormal(double mean, double cv) {
  const double variance = std::log1p(cv * cv);  // of the logarithm
  return {std::log(mean) - variance / 2, std::sqrt(variance)};
}

}  // namespace

bool is_recorded(const Lengths& l) { return std::holds_alternative<RecordedLength>(l); }

bool is_drawn(const Lengths& l) {
  return !std::holds_alternative<ScenarioLength>(l) && !std::holds_alternative<FixedLength>(l) && !is_recorded(l);
}

int draw_length(const Lengths& l, Rng& rng) {
  const double tokens = std::visit(Draw{rng}, l);
  return static_cast<int>(std::clamp(std::round(tokens), 1.0, 1.0 * kLongestText));
}

double mean_length(const Lengths& l) { return std::visit(MeanLength{}, l); }

Lengths read_lengths(const Reader& in, const WorkloadTrace* trace, int RecordedRequest::*column) {
  if (!in.is_object()) return FixedLength{in.positive_int(kLongestText)};
  in.suggest({"least", "most", "mean", "cv"});  // of one distribution or another
  enum class Distribution { uniform, exponential, gamma, lognormal };
  static constexpr NamedValues<Distribution, 4> kDistributions{{{"uniform", Distribution::uniform},
                                                                {"exponential", Distribution::exponential},
                                                                {"gamma", Distribution::gamma},
                                                                {"lognormal", Distribution::lognormal}}};
  const Reader named = in.at("distribution");
  const auto distribution = named.value_in(kDistributions);
  if (!named.is_named_in(kDistributions)) return FixedLength{1};  // so which other keys there should be isn't known
  const bool fitted = trace != nullptr && !in.has("mean");
  const auto mean = [&] {
    return fitted ? moments(*trace, column, false).mean : in.at("mean").number(1, kLongestText);
  };
  const auto cv = [&] { return in.at("cv", "variation").number(1e-3, 100); };
  Lengths out;
  switch (distribution) {
    case Distribution::uniform: {
      const int least = in.at("least").positive_int(kLongestText);
      out = UniformLength{least, in.at("most").integer(least, kLongestText)};
      break;
    }
    case Distribution::exponential: out = ExponentialLength{mean()}; break;
    case Distribution::gamma: {
      const double m = mean();
      out = GammaLength{m, fitted ? moments(*trace, column, false).deviation : m * cv()};
      break;
    }
    case Distribution::lognormal:
      if (fitted) {
        const Moments m = moments(*trace, column, true);
        out = LognormalLength{m.mean, m.deviation};
      } else {
        const double m = mean();
        out = lognormal(m, cv());
      }
      break;
  }
  in.done();
  return out;
}

}  // namespace draftline
