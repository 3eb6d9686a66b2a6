// SPDX-License-Identifier: Apache-2.0
#include "predict/outlines_by_size.h"

#include <algorithm>
#include <cmath>
#include <concepts>

#include "core/errors.h"
#include "core/members.h"

namespace draftline {

namespace {

// Where lines begin: with fewer rows, different ops may have as many bytes, and count as one kind.
constexpr int kFrom = 5;

// Puts a value `steps` beyond `first` on the line through `first` and `second`, and returns whether there is one. Only
// numbers may differ, and doubles by few binary digits, so that all sums are exact.
struct Extrapolate {
  int steps;

  template <class T>
  bool operator()(T& to, const T& first, const T& second) const {
    if constexpr (std::same_as<T, bool> || std::is_enum_v<T> || std::same_as<T, std::string_view>) {
      to = first;
      return first == second;
    } else if constexpr (std::integral<T>) {
      to = static_cast<T>(static_cast<std::int64_t>(first) +
                          steps * (static_cast<std::int64_t>(second) - static_cast<std::int64_t>(first)));
      return true;
    } else if constexpr (std::floating_point<T>) {
      to = first == second ? first : first + steps * (second - first);
      return first == second || (is_short(first) && is_short(second));
    } else if constexpr (requires { std::variant_size<T>::value; }) {
      if (first.index() != second.index()) return false;
      to = first;
      return std::visit(
          [&](auto& alternative) {
            using A = std::decay_t<decltype(alternative)>;
            return (*this)(alternative, std::get<A>(first), std::get<A>(second));
          },
          to);
    } else if constexpr (requires { first.begin(); }) {
      if (first.size() != second.size()) return false;
      to.resize(first.size());
      for (std::size_t i = 0; i < first.size(); ++i)
        if (!(*this)(to[i], first[i], second[i])) return false;
      return true;
    } else if constexpr (requires { T::members(to); }) {
      return each(T::members(to), T::members(first), T::members(second));
    } else {
      return each(members_of(to), members_of(first), members_of(second));
    }
  }

