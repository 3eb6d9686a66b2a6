// SPDX-License-Identifier: Apache-2.0
#include "predict/sweep.h"

#include <algorithm>
#include <map>

#include "model/devices/library_fits.h"

namespace draftline {

static std::vector<std::vector<std::shared_ptr<const Device>>> devices_by_engine(const Scenario& s) {
  std::vector<std::vector<std::shared_ptr<const Device>>> all;
  for (const auto& engine : s.engines) {
    std::vector<std::shared_ptr<const Device>>& here = all.emplace_back();
    for (const auto& device : s.devices) {
      const std::string& backend = engine->options.moe_backend;
      const bool own = has_library_fits(*device, engine->kernels), experts = has_expert_fits(*device, backend);
      Device priced = experts ? with_expert_fits(*device, backend) : *device;
      if (own) priced = with_library_fits(std::move(priced), engine->kernels);
      here.push_back(own || experts ? std::make_shared<const Device>(std::move(priced)) : device);
    }
  }
  return all;
}

Sweep::Sweep(Document document, const Data& data)
    : catalogue_(data),
      scenario_(read_scenario(std::move(document), catalogue_)),
      devices_(devices_by_engine(scenario_)),
      recordings_(finder(), drafter_finder()),
      pricer_(recordings_) {}
Sweep::Sweep(Scenario scenario, const Data& data)
    : catalogue_(data),
      scenario_(std::move(scenario)),
      devices_(devices_by_engine(scenario_)),
      recordings_(finder(), drafter_finder()),
      pricer_(recordings_) {}

Decoder::FindTransformer Sweep::finder() {
  return [this](const NamedNetwork& draft) { return *catalogue_.transformer(draft); };
}

Decoder::FindDrafter Sweep::drafter_finder() {
  return [this](const NamedFile& folder, DrafterKind kind) { return catalogue_.drafter(folder, kind); };
}

Setup Sweep::setup(const Point& p) const {
  const Scenario& s = scenario_;
  return {.device = devices_[p.engine][p.device],
          .engine = s.engine(p),
          .transformer = s.transformers[p.transformer],
          .precision = precision_at(s, p),
          .parallel = s.parallel[p.parallel],
          .batch_size = s.batch_sizes[p.batch],
          .prompt_tokens = s.prompt_tokens[p.prompt],
          .output_tokens = s.output_tokens[p.output],
          .gpu_memory_utilization =
              s.serving ? s.serving->choices[p.serving].gpu_memory_utilization : s.gpu_memory_utilization,
          .cached_prompt_tokens = s.cached_prompt_tokens,
          .shared_prefix = s.shared_prefix.value_or(SharedPrefix{})};
}

std::optional<Mistake> Sweep::mistake(const Point& p) {
  Setup s = setup(p);
  s.parallel = {};  // undivided, so that messages have the sizes that the user knows
  return draftline::mistake(recordings_, s, scenario_.method(p));
}

std::vector<PlacedMistake> Sweep::refusals(const Point& p) {
  std::vector<PlacedMistake> all;
  const Parallelism& shared = scenario_.parallel[p.parallel];
  if (auto why = refuses_sharing(*scenario_.devices[p.device], *scenario_.transformers[p.transformer], shared))
    all.push_back({place_of(shared), *std::move(why)});
  if (const auto why = mistake(p)) all.push_back(placed(*scenario_.method(p).in, *why));
  return all;
}

bool note_unless_some_run(const Scenario& s, std::size_t servings, const Refusals& refusals) {
  std::map<std::string, PlacedMistake> all;  // by place and text
  Point p{};
  for (p.engine = 0; p.engine < s.engines.size(); ++p.engine)
    for (p.method = 0; p.method < s.methods.size(); ++p.method)
      for (p.device = 0; p.device < s.devices.size(); ++p.device)
        for (p.transformer = 0; p.transformer < s.transformers.size(); ++p.transformer)
          for (p.parallel = 0; p.parallel < s.parallel.size(); ++p.parallel)
            for (p.serving = 0; p.serving < servings; ++p.serving) {
              const std::vector<PlacedMistake> why = refusals(p);
              if (why.empty()) return true;
              for (const PlacedMistake& one : why) all.try_emplace(one.in.place() + one.text, one);
            }
  for (const auto& [key, one] : all) one.in.fail(one.text);
  return false;
}

void Sweep::validate() {
  for (const MethodChoice& m : scenario_.methods) refuse_undividable(m);
  if (scenario_.document.root().failed()) scenario_.document.finish();
  if (note_unless_some_run(scenario_, 1, [this](const Point& p) { return refusals(p); }))
    for (std::size_t method = 0; method < scenario_.methods.size(); ++method) validate_method(method);
  scenario_.document.finish();
}

// A method that no network can have is a mistake; where only some networks can't, their points are skipped.
void Sweep::validate_method(std::size_t method) {
  std::vector<std::pair<Reader, Mistake>> found;
  std::size_t wrong = 0;
  Point p{};
  p.method = method;
  for (p.transformer = 0; p.transformer < scenario_.transformers.size(); ++p.transformer) {
    const MethodChoice* last = nullptr;
    const std::size_t before = found.size();
    for (p.engine = 0; p.engine < scenario_.engines.size(); ++p.engine) {
      const MethodChoice& m = scenario_.method(p);
      if (last == nullptr || !(last->spec == m.spec))
        if (const auto why = mistake(p)) found.emplace_back(*m.in, *why);
      last = &m;
    }
    wrong += found.size() > before ? 1 : 0;
  }
  if (wrong < scenario_.transformers.size()) return;
  for (const auto& [in, why] : found) note(in, why);
}

// The key, or the element of its list, that divides the network so.
Reader Sweep::place_of(const Parallelism& p) const {
  const Reader root = scenario_.document.root();
  const auto at = [&](const char* key, int value) {
    const Reader in = root.at(key);
    if (in.is_array())
      for (const Reader& item : in.items())
        if (item.positive_int() == value) return item;
    return in;
  };
  if (p.attention_replicas > 1) return at("data_parallel_attention", p.attention_replicas);
  return p.devices > 1 ? at("tensor_parallel", p.devices) : root.at("expert_parallel");
}

// A draft network is built undivided where mistakes are looked for: whether it can be divided is asked of its shape.
void Sweep::refuse_undividable(const MethodChoice& m) {
  if (!m.spec.shards_draft() || !m.spec.draft()) return;
  const auto shape = catalogue_.transformer(*m.spec.draft());
  for (const Parallelism& p : scenario_.parallel)
    if (const auto why = refuses_shards(*shape, {.devices = p.tensor()})) {
      m.in->at("shard_draft").fail(*why + ": without \"shard_draft\" each rank has the whole drafter");
      return;
    }
}

Outcome Sweep::at(std::size_t index, bool with_kernels) {
  const Point p = point_at(scenario_, index);
  const Setup s = setup(p);
  const MethodChoice& m = scenario_.method(p);
  Point all_lengths = p;
  all_lengths.prompt = all_lengths.output = all_lengths.batch = 0;
  if (predicted_ != all_lengths) {
    predicted_.reset();
    refused_ = scenario_.transformers.size() > 1 ? mistake(p) : std::nullopt;  // else validate() has noted it
    if (!refused_) predictor_.emplace(pricer_, s, m);
    predicted_ = all_lengths;
  }
  if (refused_) return {p, refused_->text};
  Outcome o{p, predictor_->at(s.batch_size, s.prompt_tokens, s.output_tokens)};
  if (with_kernels && std::holds_alternative<Prediction>(o.result)) o.kernels = kernel_times(pricer_, s, m);
  return o;
}

}  // namespace draftline
