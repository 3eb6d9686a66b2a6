// SPDX-License-Identifier: Apache-2.0
// Replay equals live: for every row of the table the steps that a trace yields are those of a live run, prompt by
// prompt.
#include <filesystem>
#include <set>

#include "tests/catch.h"
#include "tests/contracts/rig.h"
#include "tests/core/fresh_folder.h"
#include "tests/sim/plain_cost.h"
#include "trace/tracing.h"

using namespace draftline;
using namespace draftline::test;

namespace {

constexpr int kTokens = 20, kSlots = 3, kAtOnce = 7, kCapacity = 256, kLongestPrompt = 9;
const std::vector<int> kEndOfText{5};

struct Recorded {
  TraceHeader header;
  std::vector<TracedPrompt> prompts;
};

struct Building {  // a rig per decoder, kept alive for as long as the recording lasts
  Network network = Network::llama;
  std::unique_ptr<Decoder> operator()(const MethodSpec& method) const {
    auto random = std::make_shared<RandomWeights>(7, [](const std::string& name) {
      static const std::vector<std::string> weak{"hass.", "eagle1.", "eagle2.", "eagle3."};
      return std::any_of(weak.begin(), weak.end(), [&](const auto& w) { return name.starts_with(w); }) ? 0.5 : 1.0;
    });
    auto source = std::make_shared<PerturbedWeights>(*random, "draft.", 0.15, 11);
    alive->push_back(random);
    alive->push_back(source);
    auto decoder = std::make_unique<Decoder>(
        Decoder::Options{
            .target = tiny_shape(network), .slots = kSlots, .capacity = kCapacity, .positions_per_slot = kAtOnce},
        method, [](const NamedNetwork&) { return tiny_shape(Network::llama); },
        [&](const WeightStore& store) {
          return std::make_unique<CpuBackend>(store, *source, CpuBackend::Options{CpuBackend::Mode::planned, 1, false});
        });
    return decoder;
  }
  std::shared_ptr<std::vector<std::shared_ptr<void>>> alive = std::make_shared<std::vector<std::shared_ptr<void>>>();
};

Recorded record(const Plan& plan, const std::vector<std::vector<int>>& questions, int at_once = kAtOnce,
                const std::vector<std::vector<int>>& continuations = {}, Network network = Network::llama) {
  Tracing t;
  t.make = Building{network};
  t.method = MethodSpec(Rig::text_of(plan).root());
  t.slots = kSlots;
  t.new_tokens = kTokens;
  t.end_of_text = kEndOfText;
  t.positions_at_once = at_once;
  t.spare = kCapacity - kLongestPrompt - kTokens;
  t.continuations = continuations;
  Recorded r;
  r.header.target = "tiny";
  r.header.weights = "random";
  r.header.fingerprint = target_fingerprint(tiny_shape(network), "random");
  r.prompts = record_trace(t, questions, r.header);
  return r;
}

Trace through_file(const Recorded& r) {
  const FreshFolder folder;
  const auto file = folder.path() / "trace.jsonl.gz";
  write_trace(file, r.header, r.prompts);
  return Trace::read(file);
}

// The decode steps of each request when a server replays the traced prompts from their beginnings.
std::vector<std::int64_t> simulated_steps(const Trace& trace, const DraftPlan& plan) {
  auto lengths = std::make_shared<WorkloadTrace>();
  for (int i = 0; i < trace.prompts(); ++i)
    lengths->requests.push_back({0, trace.prompt_tokens(i), trace.positions(i), 0});
  Workload w = poisson(1e4, trace.prompts(), RecordedLength{}, RecordedLength{});
  w.length_trace = lengths;
  const DraftOutcomes outcomes = DraftOutcomes::from_trace(std::make_shared<Trace>(trace), plan, true);
  const Drafting drafting{&outcomes, outcomes.depth(), {0, outcomes.depth()}, outcomes.depth() + 1, {}, 0};
  PlainCost cost;
  Log log;
  Fleet({}, {}, drafting, cost).run(w, 1, {}, &log);
  std::vector<std::int64_t> steps(lengths->requests.size());
  for (const ServedRequest& r : log.requests) steps[static_cast<std::size_t>(r.request.id)] = r.steps;
  return steps;
}

MethodSpec spec_of(const Plan& p) { return MethodSpec(Rig::text_of(p).root()); }

}  // namespace

