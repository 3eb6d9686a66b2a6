// SPDX-License-Identifier: Apache-2.0
// What people do to a program without meaning to: pipes, full disks, files named twice, numbers that are none.
#include <filesystem>
#include <nlohmann/json.hpp>

#include "tests/cli/program.h"

namespace draftline {

namespace {

std::string eagle3_scenario(const std::string& more) {
  return R"({"device": "h100-sxm", "transformer": "llama-3.1-8b", "engine": "vllm", "prompt_tokens": 512,
             "output_tokens": 256, "method": {"name": "eagle3", "draft_length": 3, "acceptance": {"rate": 0.7}}, )" +
         more + "}";
}
const std::string kWorkload = R"("workload": {"requests": 20, "arrivals": {"process": "poisson", "rate": "5 /s"}})";

// A network of two layers with a vocabulary of 8 tokens.
const std::string kTiny = R"({"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 32,
  "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 64, "vocab_size": 8,
  "max_position_embeddings": 1000000, "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "hidden_act": "silu",
  "tie_word_embeddings": false, "torch_dtype": "float32"})";

}  // namespace

TEST_CASE("a scenario may come through a pipe, whatever the number of threads") {
  const Program draftline;
  const auto [verb, more] =
      GENERATE(std::pair{"run", R"("batch_size": [1, 2])"}, std::pair{"advise --no-load", R"("batch_size": 1)"},
               std::pair{"simulate", kWorkload.c_str()});
  draftline.write("s.json", eagle3_scenario(more));
  const Ran file = draftline(std::string(verb) + " s.json");
  REQUIRE(file.code == 0);
  const std::string folder = std::filesystem::path(draftline.path("x")).parent_path().string();
  REQUIRE(std::system(("cd '" + folder + "' && mkfifo p && (cat s.json > p &)").c_str()) == 0);
  const Ran pipe = draftline(std::string(verb) + " p --jobs 2");
  CHECK(pipe.code == 0);
  CHECK(pipe.out == file.out);
}

TEST_CASE("advice where no batch that was asked for fits is of the largest that does") {
  const Program draftline;
  draftline.write("s.json", eagle3_scenario(R"("batch_size": [700, 1000])"));
  const Ran r = draftline("advise s.json --no-load");
  REQUIRE(r.code == 0);
  CHECK(contains(r.out, "at batch 541: "));
  CHECK(draftline("advise s.json --no-load --json").code == 0);
}

TEST_CASE("help that can't be written is no success") {
  if (!std::filesystem::exists("/dev/full")) SKIP_TEST("there is no /dev/full");
  const Program draftline;
  CHECK(draftline(GENERATE("--help", "run --help", "--version"), "> /dev/full").code == 3);
}

TEST_CASE("a number that is none is wrong input") {
  const Program draftline;
  draftline.write("tiny.json", kTiny);
  const Ran r =
      draftline(GENERATE("decode --transformer ./tiny.json --temperature nan",
                         "decode --transformer ./tiny.json --temperature 1 --top-p NaN",
                         "decode --transformer ./tiny.json --draft-noise nan",
                         "probe --grid small --out m.json --seconds nan", "probe --grid small --out m.json --wait nan",
                         "validate --seconds nan", "check --anchors none.json --tolerance nan"));
  CHECK(r.code == 2);
  CHECK(r.out.empty());
}

TEST_CASE("what decoding would need is told before it is made") {
  const Program draftline;
  draftline.write("tiny.json", kTiny);
  const auto [options, message] =
      GENERATE(std::pair{"--prompts 4096 --batch-size 4096 --new-tokens 1000000", "its caches "},
               std::pair{"--prompts 1000000 --prompt-tokens 1000000", "tokens in total"},
               std::pair{"--trace t.gz --new-tokens 1", "must be at least 2"},
               std::pair{"--method medusa", "its own tree has 10 candidates at a level, and the vocabulary 8 tokens"});
  const Ran r = draftline("decode --transformer ./tiny.json " + std::string(options));
  CHECK(r.code == 2);
  CHECK(contains(r.err, message));
}

TEST_CASE("a file that is read, or written already, is not overwritten") {
  const Program draftline;
  draftline.write("s.json", eagle3_scenario(kWorkload));
  draftline.write("t.csv", "arrived_at,num_prefill_tokens,num_decode_tokens\n0,5,5\n1,5,5\n");
  draftline.write("traced.json", eagle3_scenario(R"("workload": {"arrivals": {"trace": "t.csv"}})"));
  const auto [arguments, message] = GENERATE(
      std::pair{"simulate s.json --requests r.csv --steps ./r.csv", "--steps: is also the file of --requests"},
      std::pair{"simulate s.json --timeline s.json", "--timeline: s.json is an input and would be overwritten"},
      std::pair{"simulate traced.json --requests t.csv", "t.csv is an input and would be overwritten"},
      std::pair{"calibrate t.csv --out t.csv", "--out: t.csv is an input and would be overwritten"},
      std::pair{"calibrate t.csv --out a.json --engine-out a.json", "--engine-out: is also the file of --out"},
      std::pair{"check s.json --junit s.json", "--junit: s.json is an input and would be overwritten"});
  const Ran r = draftline(arguments);
  CHECK(r.code == 2);
  CHECK(contains(r.err, message));
  CHECK(draftline.read("t.csv").starts_with("arrived_at"));
  CHECK_FALSE(std::filesystem::exists(draftline.path("r.csv")));
}

