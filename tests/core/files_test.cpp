// SPDX-License-Identifier: Apache-2.0
#include "core/files.h"

#include <fstream>

#include "core/gzip.h"
#include "core/reader.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

namespace draftline {

namespace {

using Kind = Files::Kind;
using Paths = std::vector<std::filesystem::path>;

// The same files on disk and in memory, below `root`.
struct BothFiles {
  BothFiles() {
    std::map<std::filesystem::path, std::string> texts;
    for (const auto& [name, text] : std::map<std::string, std::string>{
             {"s.json", R"({"below": "a/b.json"})"}, {"a/b.json", R"({"old": 1})"}, {"a/c.txt", gzip("packed")}}) {
      const std::filesystem::path path = root() / name;
      std::filesystem::create_directories(path.parent_path());
      std::ofstream(path) << text;
      texts[path] = text;
    }
    memory = std::make_unique<FilesInMemory>(std::move(texts));
  }
  const std::filesystem::path& root() const { return folder.path(); }
  const Files& files(bool in_memory) const { return in_memory ? *memory : disk(); }

  FreshFolder folder;
  std::unique_ptr<FilesInMemory> memory;
};

}  // namespace

TEST_CASE("files in memory are found as those on disk are") {
  const BothFiles both;
  const Files& files = both.files(GENERATE(false, true));
  const std::filesystem::path& root = both.root();
  CHECK(files.kind(root / "s.json") == Kind::file);
  CHECK(files.kind(root / "a") == Kind::folder);
  CHECK(files.kind(root / "a/") == Kind::folder);
  CHECK(files.kind(root / "a/../a/b.json") == Kind::file);
  CHECK(files.kind(root / "b.json") == Kind::none);
  CHECK(files.list(root) == Paths{root / "a", root / "s.json"});
  CHECK(files.list(root / "a") == Paths{root / "a/b.json", root / "a/c.txt"});
  CHECK(files.list(root / "none").empty());
  CHECK(files.text(root / "a/b.json") == R"({"old": 1})");
  CHECK(files.text(root / "a/c.txt") == "packed");
  const auto mistake = [&](const char* name, std::size_t most = kMostTextBytes) {
    return mistake_of([&] { files.text(root / name, most); });
  };
  CHECK(mistake("b.json") == (root / "b.json").string() + ": no such file");
  CHECK(mistake("a") == (root / "a").string() + ": is a folder, not a file");
  CHECK(mistake("s.json", 3) == (root / "s.json").string() + ": is larger than 3 bytes");
}

TEST_CASE("a document is read from where the document was read that names it, and passes its notes on") {
  const BothFiles both;
  const Files& files = both.files(GENERATE(false, true));
  const Document document = Document::from_file(both.root() / "s.json", files);
  const Reader in = document.root();
  const std::filesystem::path file = in.file().parent_path() / in.at("below").text();
  for (int i = 0; i < 2; ++i)
    CHECK(read_file_below(in, file, [](const Reader& below) { return below.at("new", "old").integer(); }) == 1);
  CHECK(document.notes() ==
        std::vector<std::string>{file.string() + "#/old: is called \"new\" now; the old name is still read"});
  CHECK(in.input_files().size() == 2);
}

}  // namespace draftline
