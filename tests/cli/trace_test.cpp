// SPDX-License-Identifier: Apache-2.0
// From a recorded trace to a prediction: `decode --trace`, then `run` with a tree that is made of it.
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "core/text_file.h"
#include "predict/sweep.h"
#include "tests/cli/program.h"

namespace draftline {

using Json = nlohmann::json;

namespace {

const Json kTarget{{"architectures", {"LlamaForCausalLM"}},
                   {"model_type", "llama"},
                   {"hidden_act", "silu"},
                   {"hidden_size", 32},
                   {"intermediate_size", 48},
                   {"num_hidden_layers", 3},
                   {"num_attention_heads", 4},
                   {"num_key_value_heads", 2},
                   {"max_position_embeddings", 1000},
                   {"tie_word_embeddings", false},
                   {"vocab_size", 40},
                   {"rms_norm_eps", 1e-5},
                   {"rope_theta", 10000.0}};

Json tiny_scenario(Json methods) {
  return {{"device", "rtx-4090"},         {"transformer", "./tiny.json"}, {"engine", "draftline"},
          {"method", std::move(methods)}, {"prompt_tokens", 16},          {"output_tokens", 32}};
}
Json optimal(int budget, Json acceptance) {
  return {{"name", "mcsd"},
          {"draft", "./tiny.json"},
          {"tree", {{"optimal", {{"budget", budget}}}}},
          {"acceptance", std::move(acceptance)}};
}
Json traced(const std::string& file) { return {{"trace", file}}; }

// Root paths of the tree that each method of a scenario drafts, as predicted.
std::vector<std::vector<std::vector<int>>> trees(const Program& draftline, const std::string& file) {
  Sweep sweep(draftline.path(file), kData);
  sweep.validate();
  std::vector<std::vector<std::vector<int>>> all;
  for (std::size_t i = 0; i < sweep.scenario().points(); ++i) {
    const Point p = point_at(sweep.scenario(), i);
    all.push_back(rank_paths(sweep.recordings().method(sweep.setup(p), sweep.scenario().methods[p.method])));
  }
  return all;
}

}  // namespace

TEST_CASE("an optimal tree is made of a recorded trace, and is that of the trace's ranks in print") {
  const Program draftline;
  draftline.write("tiny.json", kTarget.dump());
  const auto record = [&](const std::string& file, const std::string& noise, const std::string& method) {
    const Ran r = draftline("decode --transformer ./tiny.json --method '" + method + "' --prompts 6 --new-tokens 40 " +
                            "--draft-noise " + noise + " --trace " + file);
    INFO(r.err);
    REQUIRE(r.code == 0);
  };
  const std::string mcsd = R"({"name": "mcsd", "draft": "./tiny.json", "widths": [2, 2]})";
  record("sure.gz", "0.1", mcsd);
  record("unsure.gz", "0.6", mcsd);

  const auto printed = [&](const std::string& file) {
    return Json{{"ranks", Trace::read(draftline.path(file)).rank_acceptance()}};
  };
  draftline.write("traced.json", tiny_scenario({optimal(9, traced("sure.gz")), optimal(16, traced("sure.gz")),
                                                optimal(9, traced("unsure.gz"))})
                                     .dump());
  draftline.write("printed.json", tiny_scenario({optimal(9, printed("sure.gz")), optimal(16, printed("sure.gz")),
                                                 optimal(9, printed("unsure.gz"))})
                                      .dump());
  const auto of_trace = trees(draftline, "traced.json");
  CHECK(of_trace == trees(draftline, "printed.json"));
  REQUIRE(of_trace.size() == 3);
  CHECK(of_trace[0].size() == 9);
  CHECK(of_trace[1].size() == 16);
  CHECK(of_trace[0] != of_trace[2]);  // two traces, two plans: a sure draft makes a deep tree

  const Ran r = draftline("run traced.json --json");
  INFO(r.err);
  REQUIRE(r.code == 0);
  const Json results = Json::parse(r.out).at("results");
  REQUIRE(results.size() == 3);
  const double nine = results[0].at("acceptance_length").at("value"),
               sixteen = results[1].at("acceptance_length").at("value"),
               unsure = results[2].at("acceptance_length").at("value");
  CHECK((nine > 1 && sixteen >= nine && unsure < nine));

  // The tree of one trace on another's texts, which run predicts from its paths.
  const Json chosen = Json::parse(draftline("traces --json --tree 9 sure.gz unsure.gz").out);
  CHECK(chosen.at("tree").at("nodes").size() == 9);
  const Json &same = chosen.at("traces").at(0), &held_out = chosen.at("traces").at(1);
  CHECK(same.at("tokens_per_step").get<double>() == Approx(nine));
  CHECK(same.at("tokens_per_step") == same.at("tokens_per_step_of_own_best"));
  CHECK(held_out.at("tokens_per_step_of_own_best").get<double>() == Approx(unsure));
  Json fixed = optimal(9, traced("unsure.gz"));
  fixed["tree"] = chosen.at("tree");
  draftline.write("fixed.json", tiny_scenario(fixed).dump());
  const Json predicted = Json::parse(draftline("run fixed.json --json").out);
  CHECK(predicted.at("results").at(0).at("acceptance_length").at("value") == held_out.at("tokens_per_step"));
  CHECK(contains(draftline("traces --tree 9 sure.gz").out, "\"tree\":{\"nodes\":[["));
}

TEST_CASE("a trace of steps makes no optimal tree, and says so at the tree's place") {
  const Program draftline;
  draftline.write("tiny.json", kTarget.dump());
  REQUIRE(draftline("decode --transformer ./tiny.json --method '{\"name\": \"prompt_lookup\"}' --prompts 2 "
                    "--new-tokens 8 --trace steps.gz")
              .code == 0);
  draftline.write("s.json", tiny_scenario(optimal(4, traced("steps.gz"))).dump());
  const Ran r = draftline("run s.json");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "s.json#/method/tree: an optimal tree needs to know which ranks are accepted"));
  const Ran tree = draftline("traces --tree 4 steps.gz");
  CHECK(tree.code == 2);
  CHECK(contains(tree.err, "steps.gz: the trace holds the steps of"));
}

