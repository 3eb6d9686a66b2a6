// SPDX-License-Identifier: Apache-2.0
// Serving scenarios from their text to their figures, and against a served log.
#include "sim/serving.h"

#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "core/fingerprint.h"
#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

namespace {

std::string serving(
    const std::string& more, const std::string& method = R"({"name": "autoregressive"})",
    const std::string& workload = R"({"arrivals": {"process": "poisson", "rate": "4 /s"}, "requests": 300})") {
  return with(R"("workload": )" + workload + (more.empty() ? "" : ", " + more), method);
}
const std::string kThreeDrafts = R"({"name": "eagle3", "draft_length": 3, "acceptance": {"rates": [0.8, 0.7, 0.6]}})";

struct Scene {
  explicit Scene(const std::string& json) : file(folder.path() / "s.json") {
    std::ofstream(file) << json;
    sweep = std::make_unique<ServingSweep>(file, kData);
    sweep->validate();
  }
  ServingResult at(std::size_t index, const ServingSweep::Options& o = {}) const {
    ServingOutcome out = sweep->at(index, o);
    if (const auto* why = std::get_if<std::string>(&out.result)) FAIL("skipped: " << *why);
    return std::get<ServingResult>(std::move(out.result));
  }
  FreshFolder folder;
  std::filesystem::path file;
  std::unique_ptr<ServingSweep> sweep;
};

std::string mistakes_of_serving(const std::string& json) {
  try {
    const Scene s(json);
    const ServingOutcome out = s.sweep->at(0, {});
    if (const auto* why = std::get_if<std::string>(&out.result)) return "skipped: " + *why;
  } catch (const InputErrors& e) {
    std::string all;
    for (const std::string& m : e.messages())
      all += (all.empty() ? "" : "\n") + m.substr(m.find('#') == std::string::npos ? 0 : m.find('#'));
    return all;
  }
  return "none";
}

}  // namespace

TEST_CASE("at a batch that never changes, a served step costs what run predicts", "[S9]") {
  const std::string workload =
      R"({"arrivals": {"process": "closed", "concurrency": 8}, "requests": 8, "lengths": {"prompt": 700, "output": 300}})";
  for (const std::string& method : {std::string(R"({"name": "autoregressive"})"), kThreeDrafts}) {
    INFO(method);
    const Scene s(serving(R"("scheduler": {"max_num_batched_tokens": 8192})", method, workload));
    const ServingResult served = s.at(0);
    const ServingRun& run = served.runs.front();
    const Prediction p = prediction(with(R"("batch_size": 8, "prompt_tokens": 700, "output_tokens": 300)", method));
    CHECK(run.figures.inter_token.mean().value == Approx(p.step_time.value).epsilon(0.01));
  }
}

TEST_CASE("served steps accept what a table says of their contexts and drafts, as predictions do on average") {
  const std::string lengths = R"("lengths": {"prompt": 1000, "output": 3000})";
  const std::string eagle = R"({"name": "eagle3", "draft_length": 2, "acceptance": {"table": [
      {"context": 1000, "draft_length": 2, "rates": [0.8, 0.6]}, {"context": 4000, "draft_length": 2, "rates": [0.3, 0.2]},
      {"context": 1000, "draft_length": 1, "rates": [0.9]}, {"context": 4000, "draft_length": 1, "rates": [0.4]}]}})";
  const std::string workload =
      R"({"arrivals": {"process": "closed", "concurrency": 8}, "requests": 32, )" + lengths + "}";
  const Prediction p = prediction(with(R"("batch_size": 8, "prompt_tokens": 1000, "output_tokens": 3000)", eagle));
  const ServingResult served = Scene(serving("", eagle, workload)).at(0);
  // 60000 sequence-steps of at most two drafts: a standard error of 0.003
  CHECK(served.runs.front().figures.acceptance_length() == Approx(p.acceptance_length).epsilon(0.01));
  CHECK(!served.oracle);
  CHECK(mistakes_of_serving(serving(R"("policy": "oracle")", eagle, workload)) ==
        "#/policy: an oracle needs outcomes that do not depend on the draft length, unlike those of this \"table\"");
  CHECK(mistakes_of_serving(serving(R"("policy": {"confidence": {"concentration": 2}})", eagle, workload)) ==
        "#/policy/confidence: confidences require rates or a trace, not a \"table\"");
}

