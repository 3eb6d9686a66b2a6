// SPDX-License-Identifier: Apache-2.0
#include "inputs/catalogue.h"

#include "tests/core/messages.h"
#include "tests/inputs/scenario_text.h"

namespace draftline {

static Reader name(const std::string& text) { return Document::from_text("\"" + text + "\"", "x.json").root(); }

TEST_CASE("every device, transformer and engine of data/ reads, under its file's name") {
  Catalogue c(kData);
  CHECK(c.names("devices").size() >= 10);
  CHECK(c.names("transformers").size() >= 17);
  CHECK(c.names("engines").size() >= 5);
  for (const std::string& n : c.names("devices")) {
    INFO(n);
    const auto device = c.device(name(n));
    REQUIRE(device);
    CHECK(device->name == n);
  }
  for (const std::string& n : c.names("transformers")) {
    INFO(n);
    const auto transformer = c.transformer(name(n));
    REQUIRE(transformer);
    CHECK(transformer->name == n);
  }
  for (const std::string& n : c.names("engines")) {
    INFO(n);
    const auto engine = c.engine(name(n));
    REQUIRE(engine);
    CHECK(engine->name + "-" + engine->version == n);
  }
}

TEST_CASE("a transformer may be described by its shapes, and a mistake in them has its place") {
  Catalogue c(kData);
  const auto described = [&](const std::string& more) {
    const Document d = Document::from_text(
        R"({"layers": 4, "hidden": 64, "heads": 4, "intermediate": 96, "vocabulary": 100)" + more + "}", "x.json");
    const auto shape = c.transformer(d.root());
    d.finish();
    return *shape;
  };
  const TransformerShape plain = described("");
  CHECK(plain.name == "described");
  CHECK(plain.usual_heads() == AttentionHeads{4, 4, 16, 16});
  CHECK_FALSE(plain.max_positions);
  // 4 layers of 4 * 64 * 64 + 3 * 64 * 96, two tables of 6400, 9 norms
  CHECK(parameters(plain) == 4 * (16384 + 18432) + 2 * 6400 + 9 * 64);
  const TransformerShape windows = described(R"(, "window": 8, "full_attention_every": 2, "kv_heads": 2)");
  CHECK(windows.layer(0).window() == TextWindow{8});
  CHECK(windows.layer(2).window() == TextWindow{8});
  CHECK((windows.layer(1).sees_all() && windows.layer(3).sees_all()));
  const TransformerShape experts =
      described(R"(, "experts": {"count": 8, "per_token": 2, "intermediate": 32, "dense_layers": 1}, "window": 8)");
  CHECK(experts.layer(0).experts() == nullptr);
  REQUIRE(experts.layer(1).experts() != nullptr);
  CHECK((experts.layer(1).window() == TextWindow{8} && experts.layer(1).rope()->columns == 16));
  CHECK(experts.layer(1).experts()->routing.load_cv > 0);  // as of every network with experts: data/routing.json
  const auto refused = [&](const std::string& more) { return mistake_of([&] { described(more); }); };
  CHECK(starts_with(refused(R"(, "hiden": 3)"), "x.json#/hiden: unknown key; did you mean \"hidden\"?"));
  CHECK(starts_with(refused(R"(, "kv_heads": 3)"), "x.json#: the 4 heads are not a multiple of the 3 KV heads"));
  CHECK(starts_with(refused(R"(, "kv_heads": 1e12)"), "x.json#/kv_heads: "));
  CHECK(starts_with(refused(R"(, "head_dim": 15)"), "x.json#: rope rotates pairs"));
  CHECK(starts_with(refused(R"(, "full_attention_every": 2)"), "x.json#/full_attention_every: requires"));
  CHECK(starts_with(refused(R"(, "experts": {"count": 2, "per_token": 3, "intermediate": 8})"),
                    "x.json#/experts/per_token: must be at most count, 2"));
  CHECK(starts_with(refused(R"(, "experts": {"count": 2, "per_token": 1, "intermediate": 8, "dense_layers": 4})"),
                    "x.json#/experts/dense_layers: leaves none"));
}

TEST_CASE("what was read once is given again") {
  Catalogue c(kData);
  CHECK(c.device(name("h200")) == c.device(name("h200")));
  CHECK(c.engine(name("vllm")) == c.engine(name("vllm-0.24")));
}

TEST_CASE("a name that stands in no file is looked up as one that does, and the mistake names who asked") {
  Catalogue c(kData);
  CHECK(c.device("h200") == c.device(name("h200")));
  CHECK(c.transformer("llama-3.2-1b")->name == "llama-3.2-1b");
  CHECK(c.engine("vllm") == c.engine(name("vllm")));
  CHECK(starts_with(mistake_of([&] { c.device("h30", "--limits"); }), "--limits#: unknown name \"h30\""));
  CHECK(mistake_of([&] { c.transformer("", "--transformer"); }) ==
        "--transformer#: must be a name of one of the transformers or a file");
  const FreshFolder folder;
  std::filesystem::copy_file(kData / "transformers" / "llama-68m.json", folder.path() / "mine.json");
  CHECK(c.transformer("mine.json", folder.path() / "asks.json")->name == "mine");  // relative to who asks
}

TEST_CASE("an engine without a version is its newest profile, number by number") {
  const FreshFolder folder;
  std::filesystem::create_directories(folder.path() / "engines");
  const auto source = kData / "engines" / "draftline-0.1.json";
  for (const char* version : {"e-0.9", "e-0.10", "e-0.10.1", "e-0.2", "e-1x", "elk-7"}) {
    std::ifstream in(source);
    std::string text((std::istreambuf_iterator<char>(in)), {});
    const std::string old = R"("version": "0.1")";
    text.replace(text.find(old), old.size(), R"("version": ")" + std::string(version).substr(2) + "\"");
    std::ofstream(folder.path() / "engines" / (std::string(version) + ".json")) << text;
  }
  Catalogue c(folder.path());
  CHECK(c.engine(name("e"))->version == "0.10.1");
  CHECK(c.engine(name("e-0.9"))->version == "0.9");
}

