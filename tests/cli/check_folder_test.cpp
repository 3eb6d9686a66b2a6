// SPDX-License-Identifier: Apache-2.0
// `draftline check --scenarios`: which files of a folder are pinned, and what is said of the others.
#include <filesystem>

#include "tests/cli/edited_folder.h"

namespace draftline {

namespace {

namespace fs = std::filesystem;

struct ScenarioFolder : EditedFolder {
  ScenarioFolder() { fs::create_directories(path("mine")); }
};

}  // namespace

TEST_CASE("--scenarios pins every scenario of a folder; one that is new or gone is told") {
  const ScenarioFolder draftline;
  draftline.write("mine/run.json", kScenario);
  draftline.write("mine/served.json", kServed);
  CHECK(draftline("check --scenarios mine").code == 1);
  const Ran first = draftline("check --scenarios mine --approve");
  CHECK(first.code == 0);
  CHECK(first.out.empty());
  CHECK(contains(first.err, "mine/pins.json: 2 pins"));
  CHECK(draftline("check --scenarios mine").code == 0);
  CHECK(draftline("check mine/pins.json").code == 0);  // an ordinary file of pins

  draftline.write("mine/another.json", kScenario);
  const Ran fresh = draftline("check --scenarios mine");
  CHECK(fresh.code == 1);
  CHECK(contains(
      fresh.out,
      "run another.json: has no approved figures yet: the same command with --approve writes them to mine/pins.json"));
  fs::remove(draftline.path("mine/served.json"));
  const Ran gone = draftline("check --scenarios mine");
  CHECK(gone.code == 1);
  CHECK(contains(gone.out, "simulate served.json: its scenario no longer exists: the same command with --approve"));
  CHECK(draftline("check --scenarios mine --approve").code == 0);
  CHECK(draftline("check --scenarios mine").code == 0);
  CHECK(!contains(draftline.read("mine/pins.json"), "served.json"));
  CHECK(contains(draftline.read("mine/pins.json"), "another.json"));

  fs::create_directories(draftline.path("empty"));
  CHECK(draftline("check --scenarios empty").code == 2);
}

TEST_CASE("a broken scenario of a folder is a failed pin beside the others, and exit 2 whatever names it") {
  const ScenarioFolder draftline;
  fs::create_directories(draftline.path("mine/sub"));
  draftline.write("mine/run.json", kScenario);
  REQUIRE(draftline("check --scenarios mine --approve").code == 0);
  draftline.write("mine/broken.json", "{");
  draftline.replace("mine/run.json", "h100-sxm", "h200");
  const Ran r = draftline("check --scenarios mine --junit junit.xml --markdown summary.md");
  CHECK(r.code == 2);
  CHECK(contains(r.out, "run broken.json: mine/broken.json#: "));
  CHECK(contains(r.out, "device h100-sxm -> h200"));
  CHECK(contains(draftline.read("junit.xml"), "tests=\"2\" failures=\"2\""));
  CHECK(contains(draftline.read("summary.md"), "mine/broken.json#"));
  fs::remove(draftline.path("mine/broken.json"));
  CHECK(draftline("check --scenarios mine").code == 1);
  draftline.replace("mine/run.json", "\"method\"", "\"methods\"");
  const Ran typo = draftline("check --scenarios mine");
  CHECK(typo.code == 2);
  CHECK(contains(typo.out, "mine/run.json#/methods: unknown key"));
  CHECK(draftline("check mine/pins.json").code == 2);
}

TEST_CASE("files of a folder that are not pinned are told, but for those that a scenario reads") {
  const ScenarioFolder draftline;
  fs::create_directories(draftline.path("mine/sub"));
  fs::copy_file(kData + "/devices/h100-sxm.json", draftline.path("mine/card.json"));
  draftline.write("mine/run.json", kScenario);
  draftline.replace("mine/run.json", "\"h100-sxm\"", "\"./card.json\"");
  draftline.write("mine/notes.json", "{}");
  draftline.write("mine/upper.JSON", kScenario);
  draftline.write("mine/sub/run.json", kScenario);
  const Ran r = draftline("check --scenarios mine --approve");
  CHECK(r.code == 0);
  CHECK(r.err ==
        "not pinned: mine/notes.json: is not a scenario\n"
        "not pinned: mine/sub: is a folder; only files directly in mine are\n"
        "not pinned: mine/upper.JSON: its name does not end in .json\n"
        "approved mine/pins.json: 1 pin, 30 figures\n");
  for (const char* kept : {"run.json", "pins.json", "notes.json"}) {
    const Ran over = draftline("check --scenarios mine --junit mine/" + std::string(kept));
    CHECK(over.code == 2);
    CHECK(contains(over.err, "is an input and would be overwritten"));
  }
  CHECK(draftline("check mine/pins.json --markdown mine/run.json").code == 2);
  CHECK(draftline("check mine/pins.json ./mine/pins.json").out == "30 figures of 1 pin are as approved.\n");
}

TEST_CASE("a workload that a folder's scenario gets is a change that can be approved") {
  const ScenarioFolder draftline;
  draftline.write("mine/s.json", kScenario);
  REQUIRE(draftline("check --scenarios mine --approve").code == 0);
  draftline.write("mine/s.json", kServed);
  const Ran r = draftline("check --scenarios mine");
  CHECK(r.code == 1);
  CHECK(contains(r.err, "repeat the command with --approve"));
  const Ran named = draftline("check mine/pins.json");  // a file of questions that are as they stand there
  CHECK(named.code == 2);
  CHECK(contains(named.out, "\"run\" stands at mine/pins.json#/pins/0/verb"));
  CHECK(draftline("check --scenarios mine --approve").code == 0);
  CHECK(draftline("check --scenarios mine").code == 0);
}

}  // namespace draftline