TEST_CASE(
    "a pipeline holds what one device can't, computes prompts side by side and decodes at the pace of its weights") {
  const auto scene = [](int stages, int concurrency, const std::string& lengths) {
    return R"({"device": "a100-sxm", "transformer": "llama-2-70b", "engine": "vllm", "method": {"name": "autoregressive"},
               "workload": {"arrivals": {"process": "closed", "concurrency": )" +
           std::to_string(concurrency) + R"(}, "lengths": )" + lengths + R"(, "requests": 64}, "pipeline_parallel": )" +
           std::to_string(stages) + "}";
  };
  const std::string texts = R"({"prompt": 100, "output": 100})", prompts = R"({"prompt": 2000, "output": 1})";
  CHECK(mistakes_of_serving(scene(1, 1, texts)).find("no room for a KV cache") != std::string::npos);
  CHECK(mistakes_of_serving(scene(81, 1, texts)).find("more stages than llama-2-70b has layers") != std::string::npos);
  const auto at = [&](int stages, int concurrency, const std::string& lengths) {
    return Scene(scene(stages, concurrency, lengths)).at(0);
  };
  const auto throughput = [](const ServingResult& r) { return r.runs.front().figures.throughput().value; };
  const ServingResult two = at(2, 8, texts), four = at(4, 8, texts);
  CHECK(two.servers == 2);
  CHECK(four.kv_blocks > 2 * two.kv_blocks);
  // a pass reads all weights, whatever the stage they lie in: as many sequences, as many tokens in that time
  CHECK(throughput(four) / throughput(two) == Approx(1).epsilon(0.05));
  CHECK(throughput(at(4, 8, prompts)) / throughput(at(2, 8, prompts)) == Approx(2).epsilon(0.05));
  // alone, the way from stage to stage is all that is gained
  const auto alone = [&](int stages) { return at(stages, 1, texts).runs.front().figures.tpot.mean().value; };
  CHECK(alone(4) > alone(2));
  CHECK(alone(4) < 1.02 * alone(2));
}

TEST_CASE("whole nodes are paid for, whether a fleet is planned or simulated") {
  const auto cost = [](const std::string& prices) { return Scene(serving(prices)).at(0).cost_per_hour; };
  CHECK(cost(R"("prices": {"h100-sxm": 2})") == 2);
  CHECK(cost(R"("prices": {"h100-sxm": 2}, "devices_per_node": 8)") == 16);
  CHECK(cost(R"("prices": {"h100-sxm": 2}, "devices_per_node": 8, "replicas": 9)") == 32);
  CHECK_FALSE(cost(""));
}

TEST_CASE("a prompt waits for the launches of a prompt, not for those of verification") {
  // Hugging Face's code launches more for rows that verify; here launches are what a prompt of 512 tokens waits for.
  const auto setup = [](const std::string& more) {
    return R"({"device": "h100-sxm", "transformer": "llama-3.2-1b", "engine": "hf-eager", "prompt_tokens": 512,
               "output_tokens": 2, "method": {"name": "autoregressive"}, )" +
           more + "}";
  };
  const Scene s(setup(R"("workload": {"arrivals": {"process": "closed", "concurrency": 1}, "requests": 1})"));
  const Prediction p = prediction(setup(R"("batch_size": 1)"));
  CHECK(s.at(0).runs.front().figures.ttft.mean().value == Approx(p.prefill_time.value).epsilon(0.05));
}

