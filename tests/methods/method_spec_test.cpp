// SPDX-License-Identifier: Apache-2.0
#include "methods/method_spec.h"

#include <nlohmann/json.hpp>
#include <set>

#include "decoder/priced/backend.h"
#include "methods/decoder.h"
#include "tests/core/messages.h"

using namespace draftline;

namespace {

MethodSpec spec(const std::string& object) { return MethodSpec(Document::from_text(object, "s.json").root()); }

TransformerShape target() {
  TransformerShape s = uniform_network("target", 12, llama_layer(64, {4, 4, 16, 16}, 128), 128);
  s.max_positions = 100;
  return s;
}

void build(const MethodSpec& m) {
  const Decoder decoder(
      Decoder::Options{.target = target(), .precision = Precision(DType::bf16)}, m,
      [](const NamedNetwork&) { return target(); },
      [](const WeightStore&) { return std::make_unique<PricedBackend>(); });
}

}  // namespace

TEST_CASE("a method's draft length is typed, the rest stays together, and its acceptance is another's") {
  const MethodSpec m =
      spec(R"({"draft_length": 3, "name": "draft_model", "draft": "small", "acceptance": {"rate": 1}})");
  CHECK(m.name() == "draft_model");
  CHECK(m.draft_length() == 3);
  CHECK(m.parameters() == nlohmann::json{{"draft", "small"}});
  CHECK(m.label() == "draft_model draft:small");
  CHECK(m.object().dump() == R"({"draft":"small","draft_length":3,"name":"draft_model"})");
  CHECK(MethodSpec().is_plain());
  CHECK(MethodSpec().label() == "autoregressive");
}

TEST_CASE("a label has what was written of dividing the draft network, not what the engine does by itself") {
  const MethodSpec m = spec(R"({"name": "draft_model", "draft": "small", "draft_length": 3})");
  CHECK(m.with_shard_draft(ShardDraft::if_possible).label() == "draft_model draft:small");
  CHECK(!(m.with_shard_draft(ShardDraft::if_possible) == m));  // it is priced otherwise
  CHECK(m.with_shard_draft(ShardDraft::yes).label() == "draft_model draft:small,shard_draft:true");
}

TEST_CASE("a drafter's own device is part of a method's name, and leaves it the same drafter") {
  const MethodSpec near = spec(R"({"name": "draft_model", "draft": "small", "draft_length": 3})"),
                   far = spec(R"({"name": "draft_model", "draft": "small", "draft_length": 3,
                                  "drafter_device": {"device": "l40s", "latency": "50 us", "engine": "vllm"}})");
  CHECK(far.label() == "draft_model draft:small,drafter_device:l40s (vllm, 50 us)");
  CHECK(!(far == near));
  CHECK(far.same_drafter(near));
  CHECK(far.without_drafter_device() == near);
  CHECK(near.without_drafter_device() == near);
}

TEST_CASE("what only a price reads changes neither a method's drafter nor what it decodes") {
  for (const auto& [recorded, asked] :
       {std::pair{R"({"name": "triforce", "draft": "small"})",
                  R"({"name": "triforce", "draft": "small", "middle_rate": 0.8})"},
        {R"({"name": "ouroboros", "draft": "small", "drafted_per_pass": 2})",
         R"({"name": "ouroboros", "draft": "small", "drafted_per_pass": 3})"},
        {R"({"name": "suffix_decoding", "mean_drafts": 5})", R"({"name": "suffix_decoding"})"},
        {R"({"name": "draft_model", "draft": "small"})",
         R"({"name": "draft_model", "draft": "small", "shard_draft": true})"}}) {
    INFO(asked);
    CHECK(!(spec(recorded) == spec(asked)));
    CHECK(spec(recorded).as_decoded() == spec(asked).as_decoded());
    CHECK(spec(recorded).same_drafter(spec(asked)));
  }
  const MethodSpec six = spec(R"({"name": "triforce", "draft": "small", "budget": 6})"),
                   seven = spec(R"({"name": "triforce", "draft": "small", "budget": 7})");
  CHECK(!(six.as_decoded() == seven.as_decoded()));
}

TEST_CASE("methods are equal by name, draft length and parameters, wherever they stand") {
  const MethodSpec m = spec(R"({"name": "self_spec", "threshold": 1, "draft_length": 2})");
  CHECK(m == spec(R"({"draft_length": 2, "threshold": 1.0, "name": "self_spec"})"));
  for (const char* other :
       {R"({"name": "self_spec", "threshold": 1, "draft_length": 3})", R"({"name": "self_spec", "threshold": 1})",
        R"({"name": "self_spec", "draft_length": 2})", R"({"name": "kangaroo", "threshold": 1, "draft_length": 2})"}) {
    INFO(other);
    CHECK(!(m == spec(other)));
    CHECK((m < spec(other)) != (spec(other) < m));
  }
  CHECK(!(m < m));
}

TEST_CASE("another draft length is the same method, where it can draft so many") {
  const MethodSpec m = spec(R"({"name": "draft_model", "draft": "small", "draft_length": 3})");
  REQUIRE(m.with_draft_length(5, target()));
  CHECK(*m.with_draft_length(5, target()) == spec(R"({"name": "draft_model", "draft": "small", "draft_length": 5})"));
  CHECK(m.with_draft_length(3, target()) == m);
  CHECK(!m.with_draft_length(0, target()));
  CHECK(!m.with_draft_length(65, target()));
  CHECK(!spec(R"({"name": "lookahead"})").with_draft_length(1, target()));
  // Heads were trained for so many positions; masks reach two groups ahead of a text of at most a hundred.
  const MethodSpec heads = spec(R"({"name": "specformer", "positions": 4, "draft_length": 4})");
  CHECK(heads.with_draft_length(3, target()));
  CHECK(!heads.with_draft_length(5, target()));
  TransformerShape narrow = target();
  narrow.max_positions = 10;
  CHECK(spec(R"({"name": "space"})").with_draft_length(4, narrow));
  CHECK(!spec(R"({"name": "space"})").with_draft_length(5, narrow));
}

