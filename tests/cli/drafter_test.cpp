// SPDX-License-Identifier: Apache-2.0
// Trained and random drafters of `decode`: what is refused, and that every output tells which weights drafted.
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "core/gzip.h"
#include "core/text_file.h"
#include "decoder/checkpoint/huggingface.h"
#include "tests/cli/program.h"
#include "tests/decoder/safetensors_bytes.h"
#include "trace/trace.h"

namespace draftline {

using Json = nlohmann::json;

namespace {

const std::string kFixtures = std::string(DRAFTLINE_SOURCE_DIR) + "/tests/fixtures";
const std::string kLlama = " --transformer '" + kFixtures + "/llama' --prompts 2 --prompt-tokens 6 --new-tokens 8 ";

std::string method(const std::string& name, const std::string& fixture, int drafts = 2) {
  Json object{{"name", name}, {"draft_length", drafts}};
  if (!fixture.empty()) object["checkpoint"] = kFixtures + "/drafters/" + fixture;
  return "--method '" + object.dump() + "' ";
}

Json decoded(const Program& draftline, const std::string& arguments) {
  const Ran r = draftline("decode" + arguments + "--json");
  INFO(r.err);
  REQUIRE(r.code == 0);
  return Json::parse(r.out);
}

// A scenario of `run` with a trace's acceptance, on the fixture's target.
std::string traced_scenario(const std::string& method, const std::string& trace) {
  return Json{
      {"device", "rtx-4090"},  {"transformer", kFixtures + "/llama"},
      {"engine", "draftline"}, {"prompt_tokens", 6},
      {"output_tokens", 8},    {"method", {{"name", method}, {"draft_length", 2}, {"acceptance", {{"trace", trace}}}}}}
      .dump();
}

}  // namespace

TEST_CASE("a drafter without weights is refused beside a checkpoint, with what to give instead") {
  const Program draftline;
  const auto refused = [&](const std::string& method) {
    const Ran r = draftline("decode" + kLlama + "--method '" + method + "' --trace t.gz");
    CHECK(r.code == 2);
    CHECK_FALSE(std::filesystem::exists(draftline.path("t.gz")));
    CHECK(contains(r.err, "; or ask for random ones by --random-drafter, which every output then says"));
    return r.err;
  };
  for (const char* name : {"eagle1", "eagle2", "hass", "eagle3", "medusa", "medusa_typical", "mtp_sequential"})
    CHECK(contains(refused(R"({"name": ")" + std::string(name) + R"(", "draft_length": 2})"),
                   "drafts with trained weights: give the drafter's folder in the method's object, \"checkpoint\""));
  for (const char* name : {"hydra", "hydra_plus", "clover", "kangaroo", "specformer", "mtp_heads", "s3d", "space"})
    CHECK(contains(refused(R"({"name": ")" + std::string(name) + R"(", "draft_length": 2})"),
                   std::string(name) + " drafts with trained weights, for which no format is published"));
  draftline.write("half.json", read_text_file(kFixtures + "/llama/config.json"));
  CHECK(contains(refused(R"({"name": "draft_model", "draft": "./half.json"})"),
                 "\"draft\" names a network without weights: give the folder of its checkpoint"));
  CHECK(draftline("decode" + kLlama + "--method prompt_lookup").code == 0);
  CHECK(draftline("decode" + kLlama + "--method layerskip").code == 0);
}

namespace {

using Tensors = std::vector<std::pair<std::string, std::vector<int>>>;

// A folder with fp32 tensors of zeros, except for `norm`, which has the given values.
void write_named(const Program& draftline, const Tensors& tensors, const std::string& norm,
                 const std::vector<float>& values) {
  Json header;
  std::string data;
  for (const auto& [name, shape] : tensors) {
    int n = 1;
    for (const int size : shape) n *= size;
    const std::string bytes = fp32_bytes(name == norm ? values : std::vector<float>(static_cast<std::size_t>(n)));
    header[name] = {{"dtype", "F32"}, {"shape", shape}, {"data_offsets", {data.size(), data.size() + bytes.size()}}};
    data += bytes;
  }
  std::filesystem::create_directories(draftline.path("named"));
  write_bytes(draftline.path("named/model.safetensors"), safetensors(header.dump(), data));
}

Json emitted(const Json& decoded) {
  Json all;
  for (const Json& text : decoded.at("texts")) all.push_back({text.at("tokens"), text.at("emitted_per_step")});
  return all;
}

}  // namespace

TEST_CASE("a method without a published format drafts with a folder of the decoder's names") {
  const Program draftline;
  std::vector<float> norm(48);
  HuggingFaceFolder(kFixtures + "/llama").load("final_norm", 1, 48, norm);
  Tensors adapter{
      {"kangaroo.input_norm", {48}}, {"kangaroo.qkv", {48, 80}}, {"kangaroo.o", {48, 48}}, {"kangaroo.norm", {48}}};
  write_named(draftline, adapter, "kangaroo.norm", norm);
  const std::string kangaroo = R"(--method '{"name": "kangaroo", "draft_length": 3, "exit": 2, "threshold": 0}' )",
                    layerskip = R"(--method '{"name": "layerskip", "draft_length": 3, "exit": 2}' )",
                    named = "--drafter-weights '" + draftline.path("named") + "' ";
  SECTION("an adapter that adds nothing drafts as the layers alone do") {
    const Json own = decoded(draftline, kLlama + kangaroo + named);
    CHECK(starts_with(own.at("resolved").at("drafter_weights").get<std::string>(), "checkpoint "));
    CHECK(emitted(own) == emitted(decoded(draftline, kLlama + layerskip)));
    CHECK(emitted(own) != emitted(decoded(draftline, kLlama + kangaroo + "--random-drafter ")));
  }
  const auto refused = [&](const std::string& arguments) {
    const Ran r = draftline("decode" + arguments);
    CHECK(r.code == 2);
    return r.err;
  };
  SECTION("missing, misshaped and unknown tensors are listed") {
    adapter = {{"kangaroo.input_norm", {48}}, {"kangaroo.qkv", {80, 48}}, {"kangaroo.norm", {48}}};
    write_named(draftline, adapter, "", {});
    const std::string wrong = refused(kLlama + kangaroo + named);
    CHECK(contains(wrong, "\"kangaroo.o\" is missing"));
    CHECK(contains(wrong, "kangaroo.qkv\": its shape is [80, 48]"));
    adapter = {{"kangaroo.input_norm", {48}},
               {"kangaroo.qkv", {48, 80}},
               {"kangaroo.o", {48, 48}},
               {"kangaroo.norm", {48}},
               {"kangaroo.more", {1}}};
    write_named(draftline, adapter, "", {});
    CHECK(contains(refused(kLlama + kangaroo + named), "\"kangaroo.more\""));
  }
  SECTION("methods that have no such weights refuse them") {
    CHECK(
        contains(refused(kLlama + layerskip + named), "--drafter-weights: the method has no weights but the target's"));
    CHECK(contains(refused(kLlama + method("eagle3", "eagle3") + named),
                   "--drafter-weights: the method has the weights of its \"checkpoint\""));
    CHECK(contains(refused(" --transformer llama-3.2-1b " + kangaroo + named),
                   "--drafter-weights: they belong to those of a target, and --transformer names no checkpoint"));
  }
}

TEST_CASE("decode says whether the drafter is a checkpoint's or random, in text and JSON") {
  const Program draftline;
  const Json trained = decoded(draftline, kLlama + method("eagle3", "eagle3"));
  CHECK(starts_with(trained.at("resolved").at("drafter_weights").get<std::string>(), "checkpoint "));
  CHECK(trained.at("acceptance_length").at("kind") == "measured");
  CHECK(trained.at("input_files").size() == 3);  // config.json, the target's weights and the drafter's
  CHECK_FALSE(contains(draftline("decode" + kLlama + method("eagle3", "eagle3")).err, "random"));

  const std::string random = kLlama + "--random-drafter " + method("eagle3", "");
  const Json made_up = decoded(draftline, random);
  CHECK(made_up.at("resolved").at("weights") == "checkpoint");
  CHECK(made_up.at("resolved").at("drafter_weights") == "random, seed 0");
  CHECK(made_up.at("acceptance_length").at("kind") == "input");
  CHECK(contains(draftline("decode" + random).err, "(bonus included; drafter: random, seed 0)"));

  const Json none = decoded(draftline, kLlama + "--method prompt_lookup ");
  CHECK(none.at("resolved").at("drafter_weights").is_null());
  draftline.write("tiny.json", read_text_file(kFixtures + "/llama/config.json"));  // a shape without weights
  const Json both =
      decoded(draftline, " --transformer ./tiny.json --new-tokens 2 --prompts 1 " + method("medusa", "", 1));
  CHECK(both.at("resolved").at("weights") == "random");
  CHECK(both.at("resolved").at("drafter_weights") == "random, seed 0");
}

TEST_CASE("a trace of a random drafter says so, and what `run` and `decode` make of it too") {
  const Program draftline;
  const Ran recorded = draftline("decode" + kLlama + method("medusa", "") + "--random-drafter --trace random.gz");
  REQUIRE(recorded.code == 0);
  CHECK(ends_with(recorded.err, "; drafter: random, seed 0\n"));
  const Json as_json = decoded(draftline, kLlama + method("medusa", "medusa") + "--trace trained.gz ");
  CHECK(starts_with(as_json.at("drafter_weights").get<std::string>(), "checkpoint "));
  CHECK(Trace::read(draftline.path("random.gz")).header().random_weights() == "drafter");
  CHECK(Trace::read(draftline.path("trained.gz")).header().random_weights().empty());

  draftline.write("random.json", traced_scenario("medusa", "random.gz"));
  Json own = Json::parse(traced_scenario("medusa", "trained.gz"));
  own["method"]["checkpoint"] = kFixtures + "/drafters/medusa";
  draftline.write("trained.json", own.dump());
  const Ran table = draftline("run random.json"), csv = draftline("run random.json --csv");
  INFO(table.err);
  CHECK(contains(table.out, "random weights"));
  CHECK(contains(csv.out, "random_weights"));
  CHECK(contains(csv.out, ",drafter,"));
  const Json json = Json::parse(draftline("run random.json --json").out);
  CHECK(json.at("results").at(0).at("inputs").at("random_weights") == "drafter");
  for (const char* form : {"", " --csv", " --json"}) {
    const Ran r = draftline("run trained.json" + std::string(form));
    INFO(r.err);
    CHECK(r.code == 0);
    CHECK_FALSE(contains(r.out, "random"));
  }
  const Ran forced = draftline("decode" + kLlama + method("medusa", "medusa") + "--accept-trace random.gz");
  CHECK(contains(forced.err, "forced by a trace of a random drafter"));
}

TEST_CASE("a trace replays the drafter that it was recorded of, by its folder") {
  const Program draftline;
  REQUIRE(draftline("decode" + kLlama + method("eagle1", "eagle") + "--trace t.gz").code == 0);
  draftline.write("other.json", traced_scenario("eagle1", "t.gz"));
  const Ran r = draftline("run other.json");
  CHECK(r.code == 2);
  CHECK(contains(r.err, "the trace was recorded with another drafter"));
}

TEST_CASE("a trace knows its drafter by the weights, not by the folder's name") {
  namespace fs = std::filesystem;
  const Program draftline;
  const fs::path folder = draftline.path("eagle"), moved = draftline.path("moved");
  fs::copy(kFixtures + "/drafters/eagle", folder);
  const auto scenario_with = [&](const std::string& checkpoint) {
    Json s = Json::parse(traced_scenario("eagle1", "t.gz"));
    s["method"]["checkpoint"] = checkpoint;
    draftline.write("s.json", s.dump());
    return draftline("run s.json");
  };
  REQUIRE(draftline("decode" + kLlama + "--trace t.gz --method '" +
                    Json{{"name", "eagle1"}, {"draft_length", 2}, {"checkpoint", "./eagle"}}.dump() + "'")
              .code == 0);
  CHECK(scenario_with("./eagle").code == 0);
  fs::copy(folder, moved);
  const Ran same = scenario_with("./moved");
  INFO(same.err);
  CHECK(same.code == 0);

  const fs::path weights = folder / "model.safetensors";
  fs::permissions(weights, fs::perms::owner_write, fs::perm_options::add);
  {  // the first value of the first tensor
    std::fstream file(weights, std::ios::in | std::ios::out | std::ios::binary);
    std::uint64_t header = 0;
    file.read(reinterpret_cast<char*>(&header), sizeof header);
    file.seekp(static_cast<std::streamoff>(sizeof header + header));
    file.write("\0\0\0\x3f", 4);
  }
  for (const char* verb : {"run", "advise --no-load"}) {
    scenario_with("./eagle");
    const Ran other = draftline(verb + std::string(" s.json"));
    CHECK(other.code == 2);
    CHECK(contains(other.err,
                   "s.json#/method/acceptance/trace: the trace was recorded with other weights of the drafter"));
  }
  fs::remove(weights);  // the folder holds no more than the configuration now
  CHECK(scenario_with("./eagle").code == 0);
  Json config = Json::parse(read_text_file(folder / "config.json"));
  config["intermediate_size"] = 4096;
  fs::permissions(folder / "config.json", fs::perms::owner_write, fs::perm_options::add);
  draftline.write("eagle/config.json", config.dump());
  const Ran wide = scenario_with("./eagle");
  CHECK(wide.code == 2);
  CHECK(contains(wide.err, "the trace was recorded with a drafter of another configuration"));
}

TEST_CASE("an acceptance that was forced is no measured one") {
  const Program draftline;
  const std::string medusa = kLlama + method("medusa", "medusa");
  REQUIRE(draftline("decode" + medusa + "--trace t.gz").code == 0);
  for (const char* by : {"--accept 1,0 ", "--accept-trace t.gz "}) {
    const Json forced = decoded(draftline, medusa + by);
    CHECK(forced.at("acceptance_length").at("kind") == "input");
    CHECK(forced.at("resolved").at("acceptance") == "forced");
  }
  const Json own = decoded(draftline, medusa);
  CHECK(own.at("acceptance_length").at("kind") == "measured");
  CHECK(own.at("resolved").at("acceptance") == "decoded");
}

TEST_CASE("a drafter's folder is told where the method names it, with what is wrong in it") {
  const Program draftline;
  const Ran none = draftline("decode" + kLlama + "--method '{\"name\": \"eagle3\", \"checkpoint\": \"./none\"}'");
  CHECK(none.code == 2);
  CHECK(contains(none.err, "none: no such folder"));
  const Ran other = draftline("decode" + kLlama + method("eagle3", "medusa"));
  CHECK(other.code == 2);
  CHECK(contains(other.err, "medusa/config.json#: missing key"));
  const Ran more = draftline("decode" + kLlama + method("medusa", "medusa", 5));
  CHECK(more.code == 2);
  CHECK(contains(more.err, "--method#/checkpoint: has 4 heads, and 5 levels are drafted"));
  draftline.write("tiny.json", read_text_file(kFixtures + "/llama/config.json"));
  const Ran alone = draftline("decode --transformer ./tiny.json " + method("eagle3", "eagle3"));
  CHECK(alone.code == 2);
  CHECK(contains(alone.err, "--method#/checkpoint: a drafter's weights belong to those of its target"));
  const Ran useless = draftline("decode" + kLlama + method("kangaroo", "eagle3"));
  CHECK(useless.code == 2);
  CHECK(contains(useless.err, "--method#/checkpoint: unknown key"));
}

TEST_CASE("a prediction has the widths of the drafter's config.json") {
  const Program draftline;
  const auto step_time = [&](const char* checkpoint) {
    Json s{{"device", "rtx-4090"},
           {"transformer", kFixtures + "/llama"},
           {"engine", "draftline"},
           {"prompt_tokens", 100},
           {"output_tokens", 100},
           {"method", {{"name", "eagle3"}, {"draft_length", 2}, {"acceptance", {{"rate", 0.5}}}}}};
    if (checkpoint != nullptr) s["method"]["checkpoint"] = checkpoint;
    draftline.write("s.json", s.dump());
    const Ran r = draftline("run s.json --json --explain");
    INFO(r.err);
    REQUIRE(r.code == 0);
    return r.out;
  };
  std::filesystem::create_directory(draftline.path("wide"));
  Json config = Json::parse(read_text_file(kFixtures + "/drafters/eagle3/config.json"));
  config["intermediate_size"] = 4096;
  draftline.write("wide/config.json", config.dump());
  CHECK(contains(step_time("./wide"), "8192"));  // gate and up together
  CHECK_FALSE(contains(step_time(nullptr), "8192"));
  config["hidden_size"] = 64;
  draftline.write("wide/config.json", config.dump());
  const Ran r = draftline("run s.json");
  CHECK(r.code == 0);  // the last scenario names no checkpoint
}

TEST_CASE("prompts come from a file or from standard input, a line for each") {
  const Program draftline;
  const std::string decode = "decode --transformer '" + kFixtures + "/llama' --new-tokens 4 ";
  std::string ids;
  for (int i = 0; i < 100; ++i) ids += std::to_string(i % 90) + " ";
  draftline.write("prompts", ids + "\n4 5\n");
  const Ran given = draftline(decode + "--prompt '" + ids + "' --prompt '4 5'"),
            read = draftline(decode + "--prompt-file prompts"),
            piped = draftline(decode + "--prompt-file - < prompts", "> out");
  INFO(read.err << piped.err);
  CHECK(given.code == 0);
  CHECK(!given.out.empty());
  CHECK(read.out == given.out);
  CHECK(piped.out == given.out);
  draftline.write("wrong", "1 2\n3 x\n");
  draftline.write("empty", "");
  CHECK(contains(draftline(decode + "--prompt-file wrong").err, "wrong:2: word 2 is no token id"));
  CHECK(contains(draftline(decode + "--prompt-file empty").err, "empty: has no prompts"));
  CHECK(contains(draftline(decode + "--prompt-file nowhere").err, "nowhere"));
  CHECK(contains(draftline(decode + "--prompt '1' --prompt-file prompts").err, "excludes"));
}

}  // namespace draftline