TEST_CASE("a server has its engine's limits, by card, and its way with prompts, where the scenario is silent") {
  const auto limits = [](const std::string& device, const std::string& engine, const std::string& more,
                         const std::string& method = R"({"name": "autoregressive"})") {
    const Scene s(R"({"device": ")" + device + R"(", "transformer": "llama-2-7b", "engine": ")" + engine +
                  R"(", "method": )" + method +
                  R"(, "workload": {"arrivals": {"process": "poisson", "rate": "4 /s"}, "requests": 3})" + more + "}");
    return s.sweep->prepare({})->limits;
  };
  CHECK(limits("h100-sxm", "vllm", "").max_num_seqs == 1024);
  CHECK(limits("h100-sxm", "vllm", "").max_num_batched_tokens == 8192);
  CHECK(limits("h100-sxm", "vllm", "").batching == Batching::continuous);
  CHECK(limits("rtx-4090", "vllm", "").max_num_seqs == 256);
  CHECK(limits("rtx-4090", "vllm", "").max_num_batched_tokens == 2048);
  CHECK(limits("a100-sxm", "vllm", "").max_num_seqs == 256);
  CHECK(limits("h100-sxm", "vllm", R"(, "scheduler": {"max_num_seqs": 64})").max_num_seqs == 64);
  CHECK(limits("h100-sxm", "vllm", R"(, "scheduler": {"max_num_seqs": 64})").max_num_batched_tokens == 8192);
  CHECK(limits("h100-sxm", "sglang", "").batching == Batching::prefill_first);
  CHECK(limits("h100-sxm", "sglang", R"(, "scheduler": {"chunked_prefill": true})").batching == Batching::continuous);
  CHECK(limits("h100-sxm", "sglang", R"(, "scheduler": {"static_batching": true})").batching ==
        Batching::static_batching);
  CHECK(limits("h100-sxm", "sglang", "",
               R"({"name": "draft_model", "draft": "llama-68m", "draft_length": 3, "acceptance": {"rate": 0.5}})")
            .max_num_seqs == 48);
  CHECK(limits("h100-sxm", "draftline", "").max_num_seqs == 256);
}

TEST_CASE("what does not fit into simulated time is refused, whatever makes it so long") {
  const auto apart = [](const std::string& link) {
    return mistakes_of_serving(serving(R"("disaggregation": {"prefill_replicas": 1, )" + link + "}"));
  };
  CHECK(apart(R"("bandwidth": "1 GB/s", "latency": "1 s")") == "none");
  CHECK(contains(apart(R"("bandwidth": "1 GB/s", "latency": "1e9 s")"), "would take hours"));
  CHECK(contains(apart(R"("bandwidth": "1e-25 GB/s")"), "would take hours"));
  // a CPU that takes 1.4 s a step: 104 days are 6.4 million of them, one request after the other
  const auto after = [](int requests) {
    return mistakes_of_serving(R"({"device": "cpu", "engine": "draftline", "transformer": "qwen2.5-3b",
      "method": {"name": "autoregressive"}, "workload": {"arrivals": {"process": "closed", "concurrency": 1},
      "lengths": {"prompt": 9, "output": 30000}, "requests": )" +
                               std::to_string(requests) + "}}");
  };
  CHECK(after(20) == "none");
  CHECK(contains(after(2000), "beyond simulated time"));
}