TEST_CASE("every method takes its longest chain and no longer one, and says whether it has a draft length") {
  for (const methods::Entry& e : methods::all()) {
    INFO(e.name);
    const std::string parameters = methods::parameters_text(e);
    CHECK((e.lengths.most > 0) == (parameters.find("draft_length") != std::string::npos));
    CHECK(e.draft_network == parameters.starts_with("draft:"));
    MethodSpec m(e);
    if (e.draft_network) m = m.with_draft({{"small"}});
    CHECK(!m.with_draft_length(e.lengths.most + 1, target()));
    if (e.lengths.most == 0) continue;
    if (e.name == "specformer")
      m = spec(R"({"name": "specformer", "positions": )" + std::to_string(e.lengths.most) + "}");
    const auto longest = m.with_draft_length(e.lengths.most, target());
    REQUIRE(longest);
    CHECK(mistake_of([&] { build(*longest); }) == "none");
  }
}

TEST_CASE("a chain of the same drafter leaves its tree behind, and a network is known by its file's name") {
  const MethodSpec tree = spec(R"({"name": "mcsd", "draft": "a/small", "widths": [2, 2], "replacement": true})");
  const auto chain = tree.as_chain(4, target());
  REQUIRE(chain);
  CHECK(chain->object().dump() == R"({"draft":"a/small","draft_length":4,"name":"mcsd"})");
  CHECK(tree.same_drafter(*chain));
  CHECK(tree.same_drafter(spec(R"({"name": "mcsd", "draft": "b/small"})")));
  CHECK(!tree.same_drafter(spec(R"({"name": "mcsd", "draft": "b/large"})")));
  CHECK(!tree.same_drafter(spec(R"({"name": "sequoia", "draft": "a/small"})")));
}

TEST_CASE("the budget of a compressed cache is the drafter's, that of a tree is the drafts'") {
  const MethodSpec cache = spec(R"({"name": "magicdec_streaming", "budget": 64})");
  CHECK(!cache.same_drafter(spec(R"({"name": "magicdec_streaming", "budget": 128})")));
  CHECK(cache.as_chain(3, target())->parameters().dump() == R"({"budget":64})");
  const MethodSpec tree = spec(R"({"name": "sequoia", "draft": "small", "budget": 9})");
  CHECK(tree.same_drafter(spec(R"({"name": "sequoia", "draft": "small", "budget": 63})")));
  CHECK(tree.as_chain(3, target())->parameters().dump() == R"({"draft":"small"})");
}

TEST_CASE("a draft network that is divided is one more parameter") {
  const MethodSpec m = spec(R"({"name": "draft_model", "draft": "small"})");
  CHECK(!m.shards_draft());
  CHECK(m.with_shard_draft(ShardDraft::yes).shards_draft());
  CHECK(m.with_shard_draft(ShardDraft::yes) ==
        spec(R"({"name": "draft_model", "draft": "small", "shard_draft": true})"));
}

TEST_CASE("names and keys of other tools mean the same method") {
  CHECK(spec(R"({"name": "ngram", "num_speculative_tokens": 4})") ==
        spec(R"({"name": "prompt_lookup", "draft_length": 4})"));
  CHECK(spec(R"({"name": "mtp"})") == spec(R"({"name": "mtp_sequential"})"));
  CHECK(spec(R"({"name": "ngram"})").name() == "prompt_lookup");
  CHECK(methods::find("") == nullptr);
  std::set<std::string_view> names;
  for (const methods::Entry& e : methods::all()) {
    CHECK(names.insert(e.name).second);
    for (const std::string_view also : e.also) CHECK(names.insert(also).second);
  }
}

TEST_CASE("mistakes in a method are noted where they stand") {
  const auto mistakes = [](const std::string& object) {
    return mistake_of([&] { build(read_method(Document::from_text(object, "s.json"))); });
  };
  CHECK(mistakes(R"({"name": "draft_model", "draft": "x", "draft_length": 65})") ==
        "s.json#/draft_length: must be at most 64, got 65");
  CHECK(starts_with(mistakes(R"({"name": "meduza"})"), "s.json#/name: unknown method \"meduza\""));
  CHECK(mistakes(R"({"name": "medusa", "draft_lenght": 2})") ==
        "s.json#/draft_lenght: unknown key; did you mean \"draft_length\"?");
  CHECK(starts_with(mistakes(R"({"name": "jacobi", "draft_length": 2})"), "s.json#/draft_length: unknown key"));
  CHECK(starts_with(mistakes(R"({"name": "medusa", "shard_draft": true})"), "s.json#/shard_draft: unknown key"));
  CHECK(mistakes(R"({"name": "medusa", "draft_length": 2, "tree": "default"})") ==
        "s.json#: give \"draft_length\" (a chain) or \"tree\", not both");
}

TEST_CASE("every method names a source that data/sources.json has, and the place in it") {
  const auto sources =
      Document::from_file(std::filesystem::path(DRAFTLINE_SOURCE_DIR) / "data" / "sources.json").root().json();
  for (const methods::Entry& e : methods::all()) {
    INFO(e.name);
    CHECK(sources.contains(e.source));
    CHECK_FALSE(e.locator.empty());
  }
}