TEST_CASE("the steps that a trace replays are those of a live run, prompt by prompt", "[contract]") {
  const auto questions = prompts(5, 12);
  std::set<std::string> by_rank, by_length;
  std::set<int> lengths;
  for (const methods::Entry& e : methods::all()) {
    const auto plans = plans_of(e);
    for (const Plan& recorded : plans) {
      const Recorded r = record(recorded, questions);
      const Trace trace = through_file(r);
      REQUIRE(trace.prompts() == 5);
      for (const Plan& live : plans) {
        Rig rig(live, Rig::Kind::cpu_planned, kSlots);
        int widest = 0;
        const auto run = rig.run(questions, {kTokens, kEndOfText, kSlots});
        for (const SegmentRun& s : rig.steps.back())
          for (const Pass& p : s.tape->passes) widest = std::max(widest, p.rows.widest);
        INFO(recorded.method << recorded.parameters << " replays " << live.parameters);
        const Method& m = *rig.decoder.method;
        const bool tree = live.parameters.find("passes") != std::string::npos;
        auto plan = draft_plan(m, tree);
        if (trace.header().lengths() && live.parameters == recorded.parameters) {
          plan = DraftPlan::recorded(trace.header());
          by_length.insert(std::string(e.name));
        }
        // A longer plan of a network whose heads or groups are trained for one length may be another drafter.
        if (!trace.header().ranks()) CHECK(trace.refuses(DraftPlan::chain(1)).has_value());
        if (trace.header().steps()) {
          if (live.parameters != recorded.parameters) continue;
          const auto simulated = simulated_steps(trace, DraftPlan::chain(1));
          for (std::size_t i = 0; i < run.size(); ++i) {
            CHECK(trace.steps(static_cast<int>(i)) == run[i].accepted);
            CHECK(trace.drafts(static_cast<int>(i)) == run[i].drafted);
            for (std::size_t step = 0; step < run[i].accepted.size(); ++step)
              CHECK(run[i].accepted[step] <= run[i].drafted[step] + 1);
            CHECK(simulated[i] == static_cast<std::int64_t>(run[i].accepted.size()));
          }
        } else if (plan) {
          if (!plan->is_recorded() && plan->depth() > trace.header().depth) {
            CHECK(trace.refuses(*plan).has_value());
            continue;
          }
          if ((e.name == "s3d" || e.name == "specformer") && live.parameters != recorded.parameters)
            continue;  // other drafters
          if (!spec_of(live).same_drafter(spec_of(recorded))) continue;
          if (!plan->is_recorded()) by_rank.insert(std::string(e.name));
          const auto simulated = simulated_steps(trace, *plan);
          for (int i = 0; i < trace.prompts(); ++i) {
            const auto& wanted = run[static_cast<std::size_t>(i)].accepted;
            CHECK(trace.replay(i, *plan) == wanted);
            CHECK(simulated[static_cast<std::size_t>(i)] == static_cast<std::int64_t>(wanted.size()));
            lengths.insert(wanted.begin(), wanted.end());
            CHECK(r.prompts[static_cast<std::size_t>(i)].tokens == run[static_cast<std::size_t>(i)].tokens);
          }
        }
      }
    }
  }
  CHECK(by_length == std::set<std::string>{"clover", "ddtree", "dflash", "dflash2", "domino", "dspark", "eagle2",
                                           "eagle3", "eagle3_1", "hass", "mtp_sequential", "p_eagle", "pard", "space"});
  CHECK(lengths.size() >= 3);  // acceptance lies between never and always
  for (const char* name : {"draft_model", "medusa", "eagle1", "eagle2", "eagle3", "hass", "specformer", "mcsd",
                           "sequoia", "mtp_heads", "mtp_sequential", "hydra", "hydra_plus", "s3d", "layerskip",
                           "magicdec_streaming", "magicdec_snapkv", "gemma4_assistant"}) {
    INFO(name);
    CHECK(by_rank.contains(name));
  }
}

