// SPDX-License-Identifier: Apache-2.0
// Tables of one's own kernels in, a device out, as docs/recipes/your_gpu.md shows it and as people's folders are.
#include <nlohmann/json.hpp>

#include "core/gzip.h"
#include "core/text_file.h"
#include "tests/cli/program.h"

namespace draftline {

using Json = nlohmann::json;

namespace {

namespace fs = std::filesystem;

const fs::path kSource = DRAFTLINE_SOURCE_DIR;
const std::string kOwn = " --source own-tables ";
const std::string kSums =
    "op_name,nccl_dtype,num_gpus,message_size,latency\nall_reduce,half,2,512,0.02\nall_reduce,half,2,4096,0.03\n"
    "all_reduce,half,2,32768,0.06\nbroadcast,half,2,512,0.02\n";

// The file of docs/recipes/your_gpu.md without its fits: a datasheet alone, and what connects the card to others.
std::string datasheet() {
  const std::string page = read_text_file(kSource / "docs/recipes/your_gpu.md"), begin = "```json\n";
  const auto at = page.find(begin) + begin.size();
  Json card = Json::parse(page.substr(at, page.find("```\n", at) - at));
  card.erase("fits");
  card["links"] = {{"switched", false}, {"compute_capability", "12.0"}};
  return card.dump();
}

// A folder of one small table, which nothing is fitted to but links: quick to calibrate.
void write_sums(const Program& draftline) {
  fs::create_directories(draftline.path("tables"));
  draftline.write("tables/nccl.csv", kSums);
  fs::create_directories(draftline.path("cards"));
  draftline.write("cards/my-gpu.json", datasheet());
}

// The block of the page that begins with this line of a shell.
std::string shell_block(const std::string& command) {
  const std::string page = read_text_file(kSource / "docs/recipes/your_gpu.md");
  const auto at = page.find("$ " + command);
  REQUIRE(at != std::string::npos);
  return page.substr(at, page.find("```", at) - at);
}

}  // namespace

TEST_CASE("docs/recipes/your_gpu.md: a datasheet and a folder of tables make a device, with excluded rows and errors") {
  const Program draftline;
  fs::copy(kSource / "tests/fixtures/tables", draftline.path("tables"));
  draftline.write("my-gpu.json", datasheet());
  const std::string block = shell_block("draftline calibrate tables"), command = block.substr(2, block.find('\n') - 2);
  const Ran r = draftline(command.substr(command.find(' ') + 1) + " --compare rtx-4090");
  INFO(r.err);
  REQUIRE(r.code == 0);
  // All that the page shows of the rows, word for word; of the errors, the ops and how many points each has.
  std::istringstream lines(block);
  int rows = 0, ops = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find(" row") != std::string::npos) {
      ++rows;
      CHECK(contains(r.err, line + "\n"));
    } else if (const auto error = line.find(" %"); error != std::string::npos) {
      ++ops;
      const auto begin = line.find_last_not_of("0123456789.", error - 1);
      CHECK(contains(r.out, line.substr(0, line.find_last_not_of(' ', begin) + 1)));
    }
  }
  CHECK(rows >= 7);
  CHECK(ops >= 8);
  CHECK(contains(r.err, "copy: not measured, and no fit of my-gpu.json; that of "));
  CHECK(contains(r.out, "decode attention of flash_attention_2 over bf16, cache within twice L2"));
  CHECK(contains(r.out, "A: this calibration, fitted to these points; B: rtx-4090"));
  CHECK(contains(r.out, "\nexperts"));

  const Json device = Json::parse(draftline.read("measured-gpu.json"));
  for (const char* op : {"gemm", "experts"}) CHECK(device.at("fits").at(op).at("source") == "own-tables");
  CHECK(device.at("links").at("tables").size() == 4);
  draftline.write("s.json", R"({"device": "./measured-gpu.json", "transformer": "llama-3.1-8b", "engine": "vllm",
    "method": {"name": "autoregressive"}, "tensor_parallel": 2, "batch_size": 8, "prompt_tokens": 100, "output_tokens": 10})");
  const Ran run = draftline("run s.json");
  INFO(run.err);
  CHECK(run.code == 0);
}

TEST_CASE("a device's file may lie in any folder, and tables under any name") {
  const Program draftline;
  write_sums(draftline);
  fs::remove(draftline.path("tables/nccl.csv"));
  std::ofstream(draftline.path("tables/nccl_perf.txt"), std::ios::binary) << gzip(kSums);
  const Ran r = draftline("calibrate tables --device cards/my-gpu.json --out deep.json" + kOwn);
  INFO(r.err);
  CHECK(r.code == 0);
  CHECK(contains(r.err,
                 "nccl_perf.txt: 3 of 4 rows used\nnccl_perf.txt: 1 row left out: broadcast, which no step calls\n"));
  CHECK(contains(r.out, "all_reduce of nccl"));
  CHECK(Json::parse(draftline.read("deep.json")).at("links").at("tables").at(0).at("locator") == "tables");
}