TEST_CASE("mistakes in a serving scenario are told at their place") {
  struct Case {
    std::string json, message;
  };
  const auto workload = [](const std::string& w) { return serving("", R"({"name": "autoregressive"})", w); };
  const auto arrivals = [&](const std::string& a) { return workload(R"({"arrivals": )" + a + "}"); };
  const auto ranges = [](const std::string& all) {
    return serving(R"("policy": {"num_speculative_tokens_per_batch_size": [)" + all + "]}", kThreeDrafts);
  };
  const auto c = GENERATE_COPY(
      Case{arrivals(R"({"process": "poison", "rate": "1 /s"})"),
           "#/workload/arrivals/process: unknown value \"poison\"; did you mean \"poisson\"?"},
      Case{arrivals(R"({"process": "poisson", "rate": "-1 /s"})"),
           "#/workload/arrivals/rate: must be greater than 0, got the text \"-1 /s\""},
      Case{arrivals(R"({"process": "poisson", "rate": "1 /s", "burst": 3})"),
           "#/workload/arrivals/burst: unknown key; known here: \"concurrency\", \"cv\", \"off\", \"on\", "
           "\"process\", \"rate\", \"rate_scale\", \"trace\""},
      Case{arrivals(R"({"process": "poisson", "rate": "1 /s", "cv": 3})"),
           "#/workload/arrivals/cv: has no meaning beside the other keys here"},
      Case{workload(R"({"arrivals": {"process": "poisson", "rate": "1 /s"},
                        "lengths": {"prompt": {"distribution": "uniform", "least": 1, "most": 2, "x": 3}, "output": 9}})"),
           "#/workload/lengths/prompt/x: unknown key; known here: \"cv\", \"distribution\", \"least\", \"mean\", "
           "\"most\""},
      Case{arrivals(R"({"trace": "none.csv"})"), "#/workload/arrivals/trace: no such file: \"none.csv\""},
      Case{workload(R"({"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 5, "warm_up": 5})"),
           "#/workload/warm_up: must be at most 4"},
      Case{workload(R"({"arrivals": {"process": "poisson", "rate": "1 /s"}, "lengths": {}})"),
           "#/workload/lengths: give a \"trace\", or \"prompt\" and \"output\""},
      Case{workload(R"({"arrivals": {"process": "poisson", "rate": "1 /s"}, "lengths": "acceptance_trace"})"),
           "#/workload/lengths: requires an acceptance trace for every method"},
      Case{serving(R"("batch_size": 4)"),
           "#/batch_size: is not allowed with a workload; give \"scheduler\": {\"max_num_seqs\": ..}"},
      Case{serving(R"("scheduler": {"block_size": 12})"), "#/scheduler/block_size: must be a power of two"},
      Case{serving(R"("policy": {"off_above": 4, "x": 1})", kThreeDrafts),
           "#/policy/x: unknown key; known here: \"confidence\", \"draft_length_by_batch_size\", "
           "\"num_speculative_tokens_per_batch_size\", \"off_above\""},
      Case{serving(R"("policy": {"confidence": {"concentration": 0}})", kThreeDrafts),
           "#/policy/confidence/concentration"},
      Case{serving(R"("policy": {"confidence": {}})", kThreeDrafts), "concentration"},
      Case{serving(R"("policy": {"confidence": {"concentration": 1}, "off_above": 4})", kThreeDrafts),
           "#/policy: give \"off_above\", \"draft_length_by_batch_size\" (or vLLM's "
           "\"num_speculative_tokens_per_batch_size\") or \"confidence\""},
      Case{serving(R"("policy": {"draft_length_by_batch_size": {"1": 9}})", kThreeDrafts),
           "#/policy/draft_length_by_batch_size/1: must be at most 3"},
      Case{serving(R"("policy": {"draft_length_by_batch_size": {"2": 1}})", kThreeDrafts),
           "#/policy/draft_length_by_batch_size: the first batch size must be \"1\""},
      Case{serving(R"("policy": {"draft_length_by_batch_size": {"1": 2, "01": 3}})", kThreeDrafts),
           "batch size 1 is given twice"},
      Case{ranges("[2, 9, 1]"), "_per_batch_size/0/0: the first range must begin at 1"},
      Case{ranges("[1, 9, 3], [9, 20, 1]"), "_per_batch_size/1/0: ranges must ascend without overlap"},
      Case{ranges("[1, 9, 9]"), "_per_batch_size/0/2: must be at most 3"},
      Case{ranges("[1, 9]"), "_per_batch_size/0: must be [from, to, draft length]"},
      Case{ranges("{\"1-9\": 3}"), "_per_batch_size/0: must be [from, to, draft length]"},
      Case{ranges(""), "_per_batch_size: at least one range is required"},
      Case{serving(R"("scheduler": {"kv_blocks": 10})"),
           "skipped: request 0: a request of 512 + 256 tokens does not "
           "fit the KV pool of 10 blocks of 16"},
      Case{serving(R"("prices": {"h100": 2.5})"), "#/prices: lacks the price of h100-sxm"},
      Case{serving(R"("slo": {"ttft_p97.0": "1 s"})"), "#/slo/ttft_p97.0: unknown key"},
      Case{with(""), "no \"workload\""});
  INFO(c.json);
  INFO(mistakes_of_serving(c.json));
  CHECK(mistakes_of_serving(c.json).find(c.message) != std::string::npos);
}

