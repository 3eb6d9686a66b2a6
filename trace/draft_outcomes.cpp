// SPDX-License-Identifier: Apache-2.0
#include "trace/draft_outcomes.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/errors.h"
#include "core/fingerprint.h"
#include "core/int_indexed.h"
#include "core/rng.h"

namespace draftline {

namespace {

std::uint64_t scaled(double probability) { return static_cast<std::uint64_t>(std::llround(probability * 0x1p32)); }

std::vector<std::uint64_t> survival_of(std::span<const double> rates) {
  std::vector<std::uint64_t> all;
  double survival = 1;
  for (const double rate : rates) all.push_back(scaled(survival *= rate));
  return all;
}

// Contexts for which a table is tabulated: eight between a power of two and the next, up to 2^24 tokens.
constexpr int kContexts = 24 * 8 + 1;
double context_of(int index) { return std::exp2(index / 8.0); }
int index_of(double context) {
  return std::clamp(to_int(std::lround(8 * std::log2(std::max(1.0, context)))), 0, kContexts - 1);
}

}  // namespace

DraftOutcomes DraftOutcomes::from_rates(std::span<const double> rates, double intraclass_correlation) {
  DraftOutcomes out;
  out.survival_ = survival_of(rates);
  out.depth_ = count(rates);
  if (intraclass_correlation > 0)
    out.requests_ = std::make_shared<const RequestAcceptance>(chain_lengths(rates), intraclass_correlation);
  return out;
}

DraftOutcomes DraftOutcomes::from_table(const AcceptanceTable& table, int depth, double hit_share) {
  std::vector<OfContexts> all;
  for (int drafts = table.by_length() ? 1 : depth; drafts <= depth; ++drafts) {
    OfContexts& of_length = all.emplace_back();
    for (int i = 0; i < (table.by_context() ? kContexts : 1); ++i) {
      auto rates = table.rates(context_of(i), drafts);
      rates.front() *= hit_share;
      of_length.push_back(survival_of(rates));
    }
  }
  DraftOutcomes out;
  out.tables_ = std::make_shared<const std::vector<OfContexts>>(std::move(all));
  out.depth_ = depth;
  return out;
}

DraftOutcomes DraftOutcomes::from_trace(std::shared_ptr<const Trace> trace, const DraftPlan& plan, bool from_start) {
  DraftOutcomes out;
  out.from_start_ = from_start;
  out.recorded_steps_ = trace->header().steps();
  out.depth_ = out.recorded_steps_ ? trace->header().depth : plan.depth();
  for (int prompt = 0; prompt < trace->prompts(); ++prompt) {
    out.begin_.push_back(low_word(out.places_.size()));
    if (out.recorded_steps_) {
      for (const int emitted : trace->steps(prompt)) out.places_.push_back(static_cast<std::uint16_t>(emitted - 1));
    } else {
      for (int p = 0; p < trace->positions(prompt); ++p)
        out.places_.push_back(static_cast<std::uint16_t>(trace->accepted(prompt, p, plan) - 1));
    }
    if (out.places_.size() == out.begin_.back()) out.places_.push_back(0);  // a text of one token
    // Acceptance near the end of a text is limited by the end, so random positions do not include it.
    const auto all = low_word(out.places_.size()) - out.begin_.back();
    const auto tail = out.recorded_steps_ ? 1U : low_word(out.depth_);
    const std::uint32_t in_use = !from_start && all > tail ? all - tail : all;
    out.places_in_use_.push_back(in_use);
    std::uint64_t tokens = in_use;
    if (out.recorded_steps_)
      for (std::uint32_t i = 0; i < in_use; ++i) tokens += out.places_[out.begin_.back() + i];
    out.tokens_until_.push_back((prompt > 0 ? out.tokens_until_.back() : 0) + tokens);
  }
  return out;
}

DraftOutcomes::Text DraftOutcomes::text(std::uint64_t seed, std::int64_t request, int prompt_tokens,
                                        int output_tokens) const {
  Fingerprint name;
  name.add(seed);
  name.add(request);
  Text t;
  t.prompt_tokens = prompt_tokens;
  t.key[0] = low_word(name.value());
  t.key[1] = low_word(name.value() >> 32);
  if (kept_ && output_tokens > 0) t.kept = kept_->text(seed, request, output_tokens);
  if (requests_) {
    Rng rng(seed, "acceptance of a request", at(request));
    std::vector<std::uint64_t> own;
    for (const double more : requests_->draw_survival(rng)) own.push_back(scaled(more));
    t.survival = std::make_shared<const std::vector<std::uint64_t>>(std::move(own));
  }
  if (begin_.empty()) return t;
  if (from_start_) {
    t.prompt = low_word(at(request) % begin_.size());
  } else {
    // A text by its share of all tokens, so that the steps of requests of any length have the mean of the trace's
    // steps.
    Rng rng(seed, "place in a trace", at(request));
    const std::uint64_t token = rng.below(tokens_until_.back());
    const auto drawn = std::ranges::upper_bound(tokens_until_, token);
    t.prompt = low_word(drawn - tokens_until_.begin());
    t.start = low_word(rng.below(places_in_use_[t.prompt]));
  }
  return t;
}

std::uint8_t* DraftOutcomes::Kept::text(std::uint64_t seed, std::int64_t request, int positions) {
  auto& rows = requests_[seed];
  const std::size_t row = at(request);
  const int known = row < rows.size() ? rows[row].size : 0;
  if (positions > known) {
    if (positions - known > room_) return nullptr;
    room_ -= positions - known;
    if (row >= rows.size()) rows.resize(row + 1);
    rows[row] = {std::make_unique_for_overwrite<std::uint8_t[]>(at(positions)), positions};
    std::fill_n(rows[row].places.get(), positions, kUnknown);
  }
  return rows[row].places.get();
}

std::vector<double> DraftOutcomes::conditional_rates() const {
  check(!tables_, "a table's rates depend on the context");
  std::vector<double> rates;
  double before = begin_.empty() ? 0x1p32 : count(places_);
  for (int j = 0; j < depth_; ++j) {
    const auto is_more = [&](int accepted) { return accepted > j; };
    const double more =
        begin_.empty() ? to_double(survival_[at(j)]) : to_double(std::ranges::count_if(places_, is_more));
    rates.push_back(before > 0 ? more / before : 0);
    before = more;
  }
  return rates;
}

void DraftOutcomes::keep_draws() {
  if (begin_.empty() && !tables_ && depth_ < kUnknown) kept_ = std::make_shared<Kept>();
}

int DraftOutcomes::drawn_from_table(const Text& t, int position, int drafts) const {
  const OfContexts& of_length = drafts == 0 || !by_length() ? tables_->back() : (*tables_)[at(drafts - 1)];
  const int context = of_length.size() > 1 ? index_of(1.0 * t.prompt_tokens + position) : 0;
  return draw(t, position, of_length[at(context)]);
}

int DraftOutcomes::draw(const Text& t, int position, const std::vector<std::uint64_t>& survival) const {
  return drafts_of(philox4x32_10({low_word(position), 0, 0, 0}, {t.key[0], t.key[1]})[0], survival);
}

void DraftOutcomes::accepted(std::span<Text> texts, std::span<const int> positions, int drafts,
                             std::span<int> accepted) const {
  if (tables_ || !begin_.empty()) {
    for (std::size_t i = 0; i < texts.size(); ++i) accepted[i] = this->accepted(texts[i], positions[i], drafts);
    return;
  }
  PhiloxLanes lanes;
  std::array<std::size_t, PhiloxLanes::kLanes> of{};  // the text of each lane
  std::size_t filled = 0;
  const auto draw_lanes = [&] {
    const PhiloxLanes::Words words = lanes.first_words();
    for (std::size_t lane = 0; lane < filled; ++lane) {
      const std::size_t i = of[lane];
      accepted[i] = drafts_of(words[lane], survival(texts[i]));
      if (texts[i].kept != nullptr) texts[i].kept[positions[i]] = static_cast<std::uint8_t>(accepted[i]);
    }
    filled = 0;
  };
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const Text& t = texts[i];
    if (t.kept != nullptr && t.kept[positions[i]] != kUnknown) {
      accepted[i] = t.kept[positions[i]];
      continue;
    }
    lanes.counter[filled] = low_word(positions[i]);
    lanes.key0[filled] = t.key[0];
    lanes.key1[filled] = t.key[1];
    of[filled] = i;
    if (++filled == of.size()) draw_lanes();
  }
  if (filled > 0) draw_lanes();
}

int DraftOutcomes::replayed(Text& t, int position) const {
  const std::uint32_t at = t.start + (recorded_steps_ ? t.step++ : low_word(position));
  return places_[begin_[t.prompt] + at % places_in_use_[t.prompt]];
}

}  // namespace draftline