TEST_CASE("a text that is known is not decoded again for a trace, and a wrong one is refused") {
  const Program draftline;
  draftline.write("tiny.json", kTarget.dump());
  const std::string of = "decode --transformer ./tiny.json --prompts 3 --prompt-tokens 5 --new-tokens 12 ";
  const std::string eagle = "--method '{\"name\": \"eagle3\", \"draft_length\": 3}' --trace ";
  const Ran text = draftline(of);
  REQUIRE(text.code == 0);
  draftline.write("text.txt", text.out);
  REQUIRE(draftline(of + eagle + "alone.gz").code == 0);
  REQUIRE(draftline(of + eagle + "given.gz --continuations text.txt").code == 0);
  CHECK(read_text_file(draftline.path("alone.gz")) == read_text_file(draftline.path("given.gz")));

  draftline.write("wrong.txt", "1" + text.out.substr(text.out.find(' ')));
  draftline.write("two.txt", text.out.substr(text.out.find('\n') + 1));
  draftline.write("words.txt", "1 2 three\n\n\n");
  for (const auto& [file, message] :
       {std::pair{"wrong.txt", "the given text of prompt 0 is not the target's: its token 0 is 1, the target says"},
        {"two.txt", "two.txt: has 2 lines, there are 3 prompts"},
        {"words.txt", "words.txt:1: word 3 is no token id below 40"},
        {"none.txt", "none.txt: no such file"},
        {"/dev/zero", "/dev/zero: is no regular file"}}) {
    const Ran r = draftline(of + eagle + "no.gz --continuations " + file);
    CHECK(r.code == 2);
    CHECK(contains(r.err, message));
    CHECK_FALSE(std::filesystem::exists(draftline.path("no.gz")));
  }

  const Ran steps = draftline(of + eagle + "no.gz --temperature 0.7 --continuations text.txt");
  CHECK(steps.code == 2);
  CHECK(contains(steps.err, "--continuations: steps are recorded, which decode the text themselves: sampled text"));
}