TEST_CASE("a drawn request that no KV pool holds is refused and counted, and the others are served") {
  // 100 blocks of 16 hold 1,600 tokens less the row of a step; of lengths of at most 800 + 900 some are longer.
  const auto lengths = [](const std::string& prompt) {
    return R"({"arrivals": {"process": "poisson", "rate": "1 /s"}, "requests": 300, "lengths": {"prompt": )" + prompt +
           R"(, "output": {"distribution": "uniform", "least": 1, "most": 900}}})";
  };
  const std::string pool = R"("scheduler": {"kv_blocks": 100})";
  const auto method = R"({"name": "autoregressive"})";
  const Scene s(serving(pool, method, lengths("800")));
  const ServingResult r = s.at(0);
  const ServingFigures& f = r.runs.front().figures;
  CHECK(f.refused > 15);  // about 101 / 900 of 300
  CHECK(f.refused < 60);
  CHECK(f.requests + f.refused == 300);
  CHECK(f.longest_text <= 1599);
  CHECK(f.longest_refused >= 1600);
  REQUIRE(r.warnings.size() == 2);  // the second: whose attention was not measured
  CHECK(r.warnings.front() == std::to_string(f.refused) + " requests of up to " + std::to_string(f.longest_refused) +
                                  " tokens do not fit the KV pool of 100 blocks of 16: refused");
  CHECK(mistakes_of_serving(serving(pool, method, lengths("1700"))).find("skipped: request 0: a request of 1700 + ") ==
        0);
}

TEST_CASE("draft lengths by batch size may be given as vLLM has them") {
  const auto told = [](const std::string& policy) {
    const Scene s(serving(R"("policy": )" + policy, kThreeDrafts));
    return s.at(0).runs.front().figures.throughput().value;
  };
  const double ours = told(R"({"draft_length_by_batch_size": {"1": 3, "3": 1, "9": 0}})");
  CHECK(told(R"({"num_speculative_tokens_per_batch_size": [[1, 2, 3], [3, 8, 1], [9, 99, 0]]})") == ours);
  CHECK(told(R"({"num_speculative_tokens_per_batch_size": [[1, 1, 3], [3, 4, 1], [9, 9, 0]]})") == ours);
  CHECK(told(R"("fixed")") != ours);
}

TEST_CASE("lists in a workload, its scheduler and its policy are swept") {
  const Scene s(serving(R"("scheduler": {"max_num_seqs": [4, 64]}, "policy": ["fixed", "goodput"])", kThreeDrafts,
                        R"({"arrivals": {"process": "poisson", "rate": ["1 /s", "8 /s"]}, "requests": 100})"));
  REQUIRE(s.sweep->scenario().points() == 8);
  CHECK(s.sweep->scenario().serving->axes == std::vector<std::string>{"rate", "max_num_seqs", "policy"});
  CHECK(s.sweep->scenario().serving->choices[5].varying == std::vector<std::string>{"8 /s", "4", "goodput"});
  CHECK(s.at(0).runs.front().figures.e2e.mean() < s.at(4).runs.front().figures.e2e.mean());
}

