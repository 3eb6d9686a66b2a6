// SPDX-License-Identifier: Apache-2.0
#include "inputs/scenario.h"
#include "inputs/division.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>

#include "core/json_parse.h"
#include "inputs/acceptance_notes.h"
#include "inputs/axes.h"
#include "inputs/engine_defaults.h"
#include "inputs/expert_routing.h"
#include "inputs/server_options.h"
#include "inputs/serving_keys.h"
#include "methods/table.h"

namespace draftline {

namespace {

constexpr std::size_t kMostPoints = 100'000'000;
constexpr int kMostTokens = 1 << 24;

MethodChoice read_method_choice(const Reader& in, Catalogue& catalogue) {
  if (in.is_string()) {
    in.fail("must be an object, {\"name\": \"" + printable(in.text()) + "\"}");
    return {};
  }
  MethodChoice m{MethodSpec(in)};
  if (m.spec.draft()) catalogue.transformer(in.at("draft"));
  if (m.spec.checkpoint()) catalogue.drafter(in.at("checkpoint"), *m.spec.entry().checkpoint);
  if (const auto acceptance = in.find("acceptance")) m.acceptance = read_acceptance(*acceptance, m.spec, catalogue);
  m.drafter_device = read_drafter_device(in, m.spec, catalogue);
  m.in = in;
  return m;
}

// Notes where another format is asked for than a checkpoint has, and refuses formats that are not modelled.
void check_formats(const Reader& in, const Scenario& s) {
  for (const PrecisionChoice& p : s.precisions)
    for (const auto& shape : s.transformers) {
      if (!shape) continue;
      if (const auto what = p.contradiction(*shape)) in.note(*what);
      if (shape->unknown_format && !p.weights)
        in.fail("the weights of " + shape->name + " have a format that is not modelled, " + *shape->unknown_format +
                "; give the nearest one in \"precision\" (docs/reference/scenario.md)");
    }
}

// Notes acceptance traces that were recorded with other weights than the checkpoint in the transformer's folder.
void check_weights(const Scenario& s, const Catalogue& catalogue) {
  const bool traced =
      std::any_of(s.methods.begin(), s.methods.end(), [](const auto& m) { return m.acceptance.trace() != nullptr; });
  if (!traced) return;
  for (const auto& shape : s.transformers) {
    const auto weights = shape ? catalogue.weights(shape.get()) : std::nullopt;
    if (!weights) continue;
    for (const MethodChoice& m : s.methods)
      if (const Trace* trace = m.acceptance.trace(); trace != nullptr && !trace->wrong_target(*shape))
        if (const auto why = trace->wrong_weights(*weights)) {
          const Reader in = m.in->at("acceptance");
          if (m.acceptance.borrowable()) in.note(*why);
          else in.fail(*why);
        }
  }
}

// A mean length is of one draft length. Over several, short drafts look better than they are.
void note_shared_means(const Reader& in, const std::vector<MethodChoice>& methods) {
  std::map<std::pair<std::string_view, std::string>, std::set<int>> lengths;
  for (const MethodChoice& m : methods)
    if (const auto length = m.spec.draft_length(); length && m.acceptance.is_mean())
      lengths[{m.spec.name(), m.acceptance.text()}].insert(*length);
  for (const auto& [method, each] : lengths) {
    if (each.size() < 2) continue;
    std::string listed;
    for (const int k : each) listed += (listed.empty() ? "" : ", ") + std::to_string(k);
    in.note(method.second + " of " + std::string(method.first) + " is used for each draft length (" + listed +
            "), but was measured with one: shorter drafts are overestimated; give \"rates\", "
            "\"per_position\" or a \"table\"");
  }
}

// How alike the rows of a sequence choose: of every network with experts.
void read_routing(const Reader& in, Scenario& s, const UsualRouting& usual) {
  bool any = false;
  for (auto& shape : s.transformers) {
    if (!shape || shape->experts() == nullptr) continue;
    any = true;
    TransformerShape routed = *shape;
    routed.set_expert_routing(read_routing(in, *shape->experts(), usual));
    shape = std::make_shared<const TransformerShape>(std::move(routed));
  }
  if (!any && !in.failed()) in.fail("requires a network with experts");
}

// The busiest device has at most all rows.
void refuse_balancedness(const Reader& in, const std::vector<Parallelism>& all) {
  const auto given = in.find("expert_balancedness");
  if (!given) return;
  for (const Parallelism& p : all) {
    if (p.expert_parallel && p.expert_balancedness * p.expert_groups() >= 1) continue;
    given->fail(!p.expert_parallel ? "requires devices with whole experts: expert_parallel must be true"
                                   : "must be at least 1 / " + std::to_string(p.expert_groups()) +
                                         ", for which one device has all rows");
    return;
  }
}

std::vector<Parallelism> read_parallelism(const Reader& in) {
  constexpr int kMostDevices = 1024;
  const auto count = [](const Reader& r) { return r.positive_int(kMostDevices); };
  const auto devices = alternatives(in, "tensor_parallel", 1, count);
  const auto replicas = alternatives(in, "data_parallel_attention", 1, count);
  const auto whole_experts = alternatives<WholeExperts>(in, "expert_parallel", {}, read_whole_experts);
  const auto balanced =
      alternatives<double>(in, "expert_balancedness", 0.0, [](const Reader& r) { return r.number(1e-4, 1); });
  const auto all_to_all = in.find("expert_exchange");
  constexpr std::array<std::string_view, 2> kExchanges{"all_gather", "all_to_all"};
  const bool sent = all_to_all && all_to_all->word(kExchanges) == "all_to_all";
  std::vector<Parallelism> all;
  for (const int n : devices)
    for (const int parts : replicas)
      for (const auto& [whole, groups] : whole_experts)
        for (const double b : balanced) {
          if (groups && n % *groups != 0) {
            in.at("expert_parallel")
                .fail(std::to_string(*groups) + " groups do not divide tensor_parallel, " + std::to_string(n));
            return {Parallelism{}};
          }
          all.push_back({.devices = n,
                         .attention_replicas = parts,
                         .expert_parallel = whole,
                         .expert_tensor = whole ? n / groups.value_or(n) : 1,
                         .all_to_all = sent,
                         .expert_balancedness = b});
        }
  refuse_balancedness(in, all);
  for (const Parallelism& p : all)
    if (sent && (p.attention_replicas < 2 || p.attention_replicas != p.devices || p.expert_groups() != p.devices)) {
      all_to_all->fail(
          "all_to_all requires that every device has separate sequences and whole experts: "
          "data_parallel_attention must equal tensor_parallel, and expert_parallel must be true");
      break;
    }
  return all;
}

// Keys of a serving scenario in one without a workload; asked for, so that they are known where a key is unknown.
void refuse_serving_keys(const Reader& in) {
  for (const char* key : kServingKeys)
    if (const auto value = in.find(key)) value->fail("requires a serving scenario, which has a \"workload\"");
}

// What of every prompt is in the KV cache already, and what of that the sequences of a batch share.
void read_cached_prompt(const Reader& in, Scenario& s) {
  const auto cached = in.find("cached_prompt_tokens"), shared = in.find("shared_prefix");
  const auto fits = [&](const Reader& at, int tokens) {
    if (s.serving) at.fail("is not allowed with a workload; give \"lengths\": {\"shared_prefix\": ..}");
    for (const int prompt : s.prompt_tokens)
      if (tokens >= prompt && !at.failed())
        at.fail("must be less than #/prompt_tokens, " + std::to_string(prompt) + ", got " + std::to_string(tokens));
  };
  if (cached) fits(*cached, s.cached_prompt_tokens = cached->integer(0, kMostTokens));
  if (shared) s.shared_prefix = read_shared_prefix(*shared);
  if (!s.shared_prefix) return;
  fits(*shared, s.shared_prefix->tokens);
  const int found = s.shared_prefix->whole_blocks();
  if (cached && s.cached_prompt_tokens < found)
    cached->fail("must be at least " + std::to_string(found) + ", because #/shared_prefix is cached, got " +
                 std::to_string(s.cached_prompt_tokens));
  s.cached_prompt_tokens = std::max(s.cached_prompt_tokens, found);
}

}  // namespace

Scenario read_scenario(Document document, Catalogue& catalogue) {
  const Reader in = document.root();
  Scenario s;
  s.document = std::move(document);
  constexpr std::size_t kMostSaid = 10'000;  // bytes of texts for people; printable() removes control characters
  if (const auto name = in.find("name")) s.name = name->text();
  if (const auto question = in.find("question")) s.question = printable(question->text(), kMostSaid);
  if (const auto note = in.find("note")) s.note = printable(note->text(), kMostSaid);
  const auto count = [](int most) { return [most](const Reader& r) { return r.positive_int(most); }; };

  s.devices = alternatives<std::shared_ptr<const Device>>(in.at("device"),
                                                          [&](const Reader& r) { return catalogue.device(r); });
  s.parallel = read_parallelism(in);
  s.transformers = alternatives<std::shared_ptr<const TransformerShape>>(
      in.at("transformer"), [&](const Reader& r) { return catalogue.transformer(r); });
  s.precisions = read_precisions(in);
  check_formats(in.find("precision").value_or(in.at("transformer")), s);
  if (const auto share = in.find("gpu_memory_utilization")) s.gpu_memory_utilization = share->number(0.01, 1);
  s.engines = alternatives<std::shared_ptr<const Engine>>(in.at("engine"),
                                                          [&](const Reader& r) { return catalogue.engine(r); });
  s.methods = all_combinations<MethodChoice>(in.at("method"),
                                             [&](const Reader& r) { return read_method_choice(r, catalogue); });
  read_server_options(in, s);
  for (const MethodChoice& m : s.methods)  // of an unknown method no key is known
    if (m.in && methods::find(m.in->at("name").text()) != nullptr) m.in->done();
  take_engine_defaults(s);
  note_shared_means(in.at("method"), s.methods);
  note_likely_shares(s.methods);
  check_weights(s, catalogue);
  if (const auto routing = in.find("expert_routing")) read_routing(*routing, s, catalogue.usual_routing(*routing));
  if (in.has("workload")) s.serving = read_serving(in, s.gpu_memory_utilization, catalogue);
  else refuse_serving_keys(in);
  if (const auto batch = in.find("batch_size"); batch && s.serving)
    batch->fail("is not allowed with a workload; give \"scheduler\": {\"max_num_seqs\": ..}");
  s.batch_sizes = alternatives(in, "batch_size", 1, count(kMostBatchSize));
  s.prompt_tokens = alternatives(in, "prompt_tokens", 512, count(kMostTokens));
  read_cached_prompt(in, s);
  s.output_tokens = alternatives(in, "output_tokens", 256, [](const Reader& r) { return r.integer(2, kMostTokens); });
  in.done();
  if (!in.failed() && s.points() > kMostPoints)
    in.fail("the product of the lists has more than a hundred million points");
  if (in.failed()) s.document.finish();
  return s;
}

const MethodChoice& autoregressive() {
  static thread_local const MethodChoice choice{};
  return choice;
}

const std::shared_ptr<const Engine>& Scenario::engine(const Point& p) const {
  const bool fixed = !serving || serving->choices[p.serving].policy.kind == DraftPolicy::Kind::fixed;
  return fixed || method(p).spec.is_plain() ? engines[p.engine] : engines_by_batch[p.engine];
}

std::size_t Scenario::points() const {
  double exact = 1;
  std::size_t n = 1;
  for (const std::size_t k :
       {devices.size(), parallel.size(), transformers.size(), precisions.size(), engines.size(), methods.size(),
        prompt_tokens.size(), output_tokens.size(), batch_sizes.size(), serving ? serving->choices.size() : 1}) {
    exact *= static_cast<double>(k);
    n *= k;
  }
  return exact > 1e18 ? std::numeric_limits<std::size_t>::max() : n;
}

Precision precision_at(const Scenario& s, const Point& p) {
  return s.precisions[p.precision].of(*s.transformers[p.transformer]);
}

Point point_at(const Scenario& s, std::size_t index) {
  const auto take = [&](std::size_t size) {
    const std::size_t i = index % size;
    index /= size;
    return i;
  };
  Point p{};
  p.serving = take(s.serving ? s.serving->choices.size() : 1);
  p.batch = take(s.batch_sizes.size());
  p.output = take(s.output_tokens.size());
  p.prompt = take(s.prompt_tokens.size());
  p.method = take(s.methods.size());
  p.engine = take(s.engines.size());
  p.precision = take(s.precisions.size());
  p.transformer = take(s.transformers.size());
  p.parallel = take(s.parallel.size());
  p.device = take(s.devices.size());
  return p;
}

}  // namespace draftline
