// SPDX-License-Identifier: Apache-2.0
#include "sim/prediction.h"

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "decoder/priced/backend.h"
#include "methods/tracing.h"
#include "model/acceptance.h"

namespace draftline {

namespace {

// Gauss-Legendre, three points on [0, 1]: exact for a step time that is a quintic in the context.
constexpr std::array<std::pair<double, double>, 3> kGauss{
    {{0.1127016653792583, 5.0 / 18}, {0.5, 8.0 / 18}, {0.8872983346207417, 5.0 / 18}}};

}  // namespace

const MethodChoice& autoregressive() {
  static thread_local const Document document = Document::from_text(R"({"name": "autoregressive"})", "autoregressive");
  static thread_local const MethodChoice choice{document.root(), "autoregressive", "", std::nullopt, {}};
  return choice;
}

// The first token comes from the prefill; the rest from steps over contexts that grow from the prompt to the whole text.
Seconds mean_step_time(const StepPrice& price, int prompt_tokens, int output_tokens) {
  Seconds mean;
  for (const auto& [x, weight] : kGauss) mean += weight * price(prompt_tokens + x * (output_tokens - 2));
  return mean;
}

// The same, with what a step at the middle consists of: the middle one of the three.
struct MeanStep {
  Seconds time;
  StepDetail middle;
  explicit MeanStep(const StepPrice& price, int prompt_tokens, int output_tokens) {
    for (const auto& [x, weight] : kGauss) {
      const double length = prompt_tokens + x * (output_tokens - 2);
      if (x == 0.5) middle = price.detail(length);
      time += weight * (x == 0.5 ? middle.total : price(length));
    }
  }
  // With what the host adds to each step at its end; what waits for kernels is as at the middle.
  StepShares shares(Seconds whole) const {
    StepShares s{whole, middle.waited};
    for (Seconds& t : s.waited) t = (time / middle.total) * t;
    return s;
  }
};

// Root paths of ranks of a tree, or of a chain that always drafts its best.
std::vector<std::vector<int>> rank_paths(const Method& method) {
  std::vector<std::vector<int>> paths;
  if (const RankTree* t = method.tree()) {
    for (int row = 1; row < t->tree.rows(); ++row) {
      paths.emplace_back();
      for (const int above : t->tree.path(row))
        if (above > 0) paths.back().push_back(t->ranks[static_cast<std::size_t>(above)]);
    }
  } else {
    for (int n = 1; n <= method.depth(); ++n) paths.emplace_back(static_cast<std::size_t>(n), 0);
  }
  return paths;
}

// The method's object with the choices of this point.
nlohmann::json method_object(const MethodChoice& m) {
  auto object = m.parameters.empty() ? nlohmann::json::object() : nlohmann::json::parse(m.parameters);
  object["name"] = m.name;
  if (m.draft_length) object["draft_length"] = *m.draft_length;
  return object;
}

// What of it makes the drafter, whatever is drafted; a network by its file's name.
static nlohmann::json drafter_of(nlohmann::json object) {
  for (const char* plan : {"draft_length", "tree", "widths", "budget", "depth", "rank_acceptance", "replacement"})
    object.erase(plan);
  if (const auto draft = object.find("draft"); draft != object.end() && draft->is_string())
    *draft = std::filesystem::path(draft->get<std::string>()).filename().string();
  return object;
}

std::optional<DraftPlan> replay_plan(const MethodChoice& m, const Method& method, bool tree) {
  const Trace& trace = *m.acceptance.trace;
  const TraceHeader& h = trace.header();
  const auto recorded = nlohmann::json::parse(h.method);
  const bool as_recorded = method_object(m) == recorded;
  if (as_recorded && h.steps()) return DraftPlan::chain(method.usual_depth());
  if (as_recorded && h.lengths()) return DraftPlan::recorded(h);
  const Reader at = m.in.find("acceptance").value_or(m.in);
  if (!h.ranks()) {
    at.fail(*trace.refuses(DraftPlan::chain(method.usual_depth())));
  } else if (const auto name = recorded.value("name", ""); name != m.name) {
    at.fail("the trace was recorded of " + name + ", not of " + m.name);
  } else if (drafter_of(method_object(m)) != drafter_of(recorded)) {
    at.fail("the trace was recorded of another drafter: " + h.method);
  } else if (const auto plan = draft_plan(method, tree); !plan) {
    at.fail("a tree that grows with the text is replayed from its own trace alone, recorded of the very same method");
  } else if (const auto why = trace.refuses(*plan)) {
    at.fail(*why);
  } else {
    return plan;
  }
  return std::nullopt;
}

double acceptance_length(const MethodChoice& m, const Method& method, bool tree) {
  const Acceptance& a = m.acceptance;
  const int depth = method.usual_depth();
  if (depth == 0) {
    if (a.kind != Acceptance::Kind::none) m.in.fail("it drafts nothing: \"acceptance\" has no meaning here");
    return 1;
  }
  const auto at = [&] { return m.in.find("acceptance").value_or(m.in); };
  switch (a.kind) {
    case Acceptance::Kind::none:
      m.in.fail(
          "\"acceptance\" is needed: {\"rates\": [..]}, {\"per_position\": [..]}, {\"rate\": x}, {\"mean_length\": x}, "
          "{\"ranks\": [[..] per level]} or {\"trace\": FILE}");
      break;
    case Acceptance::Kind::rates:
      if (tree) at().fail("rates per position fit a chain, not a tree: give \"mean_length\"");
      else if (a.rates.size() < static_cast<std::size_t>(depth))
        at().fail("fewer rates (" + std::to_string(a.rates.size()) + ") than drafts (" + std::to_string(depth) + ")");
      else return chain_lengths(std::span(a.rates).first(static_cast<std::size_t>(depth))).mean();
      break;
    case Acceptance::Kind::rate:
      if (tree) at().fail("one rate fits a chain, not a tree: give \"mean_length\"");
      else return iid_chain_length(a.rates[0], depth);
      break;
    case Acceptance::Kind::ranks:
      if (tree && method.tree() == nullptr)
        at().fail(
            "\"ranks\" fit a chain or a tree of fixed shape, not one that grows with the text: give \"mean_length\"");
      else if (a.ranks.size() < static_cast<std::size_t>(depth))
        at().fail("\"ranks\" of fewer levels (" + std::to_string(a.ranks.size()) + ") than are drafted (" +
                  std::to_string(depth) + ")");
      else return tree_length(a.ranks, rank_paths(method));
      break;
    case Acceptance::Kind::trace: {
      if (!a.trace) break;
      if (const auto plan = replay_plan(m, method, tree)) return a.trace->mean_length(*plan);
      break;
    }
    case Acceptance::Kind::mean_length:
      if (a.rates[0] > depth + 1)
        at().fail("a \"mean_length\" above the longest possible: " + std::to_string(depth) +
                  (depth == 1 ? " draft" : " drafts") + " and a bonus token make " + std::to_string(depth + 1));
      else return a.rates[0];
      break;
  }
  return 1;
}

// One method on one transformer: recorded once per batch size, on the interpreter that computes nothing.
struct Predictor::Plan {
  Plan(const Setup& s, const MethodChoice& m, const Decoder::FindTransformer& find)
      : decoder(
            {*s.transformer, s.precision.matrices, s.precision.activations, kSeats, 1, s.ranks, {}, m.acceptance.ranks},
            m.in, find, [](const WeightStore&) { return std::make_unique<PricedBackend>(); }) {
    decoder.ops.on_segment = [this](const SegmentRun& run) { segments.push_back(run); };
  }
  static constexpr int kSeats = 1 << 17;
  static inline const std::vector<std::vector<int>> kUsual;  // no script: what steers gets its usual answer