TEST_CASE("replications give a Student-t interval, and other seeds other runs") {
  const Scene s(serving(R"("replications": 5)"));
  const ServingResult r = s.at(0);
  const auto mean = [](const ServingRun& run) { return run.figures.ttft.mean().value; };
  const Estimate e = estimate(r.runs, mean);
  REQUIRE(e.interval);
  CHECK(e.interval->low < e.value);
  CHECK(e.value < e.interval->high);
  // by hand: t of 4 degrees of freedom at 97.5 % is 2.776
  double squares = 0;
  for (const ServingRun& run : r.runs) squares += std::pow(mean(run) - e.value, 2);
  CHECK(e.interval->high - e.value == Approx(2.776 * std::sqrt(squares / 4 / 5)).epsilon(1e-3));
  ServingSweep::Options other;
  other.seed = 9;
  CHECK(s.at(0, other).runs.front().figures.fingerprint() != r.runs.front().figures.fingerprint());
}

TEST_CASE("a scenario with the old keys has the answer of the new ones, and a note for each") {
  const auto scenario = [](bool old) {
    const auto key = [old](const char* now, const char* before) { return std::string(old ? before : now); };
    const std::string cv = "\"" + key("cv", "variation") + "\": ";
    const std::string workload = R"({"arrivals": {"process": "gamma", "rate": "4 /s", )" + cv +
                                 R"(2}, "requests": 200, "lengths": {"prompt": 300,
            "output": {"distribution": "lognormal", "mean": 80, )" +
                                 cv + "0.5}}}";
    return serving("\"scheduler\": {\"" + key("max_num_seqs", "max_batch_size") + "\": 6, \"" +
                       key("max_num_batched_tokens", "max_batched_tokens") + "\": 400, \"" +
                       key("gpu_memory_utilization", "memory_share") + "\": 0.5}, \"" + key("slo", "latency_targets") +
                       R"(": {"ttft_p99": "1 s"})",
                   R"({"name": "autoregressive"})", workload);
  };
  const Scene now(scenario(false)), old(scenario(true));
  CHECK(now.at(0).runs.front().figures.fingerprint() == old.at(0).runs.front().figures.fingerprint());
  CHECK(old.sweep->scenario().serving->targets.targets.size() == 1);
  CHECK(now.sweep->scenario().document.notes().empty());
  std::set<std::string> notes;
  for (const std::string& note : old.sweep->scenario().document.notes()) notes.insert(note.substr(note.rfind('/') + 1));
  const std::string still = " now; the old name is still read";
  CHECK(notes == std::set<std::string>{"variation: is called \"cv\"" + still,
                                       "max_batch_size: is called \"max_num_seqs\"" + still,
                                       "max_batched_tokens: is called \"max_num_batched_tokens\"" + still,
                                       "memory_share: is called \"gpu_memory_utilization\"" + still,
                                       "latency_targets: is called \"slo\"" + still});
}