TEST_CASE("names that no file can have are wrong input") {
  const Program draftline;
  std::filesystem::create_symlink("two", draftline.path("one"));
  std::filesystem::create_symlink("one", draftline.path("two"));
  draftline.write("m.json", "{}");
  const std::string name =
      GENERATE(std::string(300, 'x'), "./" + std::string(300, 'x'), std::string("./one"), std::string("one"));
  for (const std::string verb :
       {"calibrate m.json --device ", "calibrate m.json --compare ", "decode --transformer ", "run "})
    CHECK(draftline(verb + name).code == 2);
}

TEST_CASE("a pipe is refused where a scenario names a file, and does not block") {
  const Program draftline;
  const std::string folder = std::filesystem::path(draftline.path("x")).parent_path().string();
  REQUIRE(std::system(("mkfifo '" + folder + "/p.json'").c_str()) == 0);
  const auto key = GENERATE(R"("device": "./p.json")", R"("transformer": "./p.json")", R"("engine": "./p.json")");
  const std::string name = std::string(key).substr(1, std::string(key).find('"', 1) - 1);
  std::string scenario = eagle3_scenario(R"("batch_size": 1)");
  const std::size_t at = scenario.find('"' + name + '"');
  scenario.replace(at, scenario.find(',', at) - at, key);
  draftline.write("s.json", scenario);
  const Ran r = draftline("run s.json");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "p.json: is no regular file"));
}

TEST_CASE("names of a scenario do not steer the terminal, and are no formulas of a spreadsheet") {
  const Program draftline;
  const std::string network = R"("layers": 4, "hidden": 1024, "heads": 16, "intermediate": 4096, "vocabulary": 32000)";
  const auto scenario = [&](const std::string& name) {
    return R"({"device": "h100-sxm", "engine": "vllm", "transformer": [{"name": ")" + name + "\", " + network +
           R"(}, "qwen2.5-0.5b"], "method": {"name": "autoregressive"}, "slo": {"ttft_p99": "1 s"},
           "workload": {"requests": 20, "arrivals": {"process": "poisson", "rate": "5 /s"}}})";
  };
  draftline.write("s.json", scenario("\\u001b[31mred\\u009b\\u202e"));
  for (const std::string verb : {"plan s.json", "plan s.json --html", "simulate s.json"}) {
    const Ran r = draftline(verb);
    REQUIRE(r.code == 0);
    CHECK(contains(r.out, "red"));
    for (const char* raw : {"\033", "\xC2\x9B", "\u202E"}) CHECK(!contains(r.out, raw));
  }
  draftline.write("s.json", scenario("=1+1"));
  const Ran csv = draftline("simulate s.json --csv");
  REQUIRE(csv.code == 0);
  CHECK(contains(csv.out, ",'=1+1,"));
  CHECK(!contains(csv.out, ",=1+1,"));
}

TEST_CASE("an output that exceeds the limit on files is no success, and leaves no file") {
  const Program draftline;
  draftline.write("s.json", eagle3_scenario(kWorkload));
  const std::string folder = std::filesystem::path(draftline.path("x")).parent_path().string();
  const int status = std::system(
      ("cd '" + folder + "' && (ulimit -f 1; '" DRAFTLINE_PROGRAM "' simulate s.json --steps f.csv > /dev/null 2> err)")
          .c_str());
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 3);
  CHECK(contains(draftline.read("err"), "f.csv: cannot be written in full"));
  CHECK_FALSE(std::filesystem::exists(draftline.path("f.csv")));
}

TEST_CASE("a copied device file is the same device") {
  const Program draftline;
  std::filesystem::copy_file(kData + "/devices/a100-sxm.json", draftline.path("copy.json"));
  draftline.write("s.json", R"({"device": ["a100-sxm", "./copy.json"], "transformer": "llama-3.1-8b", "engine": "vllm",
    "method": {"name": "autoregressive"}, "workload": {"requests": 2, "lengths": {"prompt": 20, "output": 4},
    "arrivals": {"process": "closed", "concurrency": 1}}})");
  const Ran r = draftline("simulate s.json --json");
  REQUIRE(r.code == 0);
  auto results = nlohmann::json::parse(r.out).at("results");
  REQUIRE(results.size() == 2);
  for (auto& result : results) result.erase("inputs");
  CHECK(results[0] == results[1]);
}

TEST_CASE("a scenario's question does not steer the terminal") {
  const Program draftline;
  draftline.write("s.json", eagle3_scenario(R"("question": "\u001b[2Jwhat?", "note": "\u0007", "batch_size": 1)"));
  const Ran r = draftline("run s.json");
  REQUIRE(r.code == 0);
  CHECK(contains(r.out, "\\u001b[2Jwhat?"));
  CHECK(!contains(r.out, "\033"));
  CHECK(!contains(r.out, "\007"));
}

}  // namespace draftline