  // A step of the steady state, or the prefill of one prompt. The tapes live until the next is recorded.
  std::vector<SegmentRun> record_step(int batch_size) {
    begin();
    decoder.generator.assume(batch_size, 1);
    decoder.generator.step();
    return std::move(segments);
  }
  std::vector<SegmentRun> record_prefill(int tokens) {
    begin();
    decoder.generator.assume(0, 0);
    decoder.generator.join({std::vector<int>(static_cast<std::size_t>(tokens))}, {0});
    decoder.generator.assume(0, 0);
    return std::move(segments);
  }
  void begin() {
    segments.clear();
    decoder.ops.forget();
    decoder.ops.follow(&kUsual);
  }

  Decoder decoder;
  std::vector<SegmentRun> segments;
  std::map<int, Recorded> steps, prefills;  // by batch size; by tokens
};

// What was recorded is kept for other devices and engines. Where its activations lie is found out for those who ask.
const Predictor::Recorded& Predictor::recorded(Plan& plan, Recording what, int size, bool with_activations) {
  constexpr std::size_t kMostOps = 4'000'000;  // some 50 MB
  auto& all = what == Recording::prefill ? plan.prefills : plan.steps;
  if (const auto known = all.find(size); known != all.end()) {
    if (!with_activations || known->second.activations) return known->second;
    all.erase(known);
  }
  const auto segments = what == Recording::prefill ? plan.record_prefill(size) : plan.record_step(size);
  Recorded one{StepOutline(segments, what == Recording::prefill ? 1 : size), std::nullopt};
  if (with_activations) {
    std::size_t most = 0;
    for (const SegmentRun& run : segments) most = std::max(most, plan_arena(*run.tape, declared_bytes).size);
    one.activations = Bytes{static_cast<double>(most)};
  }
  recorded_ops_ += one.outline.ops();
  if (recorded_ops_ > kMostOps) {
    for (auto& [key, other] : plans_) other->steps.clear(), other->prefills.clear();
    recorded_ops_ = one.outline.ops();
  }
  return all.emplace(size, std::move(one)).first->second;
}

Predictor::Plan& Predictor::plan(const Setup& s, const MethodChoice& m) {
  const std::string what =
      m.name + " " + std::to_string(m.draft_length.value_or(0)) + m.parameters + m.acceptance.ranks_text;
  auto& entry = plans_[{s.transformer, s.ranks, s.precision.matrices, nullptr, what}];
  if (!entry) entry = std::make_shared<Plan>(s, m, find_);
  return *entry;
}

const Predictor::Priced& Predictor::priced(Plan& plan, const Setup& s, bool speculating) {
  constexpr std::size_t kMostPrices = 20'000;  // keeps memory flat over huge sweeps
  if (prices_.size() > kMostPrices) prices_.clear();
  Priced& entry = prices_[{&plan, s.device, s.engine, s.batch_size}];
  if (!entry.step) {
    const Recorded& r = recorded(plan, Recording::step, s.batch_size, true);
    entry.step = std::make_unique<StepPrice>(r.outline, *s.device, *s.engine, speculating);
    entry.activations = *r.activations;
    entry.rows = r.rows();
    entry.slots = r.slots();
  }
  return entry;
}

StepPrice Predictor::step_price(const Setup& s, const MethodChoice& m) {
  Plan& p = plan(s, m);
  return {recorded(p, Recording::step, s.batch_size).outline, *s.device, *s.engine, p.decoder.method->depth() > 0};
}

StepPrice Predictor::prefill_price(const Setup& s, const MethodChoice& m, int tokens) {
  return {recorded(plan(s, m), Recording::prefill, tokens).outline, *s.device, *s.engine, false};
}

int Predictor::verified_rows(const Setup& s, const MethodChoice& m) {
  return recorded(plan(s, m), Recording::step, s.batch_size).rows();
}

const Method& Predictor::method(const Setup& s, const MethodChoice& m) { return *plan(s, m).decoder.method; }

Predictor::Room Predictor::room(const Setup& s, const MethodChoice& m, int batched_tokens) {
  Plan& p = plan(s, m);
  MemoryFootprint all{};
  all.weights = p.decoder.target_bytes;
  all.draft_weights = p.decoder.weights.bytes() - p.decoder.target_bytes;
  all.activations = *recorded(p, Recording::step, s.batch_size, true).activations;
  all.activations = std::max(all.activations, *recorded(p, Recording::prefill, batched_tokens, true).activations);
  Bytes per_token;
  for (const Cache& c : p.decoder.ops.caches()) per_token += c.layers * c.row_bytes();
  const Bytes weights = all.weights + all.draft_weights;
  return {weights, all.total() - weights, per_token};
}

std::vector<SegmentRun> Predictor::recorded_step(const Setup& s, const MethodChoice& m) {
  return plan(s, m).record_step(s.batch_size);
}

void Predictor::validate(const Setup& s, const MethodChoice& m) {
  const auto known = plans_.size();
  Plan& p = plan(s, m);
  if (plans_.size() == known) Plan(s, m, find_);  // another object of the same plan: its keys are to be read too
  if (m.in.failed()) return;
  if (m.acceptance.trace)
    if (const auto why = m.acceptance.trace->wrong_target(*s.transformer)) m.in.at("acceptance").fail(*why);
  acceptance_length(m, *p.decoder.method,
                    recorded(p, Recording::step, s.batch_size).rows() > p.decoder.method->depth() + 1);
}

Seconds Predictor::prefill(Plan& plan, const Setup& s) {
  auto [it, fresh] = prefills_.try_emplace({&plan, s.device, s.engine, s.prompt_tokens});
  if (fresh)
    it->second = StepPrice(recorded(plan, Recording::prefill, s.prompt_tokens).outline, *s.device, *s.engine, false)(0);
  return it->second;
}

MemoryFootprint Predictor::memory(const Plan& plan, const Priced& priced, const Setup& s) const {
  MemoryFootprint m;
  m.weights = plan.decoder.target_bytes;
  m.draft_weights = plan.decoder.weights.bytes() - plan.decoder.target_bytes;
  const double slots =
      cached_tokens({s.batch_size, s.prompt_tokens + s.output_tokens, priced.slots, CacheLayout::paged, 16, 0});
  for (const Cache& c : plan.decoder.ops.caches())
    (c.id == plan.decoder.target.cache.id ? m.cache : m.draft_cache) += slots * c.layers * c.row_bytes();
  m.activations = priced.activations;
  return m;
}

std::variant<Prediction, std::string> Predictor::predict(const Setup& s, const MethodChoice& m) {
  Plan& p = plan(s, m);
  const int depth = p.decoder.method->depth();
  const bool speculating = depth > 0;
  const Priced& mine = priced(p, s, speculating);
  Prediction out{};
  out.verified_rows = mine.rows;
  out.acceptance_length = acceptance_length(m, *p.decoder.method, mine.rows > depth + 1);
  out.memory = memory(p, mine, s);
  const int context = s.prompt_tokens + s.output_tokens, most = s.transformer->max_positions;
  if (most > 0 && context > most)
    return "a text of " + std::to_string(context) + " tokens, " + s.transformer->name + " has " + std::to_string(most) +
           " positions";
  if (out.memory.total() > s.device->memory)
    return "needs " + to_text(out.memory.total()) + " on each device, " + s.device->name + " has " +
           to_text(s.device->memory);

  const double tokens = s.output_tokens - 1, middle = s.prompt_tokens + (tokens - 1) / 2;
  const auto mean_step = [&](const StepPrice& price) { return MeanStep(price, s.prompt_tokens, s.output_tokens); };
  const auto with_tokens = [&](Seconds step, double length) { return step + s.batch_size * length * s.engine->token; };
  const auto throughput = [&](Seconds step, double length) {
    return s.batch_size * length / with_tokens(step, length);
  };
  const MeanStep step = mean_step(*mine.step);
  out.parts = step.middle.parts;
  out.work = mine.step->work(middle);
  out.step_time = with_tokens(step.time, out.acceptance_length);
  out.parts.host += out.step_time - out.parts.total();  // what is left: growth of the context, cost per token
  out.throughput = throughput(step.time, out.acceptance_length);
  const StepShares shares = step.shares(out.step_time);
  out.prefill_time = prefill(p, s);
  out.throughput_with_prefill =
      s.batch_size * s.output_tokens / (s.batch_size * out.prefill_time + s.batch_size * tokens / out.throughput);
  const KnownErrors errors = known_errors(*s.device);
  if (speculating) {
    Plan& ar = plan(s, autoregressive());
    const MeanStep base = mean_step(*priced(ar, s, false).step);
    out.speedup = out.throughput / throughput(base.time, 1);
    const StepShares plain = base.shares(with_tokens(base.time, 1));
    out.interval = prediction_interval(errors, shares, &plain);
  } else {
    out.speedup = 1;
    out.interval = prediction_interval(errors, shares, nullptr);
  }
  return out;
}

}  // namespace draftline