// Approved by tests/golden: an unintended change of the event stream shows here. DRAFTLINE_APPROVE=1 writes it anew.
TEST_CASE("the event stream of a scenario is the same everywhere", "[S7]") {
  const std::map<std::string, std::string> scenes{
      {"autoregressive", serving("")},
      {"tight", serving(R"("scheduler": {"kv_blocks": 300, "max_num_batched_tokens": 256})")},
      {"prefill first", serving(R"("scheduler": {"chunked_prefill": false})", kThreeDrafts)},
      {"static", serving(R"("scheduler": {"static_batching": true, "max_num_seqs": 8})")},
      {"eagle3, by goodput", serving(R"("policy": "goodput")", kThreeDrafts)},
      {"three replicas", serving(R"("replicas": 3, "routing": "least_loaded")", kThreeDrafts)},
      {"disaggregated",
       serving(
           R"("replicas": 1, "disaggregation": {"prefill_replicas": 1, "bandwidth": "50 GB/s", "latency": "1 ms"})")},
      {"bursts",
       serving("", kThreeDrafts, R"({"arrivals": {"process": "gamma", "rate": "4 /s", "cv": 3}, "requests": 300,
                                         "lengths": {"prompt": {"distribution": "lognormal", "mean": 800, "cv": 1},
                                                     "output": {"distribution": "uniform", "least": 10, "most": 400}}})")}};
  const std::filesystem::path file = std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "tests/golden/event_streams.json";
  nlohmann::json now;
  for (const auto& [name, json] : scenes) {
    const Scene s(json);
    const std::uint64_t here = s.at(0).runs.front().figures.fingerprint();
    std::uint64_t there = 0;  // another thread, another sweep
    std::thread([&there, text = json] { there = Scene(text).at(0).runs.front().figures.fingerprint(); }).join();
    CHECK(here == there);
    now[name] = to_hex(here);
  }
  if (std::getenv("DRAFTLINE_APPROVE") != nullptr) std::ofstream(file) << now.dump(2) << "\n";
  const auto approved = nlohmann::json::parse(std::ifstream(file));
  for (const auto& [name, value] : now.items()) {
    INFO(name);
    CHECK(approved.value(name, "") == value.get<std::string>());
  }
}

TEST_CASE("300 requests served by vLLM on an RTX 4090 are predicted from step tables of its kernels") {
  const std::filesystem::path data = DRAFTLINE_REFERENCE_DATA;
  const auto log = data / "serving/rtx4090_llama31_8b_vllm/requests.jsonl";
  if (data.empty() || !std::filesystem::exists(log)) {
    SKIP_TEST("needs the reference data (DRAFTLINE_REFERENCE_DATA)");
  }
  double ttft = 0, tpot = 0, n = 0, first = 1e300, last = 0;
  std::ifstream in(log);
  for (std::string line; std::getline(in, line); ++n) {
    const auto r = nlohmann::json::parse(line);
    const double token = r.at("first_token_ts"), queued = r.at("queued_ts"), end = r.at("last_token_ts");
    ttft += token - queued;
    tpot += (end - token) / (r.at("output_toks").get<double>() - 1);
    first = std::min(first, queued);
    last = std::max(last, end);
  }
  ttft /= n, tpot /= n;
  const Scene s(R"({"device": "rtx-4090", "transformer": "llama-3.1-8b", "engine": "vllm-0.19",
                    "method": {"name": "autoregressive"}, "workload": {"arrivals": {"trace": ")" +
                log.string() +
                R"("}}, "scheduler": {"max_num_seqs": 256, "max_num_batched_tokens": 2048, "kv_blocks": 2588}})");
  const ServingResult result = s.at(0);
  const ServingFigures& f = result.runs.front().figures;
  WARN("TPOT " << 1e3 * f.tpot.mean().value << " ms, served " << 1e3 * tpot << "; TTFT " << f.ttft.mean().value
               << " s, served " << ttft << "; makespan " << f.makespan().value << " s, served " << last - first);
  CHECK(f.tpot.mean().value == Approx(tpot).epsilon(0.03));
  CHECK(f.ttft.mean().value == Approx(ttft).epsilon(0.10));
  CHECK(f.makespan().value == Approx(last - first).epsilon(0.03));
}

TEST_CASE("a policy that drafts less in large batches lets them grow, as far as each step fits the token budget") {
  const auto limit = [](const std::string& policy, int budget) {
    return Scene(serving(R"("scheduler": {"max_num_seqs": 400, "max_num_batched_tokens": )" + std::to_string(budget) +
                             R"(}, "policy": )" + policy,
                         kThreeDrafts))
        .at(0)
        .batch_limit;
  };
  CHECK(limit(R"("fixed")", 512) == 128);
  CHECK(limit(R"({"off_above": 100})", 512) == 400);
  CHECK(limit(R"({"off_above": 200})", 512) == 128);  // no step of 129 sequences fits
  CHECK(limit(R"({"draft_length_by_batch_size": {"1": 3, "64": 1}})", 512) == 256);
  CHECK(limit(R"("goodput")", 512) == 128);
  CHECK(mistakes_of_serving(serving(R"("scheduler": {"max_num_batched_tokens": 3})", kThreeDrafts)) ==
        "skipped: \"max_num_batched_tokens\" is 3, but a sequence verifies 4 rows in a step");
}

}  // namespace draftline