TEST_CASE("a version that no profile has is the nearest, with a note") {
  Catalogue c(kData);
  const auto notes_of = [&](const std::string& asked) {
    const Document d = Document::from_text("\"" + asked + "\"", "x.json");
    c.engine(d.root());
    return d.notes();
  };
  CHECK(c.engine(name("vllm-0.12")) == c.engine(name("vllm-0.10")));
  CHECK(c.engine(name("vllm-0.15.1")) == c.engine(name("vllm-0.19")));
  CHECK(c.engine(name("vllm-1.2")) == c.engine(name("vllm-0.24")));
  CHECK(c.engine(name("vllm-0.2")) == c.engine(name("vllm-0.10")));
  CHECK(notes_of("vllm-0.12") ==
        std::vector<std::string>{"x.json#: there is no profile vllm-0.12; the nearest version, vllm-0.10, is used"});
  CHECK(notes_of("vllm-0.10").empty());
  CHECK(c.notes().empty());
  c.engine("vllm-0.12", "--engine");
  CHECK(c.notes().at(0) == "--engine#: there is no profile vllm-0.12; the nearest version, vllm-0.10, is used");
  CHECK(starts_with(mistake_of([&] { c.engine("vlm-0.12", "--engine"); }), "--engine#: unknown name \"vlm-0.12\""));
  CHECK(contains(mistake_of([&] { c.device("h100-7"); }), "unknown name"));  // devices have no versions
}

