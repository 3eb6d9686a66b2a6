// SPDX-License-Identifier: Apache-2.0
#include "cli/cpu_decoding.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "model/fit_quality.h"

namespace draftline::cli {

namespace {

constexpr int kMostSteps = 80, kTail = 160;  // of a measurement; rows beyond the text that a step may write

struct GridMethod {
  const char* object;  // DRAFT: the network's draft network
  GridKind from;       // the smallest grid that has it
};
constexpr auto kSmall = GridKind::small, kStandard = GridKind::standard, kFull = GridKind::full;
const std::vector<GridMethod>& grid_methods() {
  static const std::vector<GridMethod> all{
      {R"({"name":"draft_model","draft":"DRAFT","draft_length":1})", kStandard},
      {R"({"name":"draft_model","draft":"DRAFT","draft_length":3})", kSmall},
      {R"({"name":"draft_model","draft":"DRAFT","draft_length":6})", kStandard},
      {R"({"name":"eagle3","draft_length":1})", kFull},
      {R"({"name":"eagle3","draft_length":3})", kSmall},
      {R"({"name":"eagle3","draft_length":5})", kStandard},
      {R"({"name":"eagle3","tree":{"top_k":4,"passes":3,"nodes":15}})", kStandard},
      {R"({"name":"eagle2","tree":{"top_k":6,"passes":4,"nodes":31}})", kFull},
      {R"({"name":"eagle1","draft_length":3})", kFull},
      {R"({"name":"eagle1","tree":{"nodes":[[0],[1],[2],[0,0],[0,1],[1,0],[0,0,0],[0,0,0,0]]}})", kStandard},
      {R"({"name":"hass","draft_length":3})", kFull},
      {R"({"name":"specformer","draft_length":3,"positions":5})", kStandard},
      {R"({"name":"medusa","draft_length":3})", kSmall},
      {R"({"name":"medusa","tree":{"nodes":[[0],[1],[2],[0,0],[0,1],[1,0],[0,0,0],[0,0,1]]}})", kStandard},
      {R"({"name":"medusa_typical","tree":{"nodes":[[0],[1],[0,0],[1,0],[0,0,1]]}})", kFull},
      {R"({"name":"mcsd","draft":"DRAFT","widths":[3,1,1]})", kStandard},
      {R"({"name":"sequoia","draft":"DRAFT","budget":15,"depth":4,"rank_acceptance":[0.5,0.2,0.1]})", kStandard},
      {R"({"name":"mtp_heads","draft_length":3})", kStandard},
      {R"({"name":"mtp_sequential","draft_length":3})", kStandard},
      {R"({"name":"hydra","draft_length":3})", kStandard},
      {R"({"name":"hydra_plus","draft_length":3})", kFull},
      {R"({"name":"clover","draft_length":3})", kStandard},
      {R"({"name":"s3d","draft_length":3})", kStandard},
      {R"({"name":"space","draft_length":3})", kStandard},
      {R"({"name":"layerskip","draft_length":3,"exit":2})", kStandard},
      {R"({"name":"self_spec","draft_length":3,"skip_attention":[1],"skip_mlp":[1,2],"threshold":0.3})", kStandard},
      {R"({"name":"kangaroo","draft_length":3,"exit":2,"threshold":0.2})", kStandard},
      {R"({"name":"assisted","draft":"DRAFT","draft_length":3,"confidence":0.3})", kStandard},
      {R"({"name":"bild","draft":"DRAFT","draft_length":3,"fallback":0.3,"rollback":1.5})", kFull},
      {R"({"name":"prompt_lookup","draft_length":4})", kStandard},
      {R"({"name":"jacobi","block":6})", kStandard},
      {R"({"name":"cllm","block":4})", kFull},
      {R"({"name":"lookahead","window":4,"ngram":3,"guesses":3})", kStandard},
      {R"({"name":"ouroboros","draft":"DRAFT","draft_length":4,"window":4,"ngram":3,"guesses":3,"phrases":2})", kFull}};
  return all;
}

// Uniform numbers from a counter: quick, and of a size that keeps activations near 1.
float uniform(std::uint64_t i) {
  std::uint64_t x = i * 0x9e3779b97f4a7c15U + 0x2545f4914f6cdd1dU;
  x ^= x >> 29;
  x *= 0xbf58476d1ce4e5b9U;
  return static_cast<float>(static_cast<double>(x >> 11) * 0x1.0p-52 - 1);
}

}  // namespace

Networks::Networks(const std::filesystem::path& data) {
  for (const char* name : {"cpu-small", "cpu-small-draft", "cpu-large", "cpu-large-draft"}) {
    const Document d = Document::from_file(data / "validation" / (std::string(name) + ".json"));
    all_[name] = read_transformer(d.root());
    d.finish();
  }
}

Decoder::FindTransformer Networks::find() const {
  return [all = all_](const Reader& name) {
    const auto found = all.find(name.text());
    if (found != all.end()) return found->second;
    name.fail("is no network of data/validation");
    return all.begin()->second;
  };
}

std::vector<GridCell> validation_grid(GridKind kind) {
  std::vector<GridCell> cells;
  const std::vector<int> batches = kind == kSmall      ? std::vector{1, 4}
                                   : kind == kStandard ? std::vector{1, 4, 16, 64}
                                                       : std::vector{1, 2, 4, 8, 16, 32, 64};
  constexpr int kShort = 64, kLong = 512, kLargestLong = 16;  // a long context at every batch takes too long
  const auto has_long = [&](const GridMethod& m, int batch) {
    return kind == kFull || (kind == kStandard && m.from == kSmall && batch <= kLargestLong);
  };
  for (const char* target : {"cpu-small", "cpu-large"}) {
    if (kind == kSmall && target != std::string("cpu-small")) continue;
    for (const GridMethod& m : grid_methods()) {
      if (m.from > kind) continue;
      std::string object = m.object;
      if (const auto at = object.find("DRAFT"); at != std::string::npos)
        object.replace(at, 5, std::string(target) + "-draft");
      object = nlohmann::json::parse(object).dump();  // as a file of measured steps gives it back
      for (const int batch : batches) {
        cells.push_back({target, object, batch, kShort});
        if (has_long(m, batch)) cells.push_back({target, object, batch, kLong});
      }
    }
  }
  return cells;
}

void CpuDecoding::Weights::load(const std::string& name, int in, int out, std::span<float> to) {
  static_cast<void>(out);
  const auto ends = [&](std::string_view e) { return name.ends_with(e); };
  if (ends("id_offsets")) return std::fill(to.begin(), to.end(), 0.0F);
  const bool norm = ends("norm");
  const bool late = name.starts_with("layers.") && name[7] >= '2' && (ends(".o") || ends(".down"));
  const float size = (late ? late_layers_ : 1.0F) * (ends("embedding") ? 1.7F
                                                     : norm || in == 1 ? 0.1F
                                                                       : 1.7F / std::sqrt(static_cast<float>(in)));
  const std::uint64_t from = std::hash<std::string>{}(name) << 32;
  for (std::size_t i = 0; i < to.size(); ++i) to[i] = (norm ? 1.0F : 0.0F) + size * uniform(from + i);
}

CpuDecoding::CpuDecoding(const Networks& networks, const std::string& target, const std::string& method, int seats,
                         int longest_context, Yardstick& yardstick, float late_layers)
    : target_(networks.at(target)),
      yardstick_(yardstick),
      weights_(late_layers),
      document_(Document::from_text(method, "method")) {
  decoder_ = std::make_unique<Decoder>(
      Decoder::Options{target_, DType::fp32, DType::fp32, seats, longest_context + kMostSteps * 8 + kTail, 1, {}, {}},
      document_.root(), networks.find(), [&](const WeightStore& store) -> std::unique_ptr<Backend> {
        return std::make_unique<CpuBackend>(store, weights_,
                                            CpuBackend::Options{CpuBackend::Mode::planned, 1, false, true});
      });
  document_.root().done();
  document_.finish();
}

void CpuDecoding::seat(int batch_size, int context) {
  constexpr int kShort = 2;
  Generator& g = decoder_->generator;
  while (g.session().sequences > 0) g.leave(g.session().sequences - 1);
  const bool steady = decoder_->method->static_plan();
  const int length =
      steady ? kShort : context;  // a method that steers looks at its text, and keeps what it knows of it
  std::vector<std::vector<int>> prompts;
  std::vector<int> ids;
  for (int s = 0; s < batch_size; ++s) {
    ids.push_back(s);
    prompts.emplace_back();
    for (int i = 0; i < length; ++i) prompts.back().push_back((s * 37 + i * 101 + 5) % target_.vocabulary);
  }
  g.join(prompts, ids);
  if (steady) g.assume_length(context);
  clock_ = std::make_unique<StepClock>(decoder_->ops, g, static_cast<CpuBackend&>(*decoder_->backend), yardstick_,
                                       steady ? std::optional(context) : std::nullopt);
}

MeasuredCell measure(const GridCell& cell, CpuDecoding& plain, CpuDecoding& method, int turns, Seconds patience) {
  plain.seat(cell.batch_size, cell.context);
  method.seat(cell.batch_size, cell.context);
  const InTurn timed = steps_in_turn(plain.clock(), method.clock(), turns, patience);
  MeasuredCell m{cell.transformer, cell.method, cell.batch_size, cell.context, {}, {}, {}, {}};
  const auto turn = [](const TimedSteps& t) { return MeasuredTurn{t.time, t.length, t.emitted, t.steered}; };
  for (const TimedSteps& t : timed.plain) m.plain.push_back(turn(t));
  for (const TimedSteps& t : timed.method) m.turns.push_back(turn(t));
  m.history = method.clock().history();
  // Of each kind of op the median over the turns.
  std::map<std::pair<std::string, Phase>, std::pair<std::vector<double>, double>> by_kind;
  for (const auto& one : timed.ops)
    for (const auto& op : one) {
      auto& [times, calls] = by_kind[{op.key, op.phase}];
      times.push_back(op.time.value);
      calls += op.calls / static_cast<double>(timed.ops.size());
    }
  for (const auto& [kind, op] : by_kind)
    m.ops.push_back({kind.first, kind.second, Seconds{quantile(op.first, 0.5)}, op.second});
  return m;
}

}  // namespace draftline::cli