TEST_CASE("a source that is not known is told, with the nearest that is") {
  const Program draftline;
  write_sums(draftline);
  const std::string ask = "calibrate tables --device h100-sxm --out d.json ";
  const Ran none = draftline(ask);
  CHECK(none.code == 2);
  CHECK(contains(none.err, "--source: give the origin of the tables"));
  CHECK(contains(draftline(ask + "--source aiconfigurater").err,
                 "--source: \"aiconfigurater\" is not a key of data/sources.json; did you mean \"aiconfigurator\"?"));
  CHECK(contains(draftline(ask + "--source aiconf").err, "did you mean \"aiconfigurator\"?"));
  const Ran far = draftline(ask + "--source quitedifferent");
  CHECK(far.code == 0);
  CHECK(contains(far.err, "\"quitedifferent\" is not a key of data/sources.json\n"));
  CHECK_FALSE(contains(draftline(ask + kOwn).err, "warning"));
}

TEST_CASE("what step tables were measured on may be a folder, divided among devices") {
  const Program draftline;
  fs::create_directories(draftline.path("steps"));
  fs::create_directories(draftline.path("network"));
  fs::copy(kSource / "data/transformers/llama-3.1-8b.json", draftline.path("network/config.json"));
  draftline.write("steps/dense.csv", "layer,tokens,time_us\nact_fn,1,2\nqkv_proj,4096,90\n");
  const std::string ask = "calibrate steps --device h100-sxm --transformer network" + kOwn;
  const Ran r = draftline(ask + "--tensor-parallel 4");
  CHECK(r.code == 2);  // it was read, and nothing of it can be fitted
  CHECK(contains(r.err, "steps: has no times of a GPU's kernels in the model's domain"));
  CHECK(contains(draftline(ask + "--tensor-parallel 3").err, "heads"));
}

TEST_CASE("what a folder of tables has wrong is exit code 2 with its place, and nothing is written or lost") {
  const Program draftline;
  write_sums(draftline);
  struct Case {
    std::string file, text, arguments, message;
  };
  const Case c = GENERATE(
      Case{"", "", "tables --device h100-sxm --out tables/nccl.csv", "--out: tables/nccl.csv is an input and would be"},
      Case{"", "", "tables --device cards/my-gpu.json --out cards/my-gpu.json", "--out: cards/my-gpu.json is an input"},
      Case{"", "", "tables --device h100-sxm --compare ./cards/my-gpu.json --compare-out cards/my-gpu.json",
           "cards/my-gpu.json is an input and would be overwritten"},
      Case{"", "", "tables/nccl.csv --device h100-sxm", "tables/nccl.csv: is a single table; give the folder"},
      Case{"", "", "tables --device h100-sxm --engine-out e.json",
           "--engine-out: tables of kernels contain no host times"},
      Case{"tables/gemm.parquet", "PAR1", "tables --device h100-sxm", "gemm.parquet: is a Parquet file"},
      Case{"tables/moe.csv", "a\n1\n", "tables --device h100-sxm", "moe.csv: no column \"moe_dtype\""},
      Case{"tables/nccl.csv.gz", kSums, "tables --device h100-sxm", "are both tables of nccl; leave one"},
      Case{"tables/nccl.csv", "op_name,nccl_dtype,num_gpus,message_size,latency\nall_reduce,half,1,512,0.1\n",
           "tables --device h100-sxm", "nccl.csv:2: a group has 2 to 1024 GPUs"},
      Case{"", "", "tables --device cpu", "--device: cpu is a CPU, and tables holds times of a GPU"});
  if (!c.file.empty()) draftline.write(c.file, c.text);
  const std::string before = draftline.read("tables/nccl.csv"), card = draftline.read("cards/my-gpu.json");
  const Ran r = draftline("calibrate " + c.arguments + kOwn);
  CHECK(r.code == 2);
  CHECK(contains(r.err, c.message));
  CHECK(r.out.empty());
  CHECK(draftline.read("tables/nccl.csv") == before);
  CHECK(draftline.read("cards/my-gpu.json") == card);
}

TEST_CASE("calibrate's help teaches which tables it takes") {
  const Ran r = Program()("calibrate --help");
  for (const char* part : {"generation_attention", "custom_allreduce", "gzipped or not", "own-tables",
                           "docs/recipes/your_gpu.md", "a folder with"})
    CHECK(contains(r.out, part));
}

TEST_CASE("a page of calibrate shows this calibration's predictions, whatever it is compared with") {
  const Program draftline;
  fs::copy(kSource / "tests/fixtures/tables", draftline.path("tables"));
  draftline.write("my-gpu.json", datasheet());
  const std::string fits = "calibrate tables --device ./my-gpu.json" + kOwn + "--out out.json ";
  REQUIRE(draftline(fits + "--html alone.html").code == 0);
  REQUIRE(draftline(fits + "--html beside.html --compare rtx-4090").code == 0);
  const std::string alone = draftline.read("alone.html");
  CHECK(contains(alone, "predictions of this calibration, fitted to these points"));
  CHECK(contains(alone, "Errors of the fits"));
  CHECK(!contains(alone, "input files and their fingerprints"));  // the page lists none
  CHECK(alone == draftline.read("beside.html"));
}

}  // namespace draftline
