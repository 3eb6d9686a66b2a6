// SPDX-License-Identifier: Apache-2.0
// Traces as files: what is written is read, and spoilt ones are refused with file and line.
#include "trace/trace.h"

#include <filesystem>
#include <limits>

#include "core/errors.h"
#include "core/fingerprint.h"
#include "core/gzip.h"
#include "core/text_file.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

using namespace draftline;

namespace {

// Positions 0..4 of one prompt, two levels. Chain of 2 from position 0: rank 0, then 1: one draft, 2 tokens. Position
// 2: 0 0: 3 tokens, and the text is over.
std::vector<TracedPrompt> one_prompt() {
  TracedPrompt p;
  p.prompt_tokens = 3;
  p.tokens = {7, 8, 9, 7, 8};
  p.ranks = {0, 1, kNoRank, 0, 0, 0, 2, 0, 0, 3};
  p.probabilities = {0.5, 0.25, 0, 0.5, 0.5, 0.5, 0.125, 0.5, 0.5, 0.0625};
  return {p};
}
TransformerShape target(int layers = 2) { return uniform_network("tiny", layers, LayerShape{}, 0); }
TraceHeader header() {
  TraceHeader h;
  h.target = "tiny";
  h.weights = "random";
  h.fingerprint = target_fingerprint(target(), h.weights);
  h.method = R"({"name":"medusa"})";
  h.depth = 2;
  h.seed = std::numeric_limits<std::uint64_t>::max();
  return h;
}
std::filesystem::path file() {
  static const FreshFolder folder;  // tests run side by side
  return folder.path() / "trace_test.jsonl.gz";
}
std::string message() {
  return mistake_of([] { Trace::read(file()); });
}
void put(const std::string& bytes) {
  AtomicFile out(file());
  out.stream() << bytes;
  out.commit();
}
std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a trace read back replays chains and trees of ranks") {
  write_trace(file(), header(), one_prompt());
  const Trace t = Trace::read(file());
  CHECK(t.header().seed == header().seed);
  CHECK(t.positions(0) == 5);
  CHECK(t.replay(0, DraftPlan::chain(2)) == std::vector<int>{2, 3});
  CHECK(t.replay(0, DraftPlan::chain(1)) == std::vector<int>{2, 2});
  CHECK(t.mean_length(DraftPlan::chain(2)) == Approx(2.5));
  const DraftPlan tree(rank_tree({{0}, {0, 1}, {2}}, {2, 3}));  // 0: 0 1: 3 tokens; 3: rank 2: 2 tokens
  CHECK(t.replay(0, tree) == std::vector<int>{3, 2});
  CHECK(t.refuses(DraftPlan::chain(3)).value() == "the trace holds 2 levels, 3 are drafted");
  CHECK(t.rank_acceptance()[0][0] == Approx(0.6));  // 3 of 5 positions
  TransformerShape other = target();
  other.name = "other";
  CHECK_FALSE(t.wrong_target(target()).has_value());
  CHECK(t.wrong_target(other).value() == "the trace was recorded on tiny, not on other");
  CHECK(t.wrong_target(target(3)).value() == "the trace was recorded on another transformer that is called tiny, too");
}

TEST_CASE("a trace of steps keeps the drafts of each, and an older one has none") {
  TraceHeader h = header();
  h.steps_because = "its path";
  h.depth = 4;
  std::vector<TracedPrompt> prompts(3);
  for (TracedPrompt& p : prompts) p.prompt_tokens = 1, p.tokens = {1, 2, 3};
  prompts[0].steps = {2, 1}, prompts[0].drafts = {4, 1};  // one draft accepted, and none
  prompts[2].steps = {3}, prompts[2].drafts = {2};
  write_trace(file(), h, prompts);
  const Trace t = Trace::read(file());
  CHECK(t.has_drafts());
  CHECK(t.drafts(0) == std::vector<int>{4, 1});
  CHECK(t.drafts(1).empty());
  CHECK(t.shares_of_drafts() == std::vector<double>{0, 1 / 3.0, 1 / 3.0, 0, 1 / 3.0});
  const std::string lines = read_text_file(file());
  const auto refused = [&](const std::string& from, const std::string& to) {
    put(gzip(replaced(lines, from, to)));
    return message();
  };
  CHECK(contains(refused("\"drafts\":[4,1]", "\"drafts\":[4]"), ":2: \"drafts\" needs an entry for each step"));
  CHECK(contains(refused("\"drafts\":[4,1]", "\"drafts\":[4,-1]"), "\"drafts\" is out of range"));
  CHECK(
      contains(refused("\"drafts\":[4,1]", "\"drafts\":[0,1]"), ":2: a step emits more than its drafts and one token"));
  CHECK(contains(refused("\"drafts\":[4,1],", ""), ":3: some prompts have \"drafts\" and others do not"));
  CHECK(contains(refused("\"drafts\":[2],", ""), ":4: some prompts have \"drafts\" and others do not"));
  for (TracedPrompt& p : prompts) p.drafts.clear();
  write_trace(file(), h, prompts);
  CHECK_FALSE(Trace::read(file()).has_drafts());
}