TEST_CASE("an unknown name is answered with one that begins with it, else with the nearest") {
  Catalogue c(kData);
  const auto mistake = [&](const std::string& n) {
    const Document d = Document::from_text("\"" + n + "\"", "x.json");
    CHECK(c.device(d.root()) == nullptr);
    return mistake_of([&] { d.finish(); });
  };
  CHECK(mistake("h100") == "x.json#: unknown name \"h100\"; did you mean \"h100-nvl\", \"h100-pcie\" or \"h100-sxm\"?");
  CHECK(starts_with(
      mistake("rtx-4080"),
      "x.json#: unknown name \"rtx-4080\"; of those listed, \"rtx-4090\" is most alike (the same generation)"));
  CHECK(starts_with(mistake("abacus"),
                    "x.json#: unknown name \"abacus\"; to describe one of your own, edit the file that "));
  CHECK(mistake("H100-SXM") == "x.json#: unknown name \"H100-SXM\"; did you mean \"h100-sxm\"?");
  CHECK(mistake("") == "x.json#: must be a name of one of the devices or a file");
}

TEST_CASE("a file that is not there is named where it is asked for, with the known name that it is like") {
  const FreshFolder folder;
  Catalogue c(kData);
  const auto mistake = [&](const std::string& n) {
    const Document d = Document::from_text("\"" + n + "\"", folder.path() / "x.json");
    CHECK(c.transformer(d.root()) == nullptr);
    return mistake_of([&] { d.finish(); }).substr(folder.path().string().size() + 1);
  };
  const std::string none = "x.json#: no such file: ";
  CHECK(mistake("my/config.json") == none + "\"my/config.json\"");
  CHECK(mistake("meta-llama/Llama-3.1-8B-Tower") ==
        none + "\"meta-llama/Llama-3.1-8B-Tower\"; did you mean \"llama-3.1-8b\"?");
  CHECK(starts_with(mistake("some/abacus"),
                    none + "\"some/abacus\"; as a name of the hub it is of no network that ships"));
  std::filesystem::create_directory(folder.path() / "checkpoint");
  CHECK(mistake("checkpoint") == "x.json#: unknown name \"checkpoint\"; did you mean \"./checkpoint\"?");
  CHECK(mistake("./checkpoint") == "x.json#: the folder \"./checkpoint\" has no config.json");

  const Document d = Document::from_text("\"none.gz\"", folder.path() / "x.json");
  CHECK(c.trace(d.root()).trace == nullptr);
  CHECK(contains(mistake_of([&] { d.finish(); }), none + "\"none.gz\""));
  const std::string is_folder = "x.json#: is a folder, not a file: ";
  const Document f = Document::from_text("\"checkpoint\"", folder.path() / "x.json");
  CHECK(c.trace(f.root()).trace == nullptr);
  CHECK(contains(mistake_of([&] { f.finish(); }), is_folder + "\"checkpoint\""));
  const Document e = Document::from_text("\"./checkpoint\"", folder.path() / "x.json");
  CHECK(c.engine(e.root()) == nullptr);
  CHECK(contains(mistake_of([&] { e.finish(); }), is_folder + "\"./checkpoint\""));
}

TEST_CASE("a device of one's own borrows from those that are shipped, or from one beside it") {
  const FreshFolder folder;
  const auto text_of = [](const std::string& device) {
    std::ifstream in(kData / "devices" / (device + ".json"));
    return std::string((std::istreambuf_iterator<char>(in)), {});
  };
  std::ofstream(folder.path() / "mine.json") << text_of("rtx-3060");
  const Document d = Document::from_text("\"mine.json\"", folder.path() / "x.json");
  {
    Catalogue c(kData);
    const auto mine = c.device(d.root());
    REQUIRE(mine);
    CHECK(mine->gpu().gemm.k_loop == c.device(name("rtx-4090"))->gpu().gemm.k_loop);
  }
  std::ofstream(folder.path() / "rtx-4090.json") << text_of("l40s");
  Catalogue c(kData);
  const auto mine = c.device(d.root());
  REQUIRE(mine);
  CHECK(mine->gpu().gemm.k_loop == c.device(name("l40s"))->gpu().gemm.k_loop);
}

TEST_CASE("a folder that does not exist has no names") { CHECK(Catalogue("/nowhere").names("devices").empty()); }

}  // namespace draftline