TEST_CASE("a trace of a checkpoint serves that checkpoint alone") {
  namespace fs = std::filesystem;
  const Program draftline;
  const fs::path folder = draftline.path("llama");
  fs::copy(fs::path(DRAFTLINE_SOURCE_DIR) / "tests/fixtures/llama", folder, fs::copy_options::recursive);
  fs::permissions(folder / "model.safetensors", fs::perms::owner_write, fs::perm_options::add);
  REQUIRE(draftline("decode --transformer ./llama --method medusa --random-drafter --prompts 2 --new-tokens 8 "
                    "--trace t.gz")
              .code == 0);
  Json s = tiny_scenario({{"name", "medusa"}, {"acceptance", traced("t.gz")}});
  s["transformer"] = "./llama";
  s["prompt_tokens"] = 8;
  s["output_tokens"] = 8;
  draftline.write("s.json", s.dump());
  const Ran same = draftline("run s.json");
  INFO(same.err);
  CHECK(same.code == 0);
  {  // a value at the beginning of the first tensor in the file
    std::fstream file(folder / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary);
    std::uint64_t header = 0;
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    file.seekp(static_cast<std::streamoff>(sizeof header + header));
    file.write("\0\0\0\x3f", 4);
  }
  const Ran other = draftline("run s.json");
  CHECK(other.code == 2);
  CHECK(
      contains(other.err, "s.json#/method/acceptance: the trace was recorded on other weights of llama (checkpoint "));
}

TEST_CASE("a tree that grows with the text is replayed from its own trace alone") {
  const Program draftline;
  draftline.write("tiny.json", kTarget.dump());
  const Json clover{{"name", "clover"}, {"draft_length", 2}};
  const Ran recorded = draftline("decode --transformer ./tiny.json --prompts 4 --new-tokens 40 --method '" +
                                 clover.dump() + "' --trace clover.gz --json");
  REQUIRE(recorded.code == 0);
  CHECK(Json::parse(recorded.out).at("records") == "lengths");
  const Trace trace = Trace::read(draftline.path("clover.gz"));
  Json own = clover, other = clover;
  own["acceptance"] = other["acceptance"] = traced("clover.gz");
  other["nodes"] = 5;
  draftline.write("own.json", tiny_scenario(own).dump());
  draftline.write("other.json", tiny_scenario(other).dump());
  const Ran r = draftline("run own.json --json");
  INFO(r.err);
  REQUIRE(r.code == 0);
  CHECK(Json::parse(r.out).at("results")[0].at("acceptance_length").at("value").get<double>() ==
        trace.mean_length(DraftPlan::recorded(trace.header())));
  const Ran refused = draftline("run other.json");
  CHECK(refused.code == 2);
  CHECK(contains(refused.err, "other.json#/method/acceptance: the trace holds the lengths of "));
}

TEST_CASE("a trace says what is accepted and is not timed: options of the contrary are refused, not ignored") {
  const Program draftline;
  draftline.write("tiny.json", kTarget.dump());
  const std::string decode = "decode --transformer ./tiny.json --method medusa --new-tokens 4 ";
  for (const std::string option : {"--accept 0.5,0.5,0.5", "--accept-trace other.gz", "--warm-up 2", "--limits a100"}) {
    const Ran r = draftline(decode + "--trace t.gz " + option);
    INFO(option << ": " << r.err);
    CHECK(r.code == 2);
    CHECK(contains(r.err, "--trace excludes " + option.substr(0, option.find(' '))));
    CHECK_FALSE(std::filesystem::exists(draftline.path("t.gz")));
  }
  const Ran r = draftline(decode + "--task chat");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "--task requires --trace"));
}

TEST_CASE("a network with recurrent states is traced by the steps of a live run, which `run` then takes") {
  const Program draftline;
  const std::string hybrid = DRAFTLINE_SOURCE_DIR "/tests/fixtures/qwen3_5";
  const Ran traced =
      draftline("decode --transformer '" + hybrid +
                "' --method mtp_sequential --random-drafter --prompt '1 2 3' --new-tokens 24 --trace t.gz");
  INFO(traced.err);
  REQUIRE(traced.code == 0);
  CHECK(contains(traced.err, "steps: the target's recurrent states"));
  draftline.write("s.json",
                  nlohmann::json{{"device", "h100-sxm"},
                                 {"engine", "vllm"},
                                 {"transformer", hybrid},
                                 {"prompt_tokens", 3},
                                 {"output_tokens", 24},
                                 {"method", {{"name", "mtp_sequential"}, {"acceptance", {{"trace", "./t.gz"}}}}}}
                      .dump());
  const Ran r = draftline("run s.json --csv");
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(contains(r.out, "mtp_sequential"));
}

}  // namespace draftline
