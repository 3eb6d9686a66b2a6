// SPDX-License-Identifier: Apache-2.0
#include "core/text_file.h"

#include <filesystem>
#include <fstream>

#include "core/errors.h"
#include "core/gzip.h"
#include "tests/catch.h"
#include "tests/core/fresh_folder.h"
#include "tests/core/messages.h"

using namespace draftline;
namespace fs = std::filesystem;

static void put(const fs::path& path, std::string_view bytes) { std::ofstream(path, std::ios::binary) << bytes; }

static std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

TEST_CASE("what is written is read back, packed or not") {
  const FreshFolder folder;
  const std::string text = std::string("a\0b\n", 4) + std::string(300000, 'x');
  const fs::path path = folder.path() / GENERATE("plain.txt", "packed.txt.gz");
  write_text_file(path, text);
  CHECK(read_text_file(path) == text);
  CHECK((fs::file_size(path) < text.size()) == (path.extension() == ".gz"));
}

TEST_CASE("a file's bytes say whether it is packed, whatever its name") {
  const FreshFolder folder;
  put(folder.path() / "packed.csv", gzip("a\n7\n"));
  put(folder.path() / "plain.csv.gz", "a\n7\n");
  for (const char* name : {"packed.csv", "plain.csv.gz"}) CHECK(read_text_file(folder.path() / name) == "a\n7\n");
  put(folder.path() / "cut", gzip("a\n7\n").substr(0, 12));
  CHECK(ends_with(mistake_of([&] { read_text_file(folder.path() / "cut"); }), "cut: is a truncated gzip file"));
}

TEST_CASE("each thing that can be wrong with a file has one clear message") {
  const FreshFolder folder;
  const auto at = [&](const char* name) { return folder.path() / name; };
  put(at("big"), "0123456789");
  CHECK(mistake_of([&] { read_text_file(at("missing")); }) == at("missing").string() + ": no such file");
  CHECK(mistake_of([&] { read_text_file(folder.path()); }) == folder.path().string() + ": is a folder, not a file");
  CHECK(mistake_of([&] { read_text_file(at("big"), 9); }) == at("big").string() + ": is larger than 9 bytes");
  CHECK(mistake_of([&] { read_text_file("/dev/zero", 100000); }) == "/dev/zero: is no regular file");
  CHECK(read_text_file(at("big"), 10) == "0123456789");
  CHECK(mistake_of([&] { write_text_file(folder.path(), ""); }) ==
        folder.path().string() + ": is a folder, not a file");
  CHECK(contains(mistake_of([&] { write_text_file(at("no") / "folder", ""); }), "cannot be written"));
}

TEST_CASE("a file is there complete or not at all") {
  const FreshFolder folder;
  const fs::path path = folder.path() / "out.json";
  put(path, "old");
  {
    AtomicFile file(path);
    file.stream() << "half";
    file.stream().flush();
    CHECK(read_text_file(path) == "old");
    CHECK(files_in(folder.path()) == 1);  // whatever ends the program now, nothing of it stays
  }
  CHECK(read_text_file(path) == "old");
  CHECK(files_in(folder.path()) == 1);
  {
    AtomicFile file(path);
    file.stream() << "new";
    file.commit();
  }
  CHECK(read_text_file(path) == "new");
  CHECK(files_in(folder.path()) == 1);
}

TEST_CASE("a link stays a link when its file is written anew") {
  const FreshFolder folder;
  put(folder.path() / "file", "old");
  fs::create_symlink(folder.path() / "file", folder.path() / "link");
  write_text_file(folder.path() / "link", "new");
  CHECK(fs::is_symlink(folder.path() / "link"));
  CHECK(read_text_file(folder.path() / "file") == "new");
}

TEST_CASE("a link to a file that is not there yet stays a link; a loop of links is an error") {
  const FreshFolder folder;
  fs::create_symlink("file", folder.path() / "link");
  write_text_file(folder.path() / "link", "new");
  CHECK(fs::is_symlink(folder.path() / "link"));
  CHECK(read_text_file(folder.path() / "file") == "new");
  fs::create_symlink("one", folder.path() / "two");
  fs::create_symlink("two", folder.path() / "one");
  CHECK(contains(mistake_of([&] { write_text_file(folder.path() / "one", ""); }), "too many levels of symbolic links"));
}

TEST_CASE("a file that is written anew keeps its permissions") {
  const FreshFolder folder;
  const fs::path path = folder.path() / "private";
  put(path, "old");
  fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
  write_text_file(path, "new");
  CHECK(read_text_file(path) == "new");
  CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
}

TEST_CASE("a full disk is noticed") {
  if (!fs::exists("/dev/full")) SKIP_TEST("there is no /dev/full");
  CHECK_THROWS_AS(write_text_file("/dev/full", "text"), OutputError);
  try {
    write_text_file("/dev/full", std::string(100'000, 'x'));  // more than is held back until the end
    FAIL("it was written");
  } catch (const OutputError& e) { CHECK(!contains(e.what(), "Success")); }
}

TEST_CASE("gzip is undone exactly, also of several members, and damage is told") {
  std::string text;
  for (int i = 0; i < 3000; ++i) text += std::to_string(i);
  const std::string packed = gzip(text);
  CHECK(gzip(text) == packed);
  CHECK(gunzip(packed, text.size(), "f") == text);
  CHECK(gunzip(packed + gzip("z"), 1 << 20, "f") == text + "z");
  CHECK(gunzip(gzip(""), 0, "f").empty());
  CHECK(mistake_of([&] { gunzip(packed, text.size() - 1, "f"); }) ==
        "f: unpacks to more than " + std::to_string(text.size() - 1) + " bytes");
  CHECK(mistake_of([&] { gunzip("", 10, "f"); }) == "f: is empty, not a gzip file");
  CHECK(mistake_of([&] { gunzip("plain text", 10, "f"); }) == "f: is not a gzip file or is damaged");
  for (std::size_t n = 1; n < packed.size(); ++n)
    REQUIRE(mistake_of([&] { gunzip(std::string_view(packed).substr(0, n), 1 << 20, "f"); }) ==
            "f: is a truncated gzip file");
  for (std::size_t i = 10; i < packed.size(); ++i) {  // behind the header every byte counts
    std::string damaged = packed;
    damaged[i] = static_cast<char>(damaged[i] ^ 0x55);
    REQUIRE(mistake_of([&] { gunzip(damaged, 1 << 20, "f"); }) != "none");
  }
}