TEST_CASE("of a target with recurrent states the steps of a live run are traced", "[contract]") {
  const auto questions = prompts(5, 12);
  std::set<int> emitted;
  for (const Plan& plan : {Plan{"draft_model", R"(, "draft": "half", "draft_length": 3)"},
                           {"mtp_sequential", ""},
                           {"eagle3", R"(, "draft_length": 3)"},
                           {"prompt_lookup", ""}}) {
    INFO(label(plan));
    const Recorded r = record(plan, questions, kAtOnce, {}, Network::hybrid);
    REQUIRE(r.header.steps());
    const Trace trace = through_file(r);
    Rig live(plan, Rig::Kind::cpu_planned, kSlots, Network::hybrid);
    const auto run = live.run(questions, {kTokens, kEndOfText, kSlots});
    for (std::size_t i = 0; i < run.size(); ++i) {
      CHECK(trace.steps(static_cast<int>(i)) == run[i].accepted);
      CHECK(r.prompts[i].tokens == run[i].tokens);
      emitted.insert(run[i].accepted.begin(), run[i].accepted.end());
    }
  }
  CHECK(emitted.size() >= 3);  // drafts are taken and taken back
}

TEST_CASE("a trace is the same whether positions are taken one by one, some or all at once, or the text is given",
          "[contract]") {
  const auto questions = prompts(5, 12);
  int by_rank = 0;
  for (const methods::Entry& e : methods::all()) {
    for (const Plan& plan : plans_of(e)) {
      INFO(plan.method << plan.parameters);
      const Recorded alone = record(plan, questions, 0);
      if (alone.header.steps()) continue;
      by_rank += alone.header.ranks() ? 1 : 0;
      std::vector<std::vector<int>> said;  // ends at the end of text, or cut short
      for (const TracedPrompt& p : alone.prompts) {
        said.push_back(p.tokens);
        if (said.size() == 2) said.back().resize(p.tokens.size() / 2);
      }
      for (const Recorded& other :
           {record(plan, questions, 1), record(plan, questions, kAtOnce), record(plan, questions, kAtOnce, said)}) {
        REQUIRE(other.header.ranks() == alone.header.ranks());
        REQUIRE(other.header.lengths() == alone.header.lengths());
        REQUIRE(other.prompts.size() == alone.prompts.size());
        for (std::size_t i = 0; i < alone.prompts.size(); ++i) {
          CHECK(other.prompts[i].tokens == alone.prompts[i].tokens);
          CHECK(other.prompts[i].ranks == alone.prompts[i].ranks);
          CHECK(other.prompts[i].lengths == alone.prompts[i].lengths);
          CHECK(other.prompts[i].probabilities == alone.prompts[i].probabilities);  // bit for bit
        }
      }
    }
  }
  CHECK(by_rank > 15);
}

TEST_CASE("a given text that is not the target's is refused", "[contract]") {
  const auto questions = prompts(5, 12);
  const Plan medusa{"medusa", R"(, "draft_length": 2)"};
  const Recorded honest = record(medusa, questions);
  std::vector<std::vector<int>> said;
  for (const TracedPrompt& p : honest.prompts) said.push_back(p.tokens);
  said[kSlots][3] = (said[kSlots][3] + 1) % 12;  // of the second batch
  for (const int at_once : {0, kAtOnce})
    CHECK_THROWS_WITH(record(medusa, questions, at_once, said),
                      Catch::Matchers::StartsWith("the given text of prompt 3 is not the target's: its token 3 is "));
}