 private:
  static bool is_short(double x) { return std::abs(x) < 0x1p40 && std::floor(x * 0x1p10) == x * 0x1p10; }
  template <class To, class Of>
  bool each(To to, Of first, Of second) const {
    return [&]<std::size_t... I>(std::index_sequence<I...>) {
      return ((*this)(std::get<I>(to), std::get<I>(first), std::get<I>(second)) && ...);
    }
    (std::make_index_sequence<std::tuple_size_v<To>>());
  }
};

bool equal(const StepOutline& a, const StepOutline& b) {
  const auto same = [](const StepOutline::Segment& x, const StepOutline::Segment& y) {
    return x.ops() == y.ops() && x.spans == y.spans && x.waits == y.waits;
  };
  return std::equal(a.segments.begin(), a.segments.end(), b.segments.begin(), b.segments.end(), same) &&
         a.kinds == b.kinds && a.weights == b.weights && a.layers == b.layers && a.verified_rows == b.verified_rows &&
         a.texts == b.texts && a.trees == b.trees && a.widest_pass == b.widest_pass;
}

// The outline on the line through two others; none if there is no line.
std::optional<StepOutline> extrapolated(const StepOutline& first, const StepOutline& second, int steps) {
  const Extrapolate line{steps};
  StepOutline to = first;
  if (first.segments.size() != second.segments.size() || !line(to.kinds, first.kinds, second.kinds) ||
      !line(to.weights, first.weights, second.weights) || !line(to.layers, first.layers, second.layers) ||
      !line(to.texts, first.texts, second.texts) || !line(to.trees, first.trees, second.trees) ||
      !line(to.verified_rows, first.verified_rows, second.verified_rows) ||
      !line(to.widest_pass, first.widest_pass, second.widest_pass))
    return std::nullopt;
  for (std::size_t i = 0; i < to.segments.size(); ++i) {
    const StepOutline::Segment &a = first.segments[i], &b = second.segments[i];
    if (a.ops() != b.ops() || a.waits != b.waits || !line(to.segments[i].spans, a.spans, b.spans)) return std::nullopt;
  }
  for (std::size_t i = 0; i < to.kinds.size(); ++i)
    if (!std::holds_alternative<Attention>(to.kinds[i].kernel)) to.work[i] = work(to.kinds[i].kernel, {});
  return to;
}

Bytes arena(const std::vector<std::vector<TempUse>>& segments) {
  std::size_t most = 0;
  for (const std::vector<TempUse>& temps : segments) most = std::max(most, plan_arena(temps).size);
  return Bytes{static_cast<double>(most)};
}

}  // namespace

bool OutlinesBySize::Recorded::operator==(const Recorded& o) const {
  return equal(outline, o.outline) && temps == o.temps;
}

void OutlinesBySize::forget() {
  recorded_.clear();
  derived_.clear();
}

const OutlinesBySize::Recorded& OutlinesBySize::recorded(int size) {
  if (const auto known = recorded_.find(size); known != recorded_.end()) return known->second;
  const std::vector<SegmentRun> segments = record_(size);
  Recorded one{StepOutline(segments), {}};
  for (const SegmentRun& run : segments) one.temps.push_back(temp_uses(*run.tape, declared_bytes));
  if (!recorded_.empty()) one.outline.share_ops(recorded_.begin()->second.outline);
  std::size_t bytes = one.outline.bytes();
  for (const auto& temps : one.temps) bytes += temps.size() * sizeof(TempUse);
  make_room_(bytes);
  return recorded_.emplace(size, std::move(one)).first->second;
}

// A line through two sizes, that holds for these so far.
void OutlinesBySize::find_line() {
  const Recorded first = recorded(kFrom), second = recorded(kFrom + 1);
  line_ = Line{kFrom, kFrom + 1, first, second};
  if (!extrapolated(first.outline, second.outline, 2)) bend_ = kFrom + 2;
}

OutlinesBySize::Recorded OutlinesBySize::along(const Line& line, int size, bool with_temps) const {
  Recorded to{*extrapolated(line.first.outline, line.second.outline, size - line.from), {}};
  if (with_temps && !Extrapolate{size - line.from}(to.temps, line.first.temps, line.second.temps)) to.temps.clear();
  return to;
}

// Whether the line holds at a size. It is checked at twice the largest size so far, as more sizes will follow.
bool OutlinesBySize::on_line(int size) {
  constexpr std::size_t kFew = 3;  // recordings that cost less than to find a line
  if (!line_) {
    if (recorded_.size() < kFew || size <= kFrom + 1 || most_ <= kFrom + 1) return false;
    find_line();
  }
  if (size < line_->from) return false;
  const int far = bend_ ? size : std::max(size, std::min(most_, 2 * line_->to));
  for (const int last : {far, size}) {
    if (size <= line_->to) return true;
    if (bend_ && last >= *bend_) continue;
    if (holds_at(last)) line_->to = last;
    else bend_ = last;
  }
  return size <= line_->to;
}

bool OutlinesBySize::holds_at(int size) {
  try {
    return recorded(size) == along(*line_, size, true);
  } catch (const InputErrors&) { return false; }  // a size that was not asked for may be too large
}

const StepOutline& OutlinesBySize::at(int size) {
  if (const auto known = derived_.find(size); known != derived_.end()) return known->second;
  if (const auto known = recorded_.find(size); known != recorded_.end()) return known->second.outline;
  if (!on_line(size)) return recorded(size).outline;
  if (const auto known = recorded_.find(size); known != recorded_.end()) return known->second.outline;
  StepOutline one = along(*line_, size, false).outline;
  make_room_(one.bytes());
  return derived_.emplace(size, std::move(one)).first->second;
}

Bytes OutlinesBySize::activations(int size) {
  if (const auto known = activations_.find(size); known != activations_.end()) return known->second;
  at(size);
  const bool derived = derived_.contains(size);
  return activations_[size] = arena(derived ? along(*line_, size, true).temps : recorded(size).temps);
}

}  // namespace draftline