TEST_CASE("a trace says whose weights were random; an older one is silent of its drafter") {
  const auto read_back = [](const std::string& target, const std::string& drafter) {
    TraceHeader h = header();
    h.weights = target;
    h.drafter.weights = drafter;
    write_trace(file(), h, one_prompt());
    return Trace::read(file()).header();
  };
  CHECK(read_back("checkpoint 0a", "checkpoint 0b").drafter.weights == "checkpoint 0b");
  CHECK(read_back("checkpoint 0a", "checkpoint 0b").random_weights().empty());
  CHECK(read_back("checkpoint 0a", "").random_weights().empty());
  CHECK(read_back("checkpoint 0a", "random, seed 0").random_weights() == "drafter");
  CHECK(read_back("random, seed 0", "").random_weights() == "target");
  CHECK(read_back("random, seed 0", "random, seed 0").random_weights() == "target and drafter");

  const std::string silent =
      replaced(replaced(read_text_file(file()), R"("drafter":{"config":null,"weights":"random, seed 0"},)", ""),
               read_text_file(file()).substr(read_text_file(file()).rfind("{\"checksum")), "");
  Fingerprint sum;
  for (std::size_t at = 0; at < silent.size(); at = silent.find('\n', at) + 1)
    sum.add(silent.substr(at, silent.find('\n', at) - at));
  AtomicFile out(file());
  out.stream() << gzip(silent + R"({"prompts":1,"positions":5,"checksum":")" + to_hex(sum.value()) + "\"}\n");
  out.commit();
  CHECK(Trace::read(file()).header().random_weights() == "target");
}

TEST_CASE("a trace tells its drafter from others by the weights, and where these are not known by the configuration") {
  const auto recorded = [](const DrafterIdentity& d) {
    TraceHeader h = header();
    h.drafter = d;
    write_trace(file(), h, one_prompt());
    return Trace::read(file());
  };
  const Trace trained = recorded({"checkpoint 0a", "c1"}), random = recorded({"random, seed 0", "c1"}),
              older = recorded({"checkpoint 0a", ""});
  CHECK(trained.has_drafter({"checkpoint 0a", "c2"}));
  CHECK_FALSE(trained.wrong_drafter({"checkpoint 0a", "c2"}).has_value());
  CHECK(trained.wrong_drafter({"checkpoint 0b", "c1"}).value() ==
        "the trace was recorded with other weights of the drafter (checkpoint 0a) than those in its folder (checkpoint "
        "0b)");
  CHECK(trained.wrong_drafter({"", "c2"}).value() ==
        "the trace was recorded with a drafter of another configuration (c1) than this one's (c2)");
  CHECK(random.wrong_drafter({"checkpoint 0a", "c2"}).has_value());
  CHECK_FALSE(random.wrong_drafter({"checkpoint 0a", "c1"}).has_value());
  CHECK_FALSE(random.has_drafter({"random, seed 0", "c1"}));  // another shape has other weights of the same name
  CHECK_FALSE(older.wrong_drafter({"", "c2"}).has_value());
  CHECK_FALSE(trained.wrong_drafter({}).has_value());
}

TEST_CASE("a spoilt trace is refused with file and line") {
  write_trace(file(), header(), one_prompt());
  const std::string packed = [] { return gzip(read_text_file(file())); }();
  const std::string text = read_text_file(file());
  for (std::size_t n = 0; n < packed.size(); ++n) {
    put(packed.substr(0, n));
    CHECK(message().find("trace_test.jsonl.gz:") != std::string::npos);
  }
  const auto spoilt = [&](const std::string& from, const std::string& to) {
    put(gzip(replaced(text, from, to)));
    return message();
  };
  const std::string name = file().string();
  CHECK(spoilt("[7,8,9,7,8]", "[7,8,9,7,9]") ==
        name + ":3: count or checksum differ from the lines above: the file was changed or lacks lines");
  CHECK(spoilt("[0,1]", "[0,99]") == name + ":2: \"ranks\" is out of range");
  CHECK(spoilt("[0,1]", "[0,1e300]") == name + ":2: \"ranks\" is out of range");
  CHECK(spoilt("[0.5,0.25]", "[NaN,0.25]").starts_with(name + ":2: "));
  CHECK(spoilt("\"depth\":2", "\"depth\":2000000000") == name + ":1: \"depth\" is out of range");
  CHECK(spoilt("acceptance_trace", "something") == name + ":1: no acceptance trace");
  CHECK(spoilt("\"prompt\":0", "\"prompt\":7") == name + ":2: \"prompt\" is out of order");
  put(gzip(text.substr(0, text.rfind("{\"checksum"))));
  CHECK(message() == name + ":3: the last line, with count and checksum, is missing");
  put(gzip(text) + "x");
  CHECK(message().find("bytes after") != std::string::npos);
  std::filesystem::remove(file());
  CHECK(message() == name + ": no such file");
}

TEST_CASE("a trace with a valid checksum that holds nothing to replay, or no method, is refused") {
  const std::string name = file().string();
  const auto written = [](const TraceHeader& h, const std::vector<TracedPrompt>& prompts) {
    write_trace(file(), h, prompts);
    return message();
  };
  CHECK(written(header(), {}) == name + ":2: it holds no prompt");
  CHECK(written(header(), {{.prompt_tokens = 3}}) ==
        name + ":2: \"tokens\" is empty: a text has at least the token of its prefill");
  const TracedPrompt one_token{.prompt_tokens = 3, .tokens = {7}, .ranks = {0, 1}, .probabilities = {0.5, 0.25}};
  CHECK(written(header(), {one_token}) == name + ":3: it holds no step: texts of a single token need none");
  CHECK(written(header(), {one_token, one_prompt().front()}) == "none");
  TraceHeader unnamed = header();
  for (const auto& [method, why] : {std::pair{"3", "\"method\" must be an object"},
                                    {"{}", "\"name\" is missing"},
                                    {R"({"name":[]})", "\"name\" must be text"}}) {
    unnamed.method = method;
    CHECK(written(unnamed, one_prompt()) == name + ":1: " + why);
  }
}
